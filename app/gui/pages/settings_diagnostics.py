"""A copy button for a report that takes a moment to be made."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from app.desk import Desk
from app.gui import trouble
from app.gui.copy_button import CopyButton
from app.gui.futures import follow


class DiagnosticsButton(CopyButton):
    """failed(str)   the report could not be made, and why; empty when it could"""

    failed = Signal(str)

    def __init__(self, desk: Desk, what: str, parent: QWidget | None = None) -> None:
        super().__init__(str, what, parent=parent)
        self._desk = desk

    def copy(self) -> None:
        self.setEnabled(False)
        follow(self._desk.diagnostics(), self, self._made, self._not_made)

    def _made(self, report: str) -> None:
        self.setEnabled(True)
        self.failed.emit("")
        self.put(report)

    def _not_made(self, error: Exception) -> None:
        self.setEnabled(True)
        self.failed.emit(trouble.words(error))
