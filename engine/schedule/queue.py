"""Requests that have not started, in the order in which they may."""

from __future__ import annotations

import bisect
from collections.abc import Iterator

from engine.request import Priority
from engine.schedule.job import Job
from engine.snapshot import Waits


class WaitQueue:
    """Jobs by urgency. `waits_for` is what holds back the first, and with it all of them: a large
    request is never starved by small ones."""

    def __init__(self) -> None:
        self._jobs: list[Job] = []
        self.waits_for = Waits.TURN

    def __len__(self) -> int:
        return len(self._jobs)

    def __iter__(self) -> Iterator[Job]:
        return iter(self._jobs)

    @property
    def blocked(self) -> bool:
        """Whether nothing has changed since the first could not start."""
        return self.waits_for is not Waits.TURN

    def first(self, most: int) -> list[Job]:
        """The first few, of one class: no order of computing puts a class before another."""
        first = self._jobs[:most]
        return [job for job in first if job.urgency[:2] == first[0].urgency[:2]]

    def behind(self, priority: Priority) -> list[Job]:
        """All of less urgent classes."""
        at = bisect.bisect_right(self._jobs, priority, key=lambda job: job.priority)
        return self._jobs[at:]

    def add(self, job: Job) -> None:
        bisect.insort(self._jobs, job, key=lambda waiting: waiting.urgency)
        if self._jobs[0] is job:
            self.look_again()

    def remove(self, job: Job) -> None:
        """Raises ValueError if the job is not in the queue."""
        self._jobs.remove(job)

    def look_again(self) -> None:
        """Something was let go, or somebody came first: try again to start."""
        self.waits_for = Waits.TURN
