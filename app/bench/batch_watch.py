"""A scheduler under observation: what clients see of their answers, and what runs meanwhile."""

from __future__ import annotations

import bisect
import math
from array import array
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from app.bench.batch import Point
from engine.cache.prefix_cache import PrefixCache
from engine.schedule.admission import Admission
from engine.schedule.job import Job
from engine.schedule.scheduler import Scheduler

SPIKE_S = 1.0  # preemptions that lie closer count as one spike

_SAMPLE_S = 0.25  # between two looks at the pool


class _Answered(NamedTuple):
    prompt_tokens: int
    cached_tokens: int
    ttft_s: float


class _Resumed(NamedTuple):
    """A request went on after a preemption, and had lost so much."""

    at: float
    lost_tokens: int


class _Sample(NamedTuple):
    """What running requests hold at a moment, and how many run."""

    at: float
    held_bytes: int
    running: int


class WatchedScheduler(Scheduler):
    """Looks at every step at those who run. What counts is the time from the arrival of the first
    request after the lead-in until that of the last one, when all clients are busy."""

    def __init__(self, cache: PrefixCache, admission: Admission, **settings: Any) -> None:
        super().__init__(cache, admission, **settings)
        self.start_over()

    def start_over(self, lead_in: int = 0) -> None:
        """Forget what was seen; the next few requests do not count."""
        self._lead_in = lead_in
        self._num_added = 0
        self._counted: set[Job] = set()
        self._from = self._until = 0.0
        self._answered: list[_Answered] = []
        self._token_at: dict[Job, float] = {}
        self._times = array("d")  # of every token
        self._gaps = array("d")  # before every token; not a number before the first of an answer
        self._made_way_at: list[float] = []
        self._resumed: list[_Resumed] = []
        self._samples: list[_Sample] = []
        self._now = 0.0

    def point(self, clients: int, evicted_pages: int) -> Point:
        """What was seen, once all requests have ended. Needs two requests that count."""
        times, gaps = np.asarray(self._times), np.asarray(self._gaps)
        counts = (times > self._from) & (times <= self._until)
        gap_p50_s, gap_p99_s, longest_gap_s = _quantiles(
            gaps[counts & ~np.isnan(gaps)], (0.5, 0.99, 1.0)
        )
        ttft_p50_s, ttft_p99_s = _quantiles(
            np.asarray([each.ttft_s for each in self._answered]), (0.5, 0.99)
        )
        made_way = [at for at in self._made_way_at if self._counts(at)]
        samples = [sample for sample in self._samples if self._counts(sample.at)]
        return Point(
            clients=clients,
            requests=len(self._answered),
            hit_rate=sum(each.cached_tokens for each in self._answered)
            / sum(each.prompt_tokens for each in self._answered),
            ttft_p50_s=ttft_p50_s,
            ttft_p99_s=ttft_p99_s,
            gap_p50_s=gap_p50_s,
            gap_p99_s=gap_p99_s,
            longest_gap_s=longest_gap_s,
            tokens_per_s=int(counts.sum()) / (self._until - self._from),
            preemptions=len(made_way),
            most_preempted=most_within(made_way, SPIKE_S),
            recomputed_tokens=sum(
                each.lost_tokens for each in self._resumed if self._counts(each.at)
            ),
            evicted_pages=evicted_pages,
            most_running=self._admission.capacity().max_running,
            mean_running=_mean([sample.running for sample in samples]),
            running_share=_mean([sample.held_bytes for sample in samples]) / self._admission.budget,
        )

    def add(self, job: Job) -> None:
        super().add(job)
        self._num_added += 1
        if self._num_added > self._lead_in:
            self._from = self._from or job.submitted_at
            self._until = job.submitted_at
            self._counted.add(job)

    def admit(self, now: float) -> tuple[list[Job], list[Job]]:
        self._now = now
        for job in self._running:
            self._look_at(job)
        if not self._samples or now - self._samples[-1].at >= _SAMPLE_S:
            sample = _Sample(now, self._cache.held_bytes(), len(self._running))
            self._samples.append(sample)
        started, hopeless = super().admit(now)
        for job in started:
            if job.num_preemptions and job.row is not None:
                lost = max(0, job.num_computed - job.row.num_cached)
                self._resumed.append(_Resumed(now, lost))
        return started, hopeless

    def make_way(self, now: float) -> Job | None:
        victim = super().make_way(now)
        if victim is not None:
            self._made_way_at.append(self._now)
        return victim

    def remove(self, job: Job, *, lost: bool = False) -> None:
        self._look_at(job)
        self._token_at.pop(job, None)
        if job in self._counted:
            self._counted.remove(job)
            usage, ttft_s = job.usage(), job.first_token_at - job.submitted_at
            self._answered.append(_Answered(usage.prompt_tokens, usage.cached_tokens, ttft_s))
        super().remove(job, lost=lost)

    def _look_at(self, job: Job) -> None:
        at, before = job.last_token_at, self._token_at.get(job)
        if job.num_generated and at != before:
            self._token_at[job] = at
            self._times.append(at)
            self._gaps.append(math.nan if before is None else at - before)

    def _counts(self, at: float) -> bool:
        return self._from < at <= self._until


def most_within(times: Sequence[float], seconds: float) -> int:
    """The most of these ascending times that lie within so many seconds."""
    return max(
        (bisect.bisect_left(times, at + seconds) - number for number, at in enumerate(times)),
        default=0,
    )


def _quantiles(values: np.ndarray[Any, Any], shares: Sequence[float]) -> list[float]:
    return (
        [float(each) for each in np.quantile(values, shares)]
        if len(values)
        else [0.0] * len(shares)
    )


def _mean(values: Sequence[int]) -> float:
    return float(np.mean(values)) if values else 0.0
