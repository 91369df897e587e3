"""Rows that share a prefix, by the engine's own step loop."""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from dataclasses import replace

from app.bench.errors import BenchError
from app.bench.stepped_loop import SteppedLoop
from engine.assembly import Assembly
from engine.config import EngineConfig
from engine.model.plain_batch import Joined
from engine.request import Prompt, Request, SamplingParams
from engine.schedule.job import Job, Phase

_GREEDY = SamplingParams(temperature=0.0)


class SharedRows:
    """An engine whose every step is made and timed by the caller, on the thread that assembled it.
    Import this module only once the device is prepared, since it brings MLX along.

    `most_tokens` is what a row may generate at most; no token ends an answer early. Every method
    raises BenchError where the engine fails or a row cannot run at once.
    """

    def __init__(self, assembly: Assembly, most_tokens: int) -> None:
        parts = replace(assembly.parts, eos_ids=frozenset())
        self._cache, self._scheduler = parts.cache, parts.scheduler
        self._most_tokens = most_tokens
        self._numbers = itertools.count(1)
        self._prefix: tuple[int, ...] = ()
        self._jobs: list[Job] = []
        self._loop = SteppedLoop(parts, EngineConfig())

    def keep(self, prefix: Sequence[int]) -> None:
        """Compute the KV of a prefix, in the place of the one before."""
        self.forget()
        self._prefix = tuple(prefix)
        job = self._add((), max_tokens=0)
        while self._scheduler.knows(job.request.id):
            self._loop.step()
        self.stop()

    def forget(self) -> None:
        """Let go of the prefix and of everything that stands on it."""
        self._cache.clear()

    def start(self, suffixes: Sequence[Sequence[int]]) -> tuple[float, ...]:
        """Rows on prefix + suffix, all at once. Seconds until the first token of each is known."""
        jobs = [self._add(suffix, self._most_tokens) for suffix in suffixes]
        self._until_answered(jobs)
        self._jobs += jobs
        return tuple(job.first_token_at - job.submitted_at for job in jobs)

    def steps(self, count: int) -> float:
        """So many steps of all rows, in seconds."""
        started = time.perf_counter()
        for _ in range(count):
            self._loop.step()
        return time.perf_counter() - started

    def join(self, suffix: Sequence[int]) -> Joined:
        """One more row on the prefix, while the others run."""
        started = time.perf_counter()
        job = self._add(suffix, self._most_tokens)
        num_steps = self._until_answered([job])
        first_s = time.perf_counter() - started
        self._loop.step()
        total_s = time.perf_counter() - started
        self._jobs.append(job)
        return Joined(first_s, total_s, num_steps, 1)

    def leave(self) -> float:
        """The row that came last leaves, and the others make a step. In seconds."""
        started = time.perf_counter()
        self._scheduler.remove(self._jobs.pop())
        self._loop.step()
        return time.perf_counter() - started

    def stop(self) -> None:
        """End all rows and give back what they had of their own: all but the prefix, which is
        held only meanwhile, since a row may go on in what nobody else holds."""
        for job in self._jobs:
            self._scheduler.remove(job)
        self._jobs = []
        hold = self._cache.hold(self._cache.match(self._prefix), "bench")
        own = self._cache.used_bytes - self._cache.held_bytes()
        if own > 0:
            self._cache.reclaim(own)
        num_kept = hold.end
        self._cache.release(hold)
        if num_kept != len(self._prefix):
            raise BenchError(
                f"Of a prefix of {len(self._prefix):,} tokens only {num_kept:,} were kept: "
                "the KV budget may be too small for this model and these sizes."
            )

    def _add(self, suffix: Sequence[int], max_tokens: int) -> Job:
        prompt = Prompt((*self._prefix, *suffix))
        request = Request(f"bench-{next(self._numbers)}", prompt, max_tokens, _GREEDY)
        job = Job(request, time.monotonic(), max_tokens)
        self._scheduler.add(job)
        return job

    def _until_answered(self, jobs: Sequence[Job]) -> int:
        """Step until all have their first token. Returns the number of steps."""
        for number in itertools.count(1):
            self._loop.step()
            if any(job.phase is Phase.WAITING for job in jobs):
                raise BenchError(
                    f"{len(self._scheduler.jobs)} rows on a prefix of {len(self._prefix):,} tokens "
                    "cannot run at once: the KV budget is too small for this model."
                )
            if all(job.first_token_at for job in jobs):
                return number
        raise AssertionError("counting has no end")
