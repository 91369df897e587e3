"""An engine without a model: it says what a test tells it to, through the real event path."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from engine.cache.cost import KVCost
from engine.config import EngineConfig
from engine.errors import EngineError, EngineUnavailable, UnknownPin, UnknownRequest
from engine.metrics import EngineMetrics
from engine.model.info import AttentionMode, ModelInfo
from engine.pins import PinSpec
from engine.prompt.chat import Message
from engine.request import (
    Event,
    Failed,
    Finished,
    FinishReason,
    Progress,
    Prompt,
    Request,
    RequestRecord,
    Started,
    Text,
    Timings,
    Usage,
)
from engine.snapshot import EngineState, Health, Snapshot

MODEL = ModelInfo(
    id="house/Scripted-1B",
    architecture="llama",
    context_window=512,
    vocab_size=256,
    num_layers=2,
    layers="2 full attention",
    cost=KVCost(1024),
    weights_bytes=2048,
    dtype="float32",
    quantization="none",
    fingerprint="0123456789abcdef",
    created=1_767_225_600,
    attention=AttentionMode.SHARED,
)
TIMINGS = Timings(queue_s=0.5, prefill_s=2.0, decode_s=4.0, ttft_s=2.5, total_s=6.5)
CACHED_TOKENS = 3


@dataclass
class ScriptedEngine:
    """Satisfies EnginePort. A prompt is one token per character of its messages' contents.

    With `answer` every request is played at once; with None it waits for the test's `emit`.
    """

    deliver: Callable[[tuple[Event, ...]], None]
    answer: Sequence[str] | None = ("Hel", "lo")
    reason: FinishReason = FinishReason.STOP
    health: Health = field(default_factory=lambda: Health(EngineState.READY))
    model: ModelInfo | None = MODEL
    format_error: EngineError | None = None
    submit_error: EngineError | None = None
    formatted: list[tuple[tuple[Message, ...], object, object]] = field(default_factory=list)
    submitted: list[Request] = field(default_factory=list)
    cancelled: list[str] = field(default_factory=list)
    live: set[str] = field(default_factory=set)
    pins: dict[str, PinSpec] = field(default_factory=dict)
    records: list[RequestRecord] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)

    @property
    def snapshot(self) -> Snapshot:
        state, reason = self.health.state, self.health.reason
        return Snapshot(seq=1, state=state, reason=reason, model_id=MODEL.id, num_waiting=2)

    def start(self) -> None:
        self.calls.append("start")

    def stop(self, timeout_s: float = 30.0) -> bool:
        self.calls.append("stop")
        self.health = Health(EngineState.STOPPED, "The engine is stopped.")
        for request_id in sorted(self.live):
            self.emit(request_id, finished(self.submitted[-1], FinishReason.ABORT))
        return True

    def wait_until_ready(self, timeout_s: float) -> Health:
        return self.health

    def format(
        self,
        messages: Sequence[Message],
        tools: Sequence[Mapping[str, object]] | None = None,
        template_kwargs: Mapping[str, object] | None = None,
    ) -> Prompt:
        if self.format_error is not None:
            raise self.format_error
        self.formatted.append((tuple(messages), tools, template_kwargs))
        text = "".join(message.content or "" for message in messages)
        return Prompt(tokens=tuple(ord(char) % 256 for char in text + ">"))

    def submit(self, request: Request) -> None:
        if self.submit_error is not None:
            raise self.submit_error
        if not self.health.ok:
            raise EngineUnavailable(self.health.reason)
        self.submitted.append(request)
        self.live.add(request.id)
        if self.answer is not None:
            self.play(request, self.answer)

    def play(self, request: Request, answer: Iterable[str]) -> None:
        """A whole answer, one step per text, as the engine would deliver it."""
        total = len(request.prompt.tokens)
        self.emit(
            request.id, Started(request.id, total, CACHED_TOKENS), Progress(request.id, total)
        )
        for count, text in enumerate(answer, start=1):
            self.emit(request.id, Text(request.id, text, count))
        self.emit(request.id, finished(request, self.reason, len(list(answer))))

    def emit(self, request_id: str, *events: Event) -> None:
        """One step's events of one request."""
        if any(isinstance(event, Finished | Failed) for event in events):
            self.live.discard(request_id)
        self.deliver(events)

    def cancel(self, request_id: str) -> None:
        if request_id not in self.live:
            raise UnknownRequest(f"No request with id {request_id} is live.")
        self.cancelled.append(request_id)
        self.emit(request_id, Finished(request_id, FinishReason.ABORT, Usage(), Timings()))

    def prefix(self, spec: PinSpec) -> Prompt:
        return self.format(spec.messages, spec.tools)

    def pin(self, spec: PinSpec) -> None:
        self.calls.append(f"pin {spec.name}")
        self.pins[spec.name] = spec

    def warm(self, spec: PinSpec) -> None:
        self.calls.append(f"warm {spec.name}")

    def unpin(self, name: str) -> None:
        self.calls.append(f"unpin {name}")
        if self.pins.pop(name, None) is None:
            raise UnknownPin(f"No pin is called {name}.")

    def pause(self) -> None:
        self.calls.append("pause")

    def resume(self) -> None:
        self.calls.append("resume")

    def switch_model(self, model: Path, model_id: str) -> None:
        self.calls.append(f"switch to {model_id}")

    def drain_records(self) -> list[RequestRecord]:
        drained, self.records = self.records, []
        return drained


def finished(request: Request, reason: FinishReason, completion_tokens: int = 0) -> Finished:
    """The last event of a request whose first CACHED_TOKENS tokens were restored."""
    prompt_tokens = len(request.prompt.tokens)
    usage = Usage(prompt_tokens, min(CACHED_TOKENS, prompt_tokens - 1), completion_tokens)
    return Finished(request.id, reason, usage, TIMINGS)


def make_scripted_engine(
    model: Path,
    config: EngineConfig,
    *,
    model_id: str,
    deliver: Callable[[tuple[Event, ...]], None],
    metrics: EngineMetrics,
) -> ScriptedEngine:
    """Satisfies app.home.EngineFactory."""
    return ScriptedEngine(deliver)
