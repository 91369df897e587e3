"""Pinned templates: the stored pins, and an engine that is kept in line with them."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import TypeVar

from app.ports import EnginePort
from app.prefixes import pin_name, pin_spec
from app.storage.pins import Pin
from app.storage.store import Store
from engine.errors import EngineError, EngineUnavailable, UnknownPin
from engine.pins import PinSpec

logger = logging.getLogger(__name__)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Refusal:
    """Why the engine did not take a pin, and under which circumstances: the model, the budget in
    bytes, and the other pins. While they stay, asking again is in vain."""

    spec: PinSpec
    reason: str
    model: str
    budget: int
    others: Mapping[str, PinSpec]


class PinnedTemplates:
    """Every method may be called from any thread but the storage's, and waits for the storage."""

    def __init__(self, engine: EnginePort, store: Store) -> None:
        self._engine = engine
        self._store = store
        self._lock = threading.Lock()  # one at a time brings storage and engine in line
        self._refusals: dict[str, _Refusal] = {}
        self._wanted: dict[str, PinSpec] = {}
        self._stale = threading.Event()  # what is stored may differ from `_wanted`
        self._stale.set()
        self._missed: set[str] = set()

    def after(self, change: Future[T]) -> Future[T]:
        """Look at the storage again once `change` is done."""
        change.add_done_callback(lambda _: self._stale.set())
        return change

    def refusal(self, template_id: int) -> str:
        """Why the engine does not keep this pinned template warm; empty if it does."""
        refusal = self._refusals.get(pin_name(template_id))
        return refusal.reason if refusal else ""

    def spec(self, template_id: int, with_template_id: int | None) -> PinSpec:
        """What the engine is to keep. Raises UnknownTemplate."""
        template = self._store.template(template_id).result()
        policy = None
        if with_template_id is not None:
            policy = self._store.template(with_template_id).result().latest.content
        return pin_spec(pin_name(template_id), template.kind, template.latest.content, policy)

    def pin(self, template_id: int, with_template_id: int | None) -> Pin:
        """Raises PinRefused, TemplateError, StorageError; then nothing is pinned."""
        with self._lock:
            spec = self.spec(template_id, with_template_id)
            try:
                self._engine.pin(spec)
            except EngineUnavailable:
                logger.info("%s is pinned when a model serves", spec.name)
            self._refusals.pop(spec.name, None)
            return self.after(
                self._store.pin(template_id, with_template_id=with_template_id)
            ).result()

    def unpin(self, template_id: int) -> None:
        """Raises NotPinned."""
        with self._lock:
            self.after(self._store.unpin(template_id)).result()
            self.let_go(pin_name(template_id))

    def let_go(self, name: str) -> None:
        """The engine need not keep or compute this any longer."""
        self._refusals.pop(name, None)
        try:
            self._engine.unpin(name)
        except UnknownPin:
            logger.debug("%s was not in the engine", name)

    def keep_warm(self) -> None:
        """Have the engine keep what is pinned and nothing else: after a start, a new version, a
        delete or an undo, and where it has lost something. Meant to be called once a second."""
        with self._lock:
            if not self._engine.health.ok:
                return
            if self._stale.is_set():
                self._read_wanted()
            kept = self._engine.pins
            for name in kept.keys() - self._wanted.keys():
                self.let_go(name)
            lost = self._lost(kept)
            for name, spec in self._wanted.items():
                if kept.get(name) != spec or name in lost:
                    self._try(name, spec)

    def _read_wanted(self) -> None:
        self._stale.clear()
        try:
            self._wanted = {
                pin_name(pin.template_id): self.spec(pin.template_id, pin.with_template_id)
                for pin in self._store.list_pins().result()
            }
        except BaseException:
            self._stale.set()
            raise

    def _lost(self, kept: Mapping[str, PinSpec]) -> set[str]:
        """Pins that the engine has taken and yet does not hold, such as one that is too large for
        the model that it serves now. The snapshot lags behind, so only what is missing twice."""
        held = {status.name for status in self._engine.snapshot.pins if status.kept}
        before, self._missed = self._missed, kept.keys() & self._wanted.keys() - held
        return before & self._missed

    def _try(self, name: str, spec: PinSpec) -> None:
        snapshot, pins = self._engine.snapshot, dict(self._engine.pins)
        pins.pop(name, None)
        now = _Refusal(spec, "", snapshot.model_id, snapshot.memory.budget, pins)
        before = self._refusals.get(name)
        if before is not None and replace(before, reason="") == now:
            return
        try:
            self._engine.pin(spec)
            self._refusals.pop(name, None)
        except EngineUnavailable:
            return
        except EngineError as error:
            if before is None or before.reason != str(error):
                logger.warning("%s is not kept warm: %s", name, type(error).__name__)
            self._refusals[name] = replace(now, reason=str(error))
