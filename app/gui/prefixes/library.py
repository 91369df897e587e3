"""Keeps the list in line with what is stored, what the engine has, and what it costs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from PySide6.QtCore import QObject, Signal

from app.desk import Desk
from app.gui import trouble
from app.gui.clock import HouseClock
from app.gui.futures import follow
from app.gui.prefixes.model import PrefixModel
from app.gui.prefixes.prices import Prices
from app.gui.prefixes.rows import PrefixRow
from app.prefixes import pin_name
from app.storage.pins import Pin
from app.storage.templates import Template
from engine.snapshot import PinStatus, Snapshot


@dataclass(slots=True)
class _Answers:
    """What a look into the storage has brought so far."""

    templates: tuple[Template, ...] | None = None
    deleted: tuple[Template, ...] | None = None
    pins: tuple[Pin, ...] | None = None

    @property
    def complete(self) -> bool:
        return None not in (self.templates, self.deleted, self.pins)


class Library(QObject):
    """Works while its page is looked at; hidden it only notes when prefixes are used.

    arrived()      the list is complete
    failed(str)    it could not be read, and why
    """

    arrived = Signal()
    failed = Signal(str)

    def __init__(
        self,
        desk: Desk,
        clock: HouseClock,
        parent: QObject | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(parent)
        self.model = PrefixModel(self, now)
        self.prices = Prices(desk, self)
        self._desk = desk
        self._looked_at = False
        self._reading: _Answers | None = None
        self._id_of: dict[str, int] = {}
        self._statuses: dict[str, PinStatus] = {}
        self.prices.priced.connect(self._show_price)
        clock.snapshotChanged.connect(self._see)
        clock.second.connect(self._let_time_pass)

    def open(self) -> None:
        """The page is looked at."""
        self._looked_at = True
        self.reload()

    def close(self) -> None:
        self._looked_at = False
        self.prices.rest()

    def reload(self) -> None:
        """Read everything anew; an answer that was still awaited no longer counts."""
        answers = _Answers()
        self._reading = answers

        def keep(name: str) -> Callable[[Any], None]:
            def arrived(found: Any) -> None:
                setattr(answers, name, found)
                if answers.complete and answers is self._reading:
                    self._reading = None
                    self._show(answers)

            return arrived

        def failed(error: Exception) -> None:
            if answers is self._reading:
                self._reading = None
                self.failed.emit(trouble.words(error))

        follow(self._desk.templates(), self, keep("templates"), failed)
        follow(self._desk.deleted_templates(), self, keep("deleted"), failed)
        follow(self._desk.pins(), self, keep("pins"), failed)

    def _show(self, answers: _Answers) -> None:
        assert answers.templates is not None
        assert answers.deleted is not None
        assert answers.pins is not None
        self._note(self._desk.snapshot)
        pin_of = {pin.template_id: pin for pin in answers.pins}
        living = {template.id: template for template in answers.templates}
        rows = []
        for template in (*answers.templates, *answers.deleted):
            pin = pin_of.get(template.id)
            policy = None
            if pin is not None and pin.with_template_id is not None:
                policy = living.get(pin.with_template_id)
            rows.append(self._with_news(PrefixRow(template, pin, policy)))
        self._id_of = {pin_name(row.id): row.id for row in rows}
        self.model.show(rows)
        self.arrived.emit()
        self._want_prices()

    def _with_news(self, row: PrefixRow) -> PrefixRow:
        name = pin_name(row.id)
        return replace(
            row,
            status=self._statuses.get(name),
            refusal=self._desk.refusal(row.id) if row.pinned else "",
            price=self.prices.of(row),
            last_used=self._last_used(name),
        )

    def _last_used(self, name: str) -> float | None:
        status = self._statuses.get(name)
        return status.last_hit_at or None if status is not None else None

    def _see(self, snapshot: Snapshot) -> None:
        before = self._statuses
        if self._note(snapshot) and self._looked_at:
            self._refresh(self.model.rows)
        elif self._looked_at:
            names = before.keys() | self._statuses.keys()
            changed = [name for name in names if before.get(name) != self._statuses.get(name)]
            rows = [self.model.find(self._id_of.get(name)) for name in changed]
            self._refresh(row for row in rows if row is not None)
            new = self._statuses.keys() - before.keys() - self._id_of.keys()
            if new and self._reading is None:
                self.reload()  # somebody else has pinned it, such as the menu bar
        self._want_prices()

    def _note(self, snapshot: Snapshot) -> bool:
        """Remember how prefixes stand. Returns whether another model serves than before."""
        self._statuses = {status.name: status for status in snapshot.pins}
        return self.prices.use_model(snapshot.model_id)

    def _refresh(self, rows: Iterable[PrefixRow]) -> None:
        self.model.change([self._with_news(row) for row in rows])

    def _let_time_pass(self) -> None:
        if self._looked_at:
            # A refusal comes and goes without a snapshot.
            self._refresh(row for row in self.model.rows if row.pinned)
            self.model.let_time_pass()
            self._want_prices()  # those that were asked for while no model served

    def _show_price(self, template_id: int) -> None:
        row = self.model.find(template_id)
        if row is not None:
            self._refresh([row])

    def _want_prices(self) -> None:
        if self._looked_at and self._desk.model is not None:
            self.prices.want(row for row in self.model.rows if row.price is None)
