"""The one timer of the GUI: looks at the house ten times a second and tells what changed."""

from __future__ import annotations

from PySide6.QtCore import QObject, QTimer, Signal

from app.desk import Desk

TICK_MS = 100


class HouseClock(QObject):
    """Reads the engine's snapshot and the ended requests; never waits for either.

    snapshotChanged(Snapshot)   the engine has news
    recordsArrived(list)        requests that have ended, oldest first
    second()                    about once a second, for what moves with time
    """

    snapshotChanged = Signal(object)
    recordsArrived = Signal(list)
    second = Signal()

    def __init__(self, desk: Desk, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._desk = desk
        self._number, _ = desk.records_since(0)
        self._seen: object = None
        self._ticks = 0
        self._timer = QTimer(self)
        self._timer.setInterval(TICK_MS)
        self._timer.timeout.connect(self.tick)

    def start(self) -> None:
        self._timer.start()

    def stop(self) -> None:
        self._timer.stop()

    def tick(self) -> None:
        """One look. The timer calls it; tests may too."""
        snapshot = self._desk.snapshot
        seen = (snapshot.seq, snapshot.state, snapshot.reason)
        if seen != self._seen:
            self._seen = seen
            self.snapshotChanged.emit(snapshot)
        self._number, records = self._desk.records_since(self._number)
        if records:
            self.recordsArrived.emit(records)
        self._ticks += 1
        if self._ticks * TICK_MS >= 1000:
            self._ticks = 0
            self.second.emit()
