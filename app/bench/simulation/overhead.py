"""What the schedule itself takes of a step, in real time, with many who run and many who wait."""

from __future__ import annotations

import contextlib
import enum
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from app.bench.errors import BenchError
from app.bench.simulation.arrivals import Arrival, Workload
from app.bench.simulation.engine import SimulatedEngine
from app.bench.simulation.model import SimulatedModel
from app.bench.simulation.workloads import greedy, words
from app.bench.timed_scheduler import TimedScheduler
from engine.config import EngineConfig
from engine.schedule.scheduler import Step


class Crowd(enum.Enum):
    """What those who wait have in common."""

    DISTINCT = "distinct prompts"
    SHARED = "80 % the same"
    IDENTICAL = "identical prompts"


_COMMON = {Crowd.DISTINCT: 0.0, Crowd.SHARED: 0.8, Crowd.IDENTICAL: 1.0}


@dataclass(frozen=True, slots=True)
class OverheadPlan:
    """`running` requests that run, and at least `waiting` others that wait until `turnover` more
    have started."""

    model: SimulatedModel
    running: int
    waiting: int
    turnover: int
    prompt_tokens: int
    answer_tokens: tuple[int, int]  # from, to: so that not all end at once


@dataclass(frozen=True, slots=True)
class OverheadResult:
    """Real seconds of `Scheduler.admit` and `Scheduler.plan`: of each step with the whole crowd,
    and of the slowest while it came."""

    crowd: Crowd
    seconds: tuple[float, ...]
    filling_s: float

    @property
    def mean_s(self) -> float:
        return float(np.mean(self.seconds))

    def quantile_s(self, share: float) -> float:
        return float(np.quantile(self.seconds, share))


class _CrowdScheduler(TimedScheduler):
    """Notes what it took to decide while a crowd is there, which `await_crowd` names: `filling` are
    the seconds of each step until it is, `seconds` of each step from then on. Ends the run when the
    crowd has become too small."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.filling: list[float] = []
        self.seconds: list[float] = []
        self._num_running = self._num_waiting = 0
        self._complete = False
        self._noted_s = 0.0

    def await_crowd(self, running: int, waiting: int) -> None:
        """A crowd is so many who run, and so many others at least who wait."""
        self._num_running, self._num_waiting = running, waiting

    def plan(self) -> Step:
        step = super().plan()
        took, self._noted_s = self.decided_s - self._noted_s, self.decided_s
        if self._complete and self.num_waiting < self._num_waiting:
            raise _CrowdHasGone
        (self.seconds if self._complete else self.filling).append(took)
        self._complete = self._complete or (
            len(self.running) == self._num_running and self.num_waiting >= self._num_waiting
        )
        return step


class _CrowdHasGone(Exception):
    """There is nothing more to measure."""


def measure(
    plan: OverheadPlan, crowd: Crowd, config: EngineConfig, say: Callable[[str], None]
) -> OverheadResult:
    """Steps with the whole crowd. Raises BenchError where it was never there."""
    engine = SimulatedEngine(plan.model, config, scheduler_class=_CrowdScheduler)
    scheduler = engine.scheduler
    assert isinstance(scheduler, _CrowdScheduler)
    scheduler.await_crowd(plan.running, plan.waiting)
    with contextlib.suppress(_CrowdHasGone):
        engine.run(_crowd(plan, crowd))
    if not scheduler.seconds:
        raise BenchError(
            f"There never were {plan.running} requests that ran while {plan.waiting} waited."
        )
    result = OverheadResult(crowd, tuple(scheduler.seconds), max(scheduler.filling))
    say(f"schedule, {crowd.value}: {1000 * result.mean_s:.2f} ms a step")
    return result


def _crowd(plan: OverheadPlan, crowd: Crowd, seed: int = 1) -> Workload:
    chance = random.Random(seed)
    num_common = round(_COMMON[crowd] * plan.prompt_tokens)
    common = words(chance, num_common)
    return Workload(
        tuple(
            Arrival(
                0.0,
                greedy(
                    f"crowd-{number}",
                    common + words(chance, plan.prompt_tokens - num_common),
                    chance.randint(*plan.answer_tokens),
                ),
            )
            for number in range(plan.running + plan.waiting + plan.turnover)
        )
    )
