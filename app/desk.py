"""What a window may ask of Ondol: figures now, answers later, never a wait. No Qt in here."""

from __future__ import annotations

import json
import logging
import shutil
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from app.autostart import LoginItem, find_login_item
from app.budget import KvLimits, kv_limits
from app.diagnostics import diagnose
from app.last_chat import LastChat
from app.paths import Paths
from app.pinned import PinnedTemplates
from app.ports import EnginePort
from app.prefixes import Price, history_content, pin_name, pin_spec, policy_of
from app.remove import Removal, plan_removal
from app.settings import Settings
from app.storage.aggregates import MinuteRow
from app.storage.content import TemplateKind, check_content
from app.storage.errors import InvalidTemplate, StorageError
from app.storage.pins import Pin
from app.storage.settings_store import Preferences
from app.storage.store import Store
from app.storage.templates import Template, TemplateVersion
from engine.errors import EngineError, EngineUnavailable
from engine.model.info import ModelInfo
from engine.pins import PinSpec
from engine.request import RequestRecord
from engine.snapshot import Snapshot

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
        given: Callable[[], Settings] = Settings,
        last_chat: LastChat,
        use_model: Callable[[Path | None], None],
    ) -> None:
        self._engine = engine
        self._store = store
        self._paths = paths
        self._url = url
        self._given = given
        self._last_chat = last_chat
        self._switch_model = use_model
        self._recent: deque[RequestRecord] = deque(maxlen=RECENT_KEPT)
        self._num_recorded = 0
        self._prefill_rate = DEFAULT_PREFILL_RATE
        self._pinned = PinnedTemplates(engine, store)
        self._recent_lock = threading.Lock()
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
    def given(self) -> Settings:
        """What the command line says: it counts more than the preferences, a model until another
        is chosen."""
        return self._given()

    @property
    def data_folder(self) -> Path:
        return self._paths.data

    @property
    def log_folder(self) -> Path:
        return self._paths.log_file.parent

    @property
    def storage_trouble(self) -> BaseException | None:
        """Why history cannot be written now, if it cannot."""
        return self._store.trouble

    def refusal(self, template_id: int) -> str:
        """Why the engine does not keep this pinned template warm; empty if it does."""
        return self._pinned.refusal(template_id)

    def records_since(self, number: int) -> tuple[int, list[RequestRecord]]:
        """Requests that ended after the first `number` ones, oldest first, and the number now."""
        with self._recent_lock:
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

    def deleted_templates(self) -> Future[tuple[Template, ...]]:
        """Those that `restore` still brings back."""
        return self._store.list_templates(deleted=True)

    def versions(self, template_id: int) -> Future[tuple[TemplateVersion, ...]]:
        return self._store.template_versions(template_id)

    def create_template(
        self, name: str, kind: TemplateKind, content: str, tags: tuple[str, ...] = ()
    ) -> Future[Template]:
        """Fails with InvalidTemplate, NameTaken, StorageError."""
        return self._store.create_template(name, kind, content, tags=tags)

    def check_content(self, kind: TemplateKind, content: str) -> Future[None]:
        """Whether a template may hold this; nothing is stored. Fails with InvalidTemplate."""
        return self._work(lambda: check_content(kind, content))

    def import_template(
        self, path: Path, *, kind: TemplateKind | None = None, name: str | None = None
    ) -> Future[Template]:
        """See `template_files.import_file`. Fails with InvalidTemplate, NameTaken, StorageError."""
        return self._work(lambda: self._import_template(path, kind, name))

    def add_version(self, template_id: int, content: str, note: str = "") -> Future[Template]:
        """A pin of the latest version follows within a second."""
        return self._pinned.after(self._store.add_template_version(template_id, content, note=note))

    def rename(self, template_id: int, name: str) -> Future[Template]:
        return self._store.rename_template(template_id, name)

    def set_tags(self, template_id: int, tags: tuple[str, ...]) -> Future[Template]:
        return self._store.set_template_tags(template_id, tags)

    def delete(self, template_id: int) -> Future[Template]:
        return self._pinned.after(self._store.delete_template(template_id))

    def restore(self, template_id: int) -> Future[Template]:
        return self._pinned.after(self._store.restore_template(template_id))

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
        return self._work(lambda: self._pinned.pin(template_id, with_template_id))

    def unpin(self, template_id: int) -> Future[None]:
        return self._work(lambda: self._pinned.unpin(template_id))

    def warm(self, template_id: int, with_template_id: int | None = None) -> Future[None]:
        """Compute the prefix of a template that is not pinned now, without keeping it. Fails with
        PinRefused, TemplateError, EngineUnavailable."""
        return self._work(
            lambda: self._engine.warm(self._pinned.spec(template_id, with_template_id))
        )

    def cancel_warming(self, template_id: int) -> Future[None]:
        """Stop computing what is not pinned; a pin stays."""
        return self._work(lambda: self._pinned.let_go(pin_name(template_id)))

    def pin_last_request(self, name: str) -> Future[Template]:
        """Make a template of the latest chat and pin it. A chat with tools gives its beginning, the
        policy and the tools, as that is what the next one shares with it.

        Fails with NothingToPin, NameTaken, InvalidTemplate and as `pin`; then nothing is left.
        """
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

    def kv_limits(self) -> Future[KvLimits]:
        """Between what a KV budget for the present model may lie."""
        model = self._engine.model
        return self._work(lambda: kv_limits(model.weights_bytes if model else 0))

    def starts_at_login(self) -> Future[bool]:
        """What the system would do, read from where it looks."""
        return self._work(self._login_item().is_on)

    def start_at_login(self, wanted: bool) -> Future[bool]:
        """Have the system start Ondol at login, or no longer. Gives what it would do then. Fails
        with OSError."""
        return self._work(lambda: self._start_at_login(wanted))

    def diagnostics(self) -> Future[str]:
        """A report to paste: figures and names, no prompt, answer or key."""
        return self._work(self._diagnose)

    def removal(self) -> Future[Removal]:
        """What removing everything would take. Fails with NotOndols, OSError."""
        return self._work(lambda: plan_removal(self._paths, self._login_item()))

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
            num_tokens, model.cost.prefix_bytes(num_tokens), num_tokens / self._prefill_rate
        )

    def _import_template(self, path: Path, kind: TemplateKind | None, name: str | None) -> Template:
        if path.exists() and not path.is_file():
            # A pipe would hold the storage for as long as nobody writes to it.
            raise InvalidTemplate(f"{path.name} is no file.")
        return self._store.import_template(path, kind=kind, name=name).result()

    def _pin_last_request(self, name: str) -> Template:
        chat = self._last_chat.get()
        if chat is None:
            raise NothingToPin("No chat has arrived yet.")
        if not chat.tools:
            return self._create_and_pin(
                name, TemplateKind.CHAT_HISTORY, history_content(chat.messages), None
            )
        tools = json.dumps(chat.tools, ensure_ascii=False)
        policy = policy_of(chat.messages)
        if not policy:
            return self._create_and_pin(name, TemplateKind.TOOL_SCHEMA, tools, None)
        kind = TemplateKind.SYSTEM_POLICY
        beside = self._store.create_template(f"{name} (policy)", kind, policy).result()
        try:
            return self._create_and_pin(name, TemplateKind.TOOL_SCHEMA, tools, beside.id)
        except BaseException:
            self._store.delete_template(beside.id)
            raise

    def _create_and_pin(
        self, name: str, kind: TemplateKind, content: str, with_template_id: int | None
    ) -> Template:
        template = self._store.create_template(name, kind, content).result()
        try:
            self._pinned.pin(template.id, with_template_id)
        except BaseException:
            self._store.delete_template(template.id)
            raise
        return template

    def _login_item(self) -> LoginItem:
        return find_login_item(self._paths)

    def _start_at_login(self, wanted: bool) -> bool:
        item = self._login_item()
        if wanted:
            item.turn_on()
        else:
            item.turn_off()
        is_on = item.is_on()
        self._store.update_preferences(lambda now: replace(now, start_at_login=is_on)).result()
        return is_on

    def _diagnose(self) -> str:
        try:
            preferences = self._store.preferences().result()
        except StorageError:
            preferences = None
        return diagnose(
            self._engine.snapshot,
            self._engine.model,
            preferences,
            self._paths,
            url=self.url,
            storage_trouble=self._store.trouble,
        )

    def _use_model(self, folder: Path | None) -> None:
        self._switch_model(folder)
        self._store.update_preferences(lambda now: replace(now, model_folder=folder)).result()

    # Rounds

    def _make_rounds(self) -> None:
        while not self._leaving.wait(ROUND_S):
            try:
                self._collect_records()
                self._store.observe(self._engine.snapshot)
                self._pinned.keep_warm()
            except Exception:  # a failed round must not end all others
                logger.exception("a round failed")

    def _collect_records(self) -> None:
        for record in self._engine.drain_records():
            self._store.record(record)
            with self._recent_lock:
                self._recent.append(record)
                self._num_recorded += 1
            usage, timings = record.usage, record.timings
            if usage.computed_tokens >= 64 and timings.prefill_s > 0:
                measured = usage.computed_tokens / timings.prefill_s
                self._prefill_rate += 0.3 * (measured - self._prefill_rate)
