"""When a window is seen for the first time."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QTimer, Signal
from PySide6.QtWidgets import QWidget


class FirstPaint(QObject):
    """Watches one window.

    painted   it has been painted
    """

    painted = Signal()

    def __init__(self, window: QWidget, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._afterwards = QTimer(self)
        self._afterwards.setSingleShot(True)
        self._afterwards.timeout.connect(self.painted)
        window.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() is QEvent.Type.Paint:
            watched.removeEventFilter(self)
            self._afterwards.start(0)
        return False
