"""A scheduler that times its own decisions."""

from __future__ import annotations

import time

from engine.schedule.job import Job
from engine.schedule.scheduler import Scheduler, Step


class TimedScheduler(Scheduler):
    """Tells how long it has been deciding, in real seconds."""

    decided_s = 0.0

    def admit(self, now: float) -> tuple[list[Job], list[Job]]:
        began = time.perf_counter()
        decided = super().admit(now)
        self.decided_s += time.perf_counter() - began
        return decided

    def plan(self) -> Step:
        began = time.perf_counter()
        decided = super().plan()
        self.decided_s += time.perf_counter() - began
        return decided
