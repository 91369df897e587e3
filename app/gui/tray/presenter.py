"""Keeps the icon in line with the house."""

from __future__ import annotations

import datetime
from collections.abc import Callable

from PySide6.QtCore import QObject

from app.desk import Desk
from app.gui.clock import HouseClock
from app.gui.futures import follow
from app.gui.tray.menu import MenuItem, menu_items, tooltip
from app.gui.tray.status import Today, today, tray_state
from app.gui.tray.tray import Tray
from app.storage.aggregates import MinuteRow

REFRESH_S = 5  # today's figures are read from the database, so not with every request


def _now() -> datetime.datetime:
    return datetime.datetime.now().astimezone()


class TrayPresenter(QObject):
    """The shape follows the house at once, the lines once a second, and when the menu opens."""

    def __init__(
        self,
        tray: Tray,
        desk: Desk,
        clock: HouseClock,
        parent: QObject | None = None,
        now: Callable[[], datetime.datetime] = _now,
    ) -> None:
        super().__init__(parent)
        self._tray = tray
        self._desk = desk
        self._now = now
        self._today = Today()
        self._items: tuple[MenuItem, ...] = ()
        self._shown: object = None
        self._new_records = False
        self._seconds = 0
        clock.snapshotChanged.connect(self._show_state)
        clock.recordsArrived.connect(self._note_records)
        clock.second.connect(self._each_second)
        self._show_state()
        self.refresh()

    def refresh(self) -> None:
        """Show what is known, and ask for today's figures."""
        self._new_records = False
        self._seconds = 0
        self._show_items()
        follow(self._desk.last_24_hours(), self, self._show_today, lambda error: None)

    def _show_state(self) -> None:
        snapshot = self._desk.snapshot
        state = tray_state(snapshot)
        shown = (state, tooltip(snapshot, state))
        if shown != self._shown:
            self._shown = shown
            self._tray.set_state(*shown)

    def _show_items(self) -> None:
        items = menu_items(
            self._desk.snapshot, self._today, can_pin=self._desk.can_pin_last_request
        )
        if items != self._items:
            self._items = items
            self._tray.set_items(items)

    def _show_today(self, rows: list[MinuteRow]) -> None:
        self._today = today(rows, self._now())
        self._show_items()

    def _note_records(self) -> None:
        self._new_records = True

    def _each_second(self) -> None:
        self._seconds += 1
        if self._new_records and self._seconds >= REFRESH_S:
            self.refresh()
        else:
            self._show_items()
