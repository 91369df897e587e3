"""The engine's own loop, whose every step is made and timed by the caller, on the thread that made
it: no HTTP or tokenizer is in its times."""

from __future__ import annotations

import time
from collections.abc import Callable

from app.bench.errors import BenchError
from engine.config import EngineConfig
from engine.counters import Counters
from engine.loop import EngineLoop, LoopParts
from engine.metrics import EngineMetrics
from engine.request import Event, Failed


class SteppedLoop:
    """A loop that nobody listens to but for failures. What it counts goes to `counters`."""

    def __init__(
        self,
        parts: LoopParts,
        config: EngineConfig,
        *,
        counters: Counters | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._failures: list[str] = []
        self._loop = EngineLoop(
            parts,
            config,
            deliver=self._take,
            record=lambda record: None,
            metrics=EngineMetrics(parts.model_id),
            counters=Counters() if counters is None else counters,
            clock=clock,
        )

    def step(self) -> None:
        """Raises BenchError when a request has failed."""
        self._loop.step()
        if self._failures:
            raise BenchError(f"The engine could not complete a request: {self._failures[0]}")

    def _take(self, events: tuple[Event, ...]) -> None:
        self._failures += [str(event.error) for event in events if isinstance(event, Failed)]
