"""Clients that ask one request after another, served by the engine's own step loop on the real
model."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from app.bench.batch import Point
from app.bench.batch_watch import WatchedScheduler
from app.bench.stepped_loop import SteppedLoop
from engine.config import EngineConfig
from engine.counters import Counters
from engine.loop import LoopParts, StepRunner
from engine.prompt.codec import TextCodec
from engine.request import Request
from engine.schedule.build import ScheduledModel, build_rooms
from engine.schedule.job import Job


class BatchEngine:
    """A cache, a schedule and a loop of their own, over a runner that others use too, on the thread
    that made it. No token ends an answer early. Every method raises BenchError when the engine
    fails."""

    def __init__(
        self,
        model: ScheduledModel,
        runner: StepRunner,
        codec: TextCodec,
        config: EngineConfig,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        rooms = build_rooms(model, config, scheduler_class=WatchedScheduler, now=clock)
        assert isinstance(rooms.scheduler, WatchedScheduler)
        self._parts = LoopParts(
            runner,
            rooms.cache,
            rooms.admission,
            rooms.scheduler,
            codec,
            eos_ids=frozenset(),
            model_id="bench",
        )
        self._scheduler = rooms.scheduler
        self._config = config
        self._clock = clock

    def warm_up(self, requests: Iterator[Request], clients: int) -> None:
        """Serve requests whose times do not count."""
        self._serve(requests, clients, Counters())

    def serve(self, requests: Iterator[Request], clients: int, lead_in: int) -> Point:
        """Serve all requests to their last tokens, so many at a time; the first few do not
        count."""
        counters, cache = Counters(), self._parts.cache
        cache.take_evicted()
        self._scheduler.start_over(lead_in)
        self._serve(requests, clients, counters)
        untold = sum(each.num_pages for each in cache.take_evicted())
        return self._scheduler.point(clients, counters.evicted_pages + untold)

    def clear(self) -> None:
        """Give all KV back."""
        self._parts.cache.clear()

    def _serve(self, requests: Iterator[Request], clients: int, counters: Counters) -> None:
        loop = SteppedLoop(self._parts, self._config, counters=counters, clock=self._clock)
        while True:
            while len(self._scheduler.jobs) < clients:
                request = next(requests, None)
                if request is None:
                    break
                self._scheduler.add(Job(request, self._clock(), request.max_tokens))
            if not self._scheduler.jobs:
                return
            loop.step()
