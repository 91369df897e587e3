"""The engine in this process, asked with tokens: no HTTP, template or tokenizer is in its times."""

from __future__ import annotations

import contextlib
import itertools
import os
import queue
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from app.bench.errors import BenchError
from app.bench.memory import Peak
from engine.assembly import Assembly, assemble
from engine.cache.prefix_cache import PrefixCache
from engine.config import EngineConfig
from engine.engine import Engine
from engine.metrics import EngineMetrics
from engine.model import catalog
from engine.model.info import ModelInfo
from engine.request import Event, Failed, Finished, Prompt, Request, SamplingParams
from engine.snapshot import EngineState

START_LIMIT_S = 600.0

_GREEDY = SamplingParams(temperature=0.0)


@dataclass(frozen=True, slots=True)
class Reply:
    """What one request cost. `ttft_s` counts from the submission to the first token, and is 0.0
    where none was asked for."""

    prompt_tokens: int
    cached_tokens: int
    ttft_s: float


class LocalEngine:
    """One engine that is asked one request at a time. Every method raises BenchError when the
    engine fails, EngineError when it refuses a request."""

    def __init__(self, model: Path, config: EngineConfig) -> None:
        self._events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self._numbers = itertools.count(1)
        self._cache: PrefixCache | None = None
        model_id = catalog.model_id_of(model)
        self._engine = Engine(
            model,
            config,
            model_id=model_id,
            deliver=self._take,
            metrics=EngineMetrics(model_id),
            assembler=self._assemble,
        )

    @property
    def model(self) -> ModelInfo:
        """The loaded model."""
        info = self._engine.model
        assert info is not None
        return info

    @property
    def peak(self) -> Peak:
        """The most memory that this process has had so far."""
        budget = self._engine.snapshot.memory.budget
        return Peak.here("the engine's process", budget, self.model.weights_bytes)

    def start(self) -> None:
        """Load the model and wait until it serves."""
        self._engine.start()
        health = self._engine.wait_until_ready(START_LIMIT_S)
        if health.state is not EngineState.READY:
            raise BenchError(f"The engine cannot use the model: {health.reason}")
        if not self.model.reuses:
            raise BenchError(
                f"This model's prefixes cannot be reused: {self.model.attention_reason}."
            )

    def stop(self) -> None:
        self._engine.stop()
        self._cache = None  # its arrays would outlive the engine

    def ask(self, tokens: Sequence[int], salt: str) -> Reply:
        """Prefill a prompt and generate one token, greedy."""
        return self._run(tokens, salt, max_tokens=1)

    def fill(self, tokens: Sequence[int], salt: str) -> None:
        """Let the cache know these tokens, all of them, and generate nothing."""
        self._run(tokens, salt, max_tokens=0)

    def ask_without_cache(self, tokens: Sequence[int]) -> Reply:
        """As `ask`, with a cache that finds, keeps and plans nothing."""
        assert self._cache is not None
        # Between requests the engine's thread sleeps, so nobody sees it change under them.
        self._cache.enabled = False
        try:
            return self.ask(tokens, salt="")
        finally:
            self._cache.enabled = True

    def _run(self, tokens: Sequence[int], salt: str, max_tokens: int) -> Reply:
        request = Request(
            id=f"bench-{next(self._numbers)}",
            prompt=Prompt(tuple(tokens)),
            max_tokens=max_tokens,
            sampling=_GREEDY,
            salt=salt,
        )
        self._engine.submit(request)
        while True:
            event = self._events.get()
            if isinstance(event, Failed):
                raise BenchError(f"The engine could not complete a request: {event.error}")
            if isinstance(event, Finished):
                usage = event.usage
                return Reply(usage.prompt_tokens, usage.cached_tokens, event.timings.ttft_s)

    def _take(self, events: tuple[Event, ...]) -> None:
        for event in events:
            self._events.put(event)

    def _assemble(self, path: Path, model_id: str, config: EngineConfig) -> Assembly:
        assembly = assemble(path, model_id, config)
        self._cache = assembly.parts.cache
        return assembly


@contextlib.contextmanager
def local_engine(
    model: Path, variables: Mapping[str, str], config: EngineConfig | None = None
) -> Iterator[LocalEngine]:
    """A started engine that ends with the block. `variables` are environment variables for its
    start. Raises BenchError when the model cannot be used."""
    engine = LocalEngine(model, config or EngineConfig())
    try:
        with _environment(variables):
            engine.start()
        yield engine
    finally:
        engine.stop()


@contextlib.contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
