"""Requests that arrive as a case wants them, under one policy, by the engine's own step loop."""

from __future__ import annotations

import itertools
import time
from collections import deque
from collections.abc import Sequence

from app.bench.flights import Case, Kind, Measured, Policy, Scheduling
from app.bench.quiet import settle
from app.bench.stepped_loop import SteppedLoop
from app.bench.timed_scheduler import TimedScheduler
from engine.config import EngineConfig
from engine.loop import LoopParts, StepRunner
from engine.prompt.codec import TextCodec
from engine.request import Prompt, Request, SamplingParams
from engine.schedule.build import ScheduledModel, build_rooms
from engine.schedule.job import Job, Phase

_APART_S = 1e-6  # those that come at once still come one after the other
_GREEDY = SamplingParams(temperature=0.0)


class FlightsEngine:
    """A cache, a schedule and a loop under one policy, over a runner that others use too, on the
    thread that made it. No token ends an answer early."""

    def __init__(
        self, model: ScheduledModel, runner: StepRunner, codec: TextCodec, policy: Policy
    ) -> None:
        config = EngineConfig(
            publication=policy.publication,
            release=policy.release,
            wait_or_compute=policy.wait_or_compute,
        )
        rooms = build_rooms(model, config, scheduler_class=TimedScheduler)
        assert isinstance(rooms.scheduler, TimedScheduler)
        self._cache, self._scheduler = rooms.cache, rooms.scheduler
        self._numbers = itertools.count(1)
        self._loop = SteppedLoop(
            LoopParts(
                runner,
                rooms.cache,
                rooms.admission,
                rooms.scheduler,
                codec,
                eos_ids=frozenset(),
                model_id="bench",
            ),
            config,
        )

    def run(self, case: Case, prompts: Sequence[Sequence[int]]) -> Measured:
        """Serve all requests of a case to their last tokens, with nothing cached before or after.
        Raises BenchError when the engine fails."""
        settle()
        arrivals = deque(prompts)
        jobs: list[Job] = []
        steps, schedule_s, step_s = 0, 0.0, 0.0
        started = time.monotonic()
        while arrivals or self._scheduler.jobs:
            due = _due(case, started, jobs) if arrivals else None
            if due is not None and due <= time.monotonic():
                jobs.append(self._add(arrivals.popleft(), due, case.answer_tokens))
                continue
            if due is not None and not self._scheduler.jobs:
                time.sleep(max(0.0, due - time.monotonic()))
                continue
            all_decode = self._all_decode(case.requests)
            decided_s, began = self._scheduler.decided_s, time.perf_counter()
            self._loop.step()
            if all_decode:
                steps += 1
                schedule_s += self._scheduler.decided_s - decided_s
                step_s += time.perf_counter() - began
        self._cache.clear()
        return _measured(case, jobs, Scheduling(steps, schedule_s, step_s))

    def _all_decode(self, requests: int) -> bool:
        running = self._scheduler.running
        return len(running) == requests and all(job.phase is Phase.DECODE for job in running)

    def _add(self, tokens: Sequence[int], submitted_at: float, max_tokens: int) -> Job:
        prompt = Prompt(tuple(tokens))
        request = Request(f"bench-{next(self._numbers)}", prompt, max_tokens, _GREEDY)
        job = Job(request, submitted_at, max_tokens)
        self._scheduler.add(job)
        return job


def _due(case: Case, started: float, jobs: Sequence[Job]) -> float | None:
    """When the next request arrives; None while that is not known."""
    apart_s = len(jobs) * max(case.stagger_s, _APART_S)
    if case.kind is Kind.LATE and jobs:
        began = jobs[0].first_token_at
        return began + apart_s if began else None
    return started + apart_s


def _measured(case: Case, jobs: Sequence[Job], decoding: Scheduling) -> Measured:
    return Measured(
        (case.prompt_tokens,) * len(jobs),
        ttft_s=tuple(job.first_token_at - job.submitted_at for job in jobs),
        total_s=tuple(job.last_token_at - job.submitted_at for job in jobs),
        restored_tokens=tuple(job.usage().cached_tokens for job in jobs),
        decoding=decoding,
        waited=tuple(job.decision.waited for job in jobs if job.decision is not None),
    )
