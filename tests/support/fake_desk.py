"""A Desk without an engine or a database: it answers what a test tells it to."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from app.budget import KvLimits
from app.paths import Paths
from app.remove import Removal
from app.settings import Settings
from app.storage.aggregates import MINUTE_S, MinuteRow, minute_of
from app.storage.settings_store import Preferences
from engine.cache.cost import KVCost
from engine.model.info import AttentionMode, ModelInfo
from engine.request import FinishReason, Priority, RequestRecord, Timings, Usage
from engine.snapshot import EngineState, Memory, Snapshot
from tests.support.fake_templates import FakeTemplates

T = TypeVar("T")

MODEL = ModelInfo(
    id="SmolLM2-135M-Instruct",
    architecture="llama",
    context_window=8192,
    vocab_size=49_152,
    num_layers=30,
    layers="30 full attention",
    cost=KVCost(46_080),
    weights_bytes=538_000_000,
    dtype="float32",
    quantization="",
    fingerprint="0123456789abcdef",
    created=1_767_225_600,
    attention=AttentionMode.SHARED,
)
READY = Snapshot(
    seq=1, state=EngineState.READY, model_id=MODEL.id, memory=Memory(budget=6 * 1024**3)
)
LIMITS = KvLimits(automatic=6 * 1024**3, least=256 * 1024**2, most=20 * 1024**3)
NOTHING = Removal(Paths(data=Path("/data"), logs=Path("/logs")), things=(), stays=())


def make_record(number: int = 1, **changes: Any) -> RequestRecord:
    """A request that ended well, most of whose prompt was warm."""
    fields: dict[str, Any] = {
        "id": f"chatcmpl-{number:04d}",
        "client": "OpenAI/Python",
        "model": MODEL.id,
        "priority": Priority.INTERACTIVE,
        "reason": FinishReason.STOP,
        "usage": Usage(prompt_tokens=2048, cached_tokens=1920, completion_tokens=41),
        "timings": Timings(queue_s=0.02, prefill_s=0.6, decode_s=4.0, ttft_s=0.62, total_s=4.62),
        "ended_at": 1_767_225_600.0 + number,
    }
    return RequestRecord(**(fields | changes))


def quiet_day(now: float) -> list[MinuteRow]:
    """24 hours in which nothing happened, the last minute the one that holds `now`."""
    last = minute_of(now)
    return [MinuteRow(last - MINUTE_S * age) for age in reversed(range(1440))]


@dataclass
class FakeDesk(FakeTemplates):
    """Implements what pages ask of `app.desk.Desk`.

    Every answer is a future that is done at once, unless its method's name is in `held`: then
    `release(name)` gives it. A name in `errors` makes the method fail. `calls` has every question
    with its arguments, in order.
    """

    snapshot: Snapshot = READY
    model: ModelInfo | None = MODEL
    given: Settings = field(default_factory=Settings)
    url: str = "http://127.0.0.1:8642"
    data_folder: Path = Path("/home/someone/.local/share/ondol")
    log_folder: Path = Path("/home/someone/.local/state/ondol/log")
    storage_trouble: BaseException | None = None
    stored_preferences: Preferences = field(default_factory=Preferences)
    history: tuple[RequestRecord, ...] = ()
    minutes: list[MinuteRow] = field(default_factory=lambda: quiet_day(time.time()))
    records: list[RequestRecord] = field(default_factory=list)
    can_pin_last_request: bool = False
    limits: KvLimits = LIMITS
    login: bool = False
    planned_removal: Removal = NOTHING
    errors: dict[str, Exception] = field(default_factory=dict)
    held: set[str] = field(default_factory=set)
    calls: list[tuple[str, tuple[Any, ...]]] = field(default_factory=list)
    _waiting: dict[str, list[Callable[[], None]]] = field(default_factory=lambda: defaultdict(list))

    def release(self, name: str) -> None:
        """Give all answers that `name` owes, and hold it no longer."""
        self.held.discard(name)
        for give in self._waiting.pop(name, []):
            give()

    def asked(self, name: str) -> list[tuple[Any, ...]]:
        """The arguments of every call of `name`."""
        return [arguments for called, arguments in self.calls if called == name]

    def answer(self, name: str, arguments: tuple[Any, ...], job: Callable[[], T]) -> Future[T]:
        """What every method returns."""
        self.calls.append((name, arguments))
        future: Future[T] = Future()

        def give() -> None:
            try:
                error = self.errors.get(name)
                if error is not None:
                    raise error
                future.set_result(job())
            except Exception as failure:
                future.set_exception(failure)

        if name in self.held:
            self._waiting[name].append(give)
        else:
            give()
        return future

    # Requests

    def records_since(self, number: int) -> tuple[int, list[RequestRecord]]:
        return len(self.records), self.records[number:]

    def recent_requests(self) -> Future[tuple[RequestRecord, ...]]:
        return self.answer("recent_requests", (), lambda: self.history)

    def last_24_hours(self) -> Future[list[MinuteRow]]:
        return self.answer("last_24_hours", (), lambda: self.minutes)

    def pin_last_request(self, name: str) -> Future[None]:
        return self.answer("pin_last_request", (name,), lambda: None)

    def pause(self) -> None:
        self.calls.append(("pause", ()))

    def resume(self) -> None:
        self.calls.append(("resume", ()))

    # Preferences

    def preferences(self) -> Future[Preferences]:
        return self.answer("preferences", (), lambda: self.stored_preferences)

    def update_preferences(
        self, change: Callable[[Preferences], Preferences]
    ) -> Future[Preferences]:
        def update() -> Preferences:
            self.stored_preferences = change(self.stored_preferences)
            return self.stored_preferences

        return self.answer("update_preferences", (), update)

    def use_model(self, folder: Path | None) -> Future[None]:
        return self.answer("use_model", (folder,), lambda: None)

    # Upkeep

    def kv_limits(self) -> Future[KvLimits]:
        return self.answer("kv_limits", (), lambda: self.limits)

    def starts_at_login(self) -> Future[bool]:
        return self.answer("starts_at_login", (), lambda: self.login)

    def start_at_login(self, wanted: bool) -> Future[bool]:
        def turn() -> bool:
            self.login = wanted
            return wanted

        return self.answer("start_at_login", (wanted,), turn)

    def diagnostics(self) -> Future[str]:
        return self.answer("diagnostics", (), lambda: "Ondol diagnostics")

    def removal(self) -> Future[Removal]:
        return self.answer("removal", (), lambda: self.planned_removal)
