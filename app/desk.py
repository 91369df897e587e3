"""What a window may ask of Ondol: figures now, answers later, never a wait. No Qt in here."""

from __future__ import annotations

import logging
import shutil
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from app.last_chat import LastChat
from app.paths import Paths
from app.ports import EnginePort
from app.prefixes import Price, history_content, pin_name, pin_spec
from app.storage.aggregates import MinuteRow
from app.storage.content import TemplateKind
from app.storage.pins import Pin
from app.storage.settings_store import Preferences
from app.storage.store import Store
from app.storage.templates import Template, TemplateVersion
from engine.errors import EngineError, EngineUnavailable, PinRefused, UnknownPin
from engine.model.info import ModelInfo
from engine.pins import PinSpec
from engine.request import RequestRecord
from engine.snapshot import PinState, Snapshot

logger = logging.getLogger(__name__)

RECENT_KEPT = 1000
ROUND_S = 1.0
DEFAULT_PREFILL_RATE = 200.0  # tokens per second, before anything was measured

T = TypeVar("T")


class NothingToPin(EngineError):
    """No chat has arrived yet."""


class Desk:
    """The house's desk. Everything that takes time gives a future; its callbacks run on another
    thread. Results are frozen data.

    Once a second a round carries ended requests to the storage and sees to it that the engine
    keeps every pinned template warm.
    """

    def __init__(
        self,
        engine: EnginePort,
        store: Store,
        paths: Paths,
        *,
        url: Callable[[], str],
        last_chat: LastChat,
        use_model: Callable[[Path | None], None],
    ) -> None:
        self._engine = engine
        self._store = store
        self._paths = paths
        self._url = url
        self._last_chat = last_chat
        self._switch_model = use_model
        self._recent: deque[RequestRecord] = deque(maxlen=RECENT_KEPT)
        self._num_recorded = 0
        self._prefill_rate = DEFAULT_PREFILL_RATE
        self._refused: dict[str, str] = {}  # pins that the engine did not take, and why
        self._workers = ThreadPoolExecutor(2, thread_name_prefix="ondol-desk")
        self._leaving = threading.Event()
        self._rounds = threading.Thread(target=self._make_rounds, name="ondol-rounds", daemon=True)

    def start(self) -> None:
        self._rounds.start()

    def stop(self) -> None:
        """One last round, then nothing more."""
        self._leaving.set()
        if self._rounds.is_alive():
            self._rounds.join()
        self._collect_records()
        self._workers.shutdown(cancel_futures=True)

    # Now

    @property
    def snapshot(self) -> Snapshot:
        return self._engine.snapshot

    @property
    def model(self) -> ModelInfo | None:
        return self._engine.model

    @property
    def url(self) -> str:
        """Where clients find Ondol."""
        return self._url()

    @property
    def log_folder(self) -> Path:
        return self._paths.log_file.parent

    @property
    def storage_trouble(self) -> BaseException | None:
        """Why history cannot be written now, if it cannot."""
        return self._store.trouble

    def refusal(self, template_id: int) -> str:
        """Why the engine does not keep this pinned template warm; empty if it does."""
        return self._refused.get(pin_name(template_id), "")

    def records_since(self, number: int) -> tuple[int, list[RequestRecord]]:
        """Requests that ended after the first `number` ones, oldest first, and the number now."""
        now = self._num_recorded
        missing = min(now - number, len(self._recent))
        return now, list(self._recent)[len(self._recent) - missing :] if missing > 0 else []

    @property
    def can_pin_last_request(self) -> bool:
        return self._last_chat.get() is not None

    def pause(self) -> None:
        self._engine.pause()

    def resume(self) -> None:
        self._engine.resume()

    # Templates

    def templates(self, search: str = "") -> Future[tuple[Template, ...]]:
        return self._store.list_templates(search)

    def versions(self, template_id: int) -> Future[tuple[TemplateVersion, ...]]:
        return self._store.template_versions(template_id)

    def create_template(
        self, name: str, kind: TemplateKind, content: str, tags: tuple[str, ...] = ()
    ) -> Future[Template]:
        """Fails with InvalidTemplate, NameTaken, StorageError."""
        return self._store.create_template(name, kind, content, tags=tags)

    def import_template(self, path: Path) -> Future[Template]:
        return self._store.import_template(path)

    def add_version(self, template_id: int, content: str, note: str = "") -> Future[Template]:
        """A pin of the latest version follows within a second."""
        return self._store.add_template_version(template_id, content, note=note)

    def rename(self, template_id: int, name: str) -> Future[Template]:
        return self._store.rename_template(template_id, name)

    def set_tags(self, template_id: int, tags: tuple[str, ...]) -> Future[Template]:
        return self._store.set_template_tags(template_id, tags)

    def delete(self, template_id: int) -> Future[Template]:
        return self._store.delete_template(template_id)

    def restore(self, template_id: int) -> Future[Template]:
        return self._store.restore_template(template_id)

    def price(self, kind: TemplateKind, content: str, policy: str | None = None) -> Future[Price]:
        """Fails with TemplateError, EngineUnavailable, ValueError (no JSON)."""
        return self._work(lambda: self._price(pin_spec("price", kind, content, policy)))

    # Pins

    def pins(self) -> Future[tuple[Pin, ...]]:
        return self._store.list_pins()

    def pin(self, template_id: int, with_template_id: int | None = None) -> Future[Pin]:
        """Keep a template warm for good. `with_template_id` is the policy that a tool schema is
        sent with. Fails with PinRefused and then nothing is pinned; while no model serves, the pin
        is kept and tried later."""
        return self._work(lambda: self._pin(template_id, with_template_id))

    def unpin(self, template_id: int) -> Future[None]:
        return self._work(lambda: self._unpin(template_id))

    def warm(self, template_id: int) -> Future[None]:
        """Compute a template's prefix now, without keeping it."""
        return self._work(lambda: self._engine.warm(self._spec(template_id, None)))

    def cancel_warming(self, template_id: int) -> Future[None]:
        """Stop computing what is not pinned; a pin stays."""
        return self._work(lambda: self._let_go(pin_name(template_id)))

    def pin_last_request(self, name: str) -> Future[Template]:
        """Make a template of the latest chat and pin it. Fails with NothingToPin, NameTaken."""
        return self._work(lambda: self._pin_last_request(name))

    # History and settings

    def recent_requests(self) -> Future[tuple[RequestRecord, ...]]:
        """The last 1,000, newest first."""
        return self._store.recent_requests(RECENT_KEPT)

    def last_24_hours(self) -> Future[list[MinuteRow]]:
        return self._store.last_24_hours()

    def preferences(self) -> Future[Preferences]:
        return self._store.preferences()

    def update_preferences(
        self, change: Callable[[Preferences], Preferences]
    ) -> Future[Preferences]:
        return self._store.update_preferences(change)

    def use_model(self, folder: Path | None) -> Future[None]:
        """Load another model folder now (None: the starter) and remember it."""
        return self._work(lambda: self._use_model(folder))

    def forget_last_chat(self) -> None:
        self._last_chat.clear()

    def free_disk_bytes(self) -> int:
        return shutil.disk_usage(self._paths.data).free

    # Inside

    def _work(self, job: Callable[[], T]) -> Future[T]:
        return self._workers.submit(job)

    def _price(self, spec: PinSpec) -> Price:
        model = self._engine.model
        if model is None:
            raise EngineUnavailable(self._engine.health.reason)
        num_tokens = len(self._engine.prefix(spec).tokens)
        return Price(
            num_tokens, num_tokens * model.bytes_per_token, num_tokens / self._prefill_rate
        )

    def _spec(self, template_id: int, with_template_id: int | None) -> PinSpec:
        template = self._store.template(template_id).result()
        policy = None
        if with_template_id is not None:
            policy = self._store.template(with_template_id).result().latest.content
        name = pin_name(template_id)
        return pin_spec(name, template.kind, template.latest.content, policy)

    def _pin(self, template_id: int, with_template_id: int | None) -> Pin:
        spec = self._spec(template_id, with_template_id)
        try:
            self._engine.pin(spec)
        except EngineUnavailable:
            logger.info("%s is pinned when a model serves", spec.name)
        self._refused.pop(spec.name, None)
        return self._store.pin(template_id, with_template_id=with_template_id).result()

    def _unpin(self, template_id: int) -> None:
        self._store.unpin(template_id).result()
        self._let_go(pin_name(template_id))

    def _let_go(self, name: str) -> None:
        self._refused.pop(name, None)
        try:
            self._engine.unpin(name)
        except UnknownPin:
            logger.debug("%s was not in the engine", name)

    def _pin_last_request(self, name: str) -> Template:
        chat = self._last_chat.get()
        if chat is None:
            raise NothingToPin("No chat has arrived yet.")
        content = history_content(chat.messages)
        template = self._store.create_template(name, TemplateKind.CHAT_HISTORY, content).result()
        self._pin(template.id, None)
        return template

    def _use_model(self, folder: Path | None) -> None:
        self._switch_model(folder)
        self._store.update_preferences(lambda now: replace(now, model_folder=folder)).result()

    # Rounds

    def _make_rounds(self) -> None:
        while not self._leaving.wait(ROUND_S):
            try:
                self._collect_records()
                self._store.observe(self._engine.snapshot)
                self._keep_pins_warm()
            except Exception:  # a failed round must not end all others
                logger.exception("a round failed")

    def _collect_records(self) -> None:
        for record in self._engine.drain_records():
            self._store.record(record)
            self._recent.append(record)
            self._num_recorded += 1
            usage, timings = record.usage, record.timings
            if usage.computed_tokens >= 64 and timings.prefill_s > 0:
                measured = usage.computed_tokens / timings.prefill_s
                self._prefill_rate += 0.3 * (measured - self._prefill_rate)

    def _keep_pins_warm(self) -> None:
        """Bring the engine's pins in line with the stored ones: after a start, after a new version,
        after a template was deleted or restored."""
        snapshot = self._engine.snapshot
        if not self._engine.health.ok:
            return
        wanted = {
            pin_name(pin.template_id): self._spec(pin.template_id, pin.with_template_id)
            for pin in self._store.list_pins().result()
        }
        for status in snapshot.pins:
            if status.kept and status.name not in wanted:
                self._let_go(status.name)
        kept = self._engine.pins
        for name, spec in wanted.items():
            failed = any(s.name == name and s.state is PinState.FAILED for s in snapshot.pins)
            if kept.get(name) == spec or failed:
                continue
            try:
                self._engine.pin(spec)
                self._refused.pop(name, None)
            except (PinRefused, EngineError) as error:
                if self._refused.get(name) != str(error):
                    logger.warning("%s is not kept warm: %s", name, error)
                self._refused[name] = str(error)
