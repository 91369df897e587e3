"""What stands in the middle of the page: the list, or why there is none."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QStackedWidget, QWidget

from app.gui.empty_state import EmptyState
from app.gui.prefixes.welcome import Welcome


class Panels(QStackedWidget):
    """retried()      read the storage again
    allWanted()      take every filter away
    kindChosen(TemplateKind)   make a first prefix
    """

    retried = Signal()
    allWanted = Signal()
    kindChosen = Signal(object)

    def __init__(self, filled: QWidget, parent: QWidget | None = None) -> None:
        """`filled` is the list with its details."""
        super().__init__(parent)
        self._filled = filled
        self._welcome = Welcome()
        self._welcome.chosen.connect(self.kindChosen)
        self._reading = EmptyState("clock", self.tr("Reading prefixes…"))
        self._no_match = EmptyState(
            "search",
            self.tr("No prefix matches"),
            self.tr("None of this kind has these words in its name or its tags."),
            self.tr("Show All"),
        )
        self._no_match.acted.connect(self.allWanted)
        self._none_deleted = EmptyState(
            "delete",
            self.tr("Nothing was deleted"),
            self.tr("A deleted prefix can be restored from here for 30 days."),
            self.tr("Show All"),
        )
        self._none_deleted.acted.connect(self.allWanted)
        self._unreadable: EmptyState | None = None
        for panel in (self._reading, filled, self._welcome, self._no_match, self._none_deleted):
            self.addWidget(panel)

    def show_list(self) -> None:
        self.setCurrentWidget(self._filled)

    def show_welcome(self) -> None:
        self.setCurrentWidget(self._welcome)

    def show_no_match(self) -> None:
        self.setCurrentWidget(self._no_match)

    def show_none_deleted(self) -> None:
        self.setCurrentWidget(self._none_deleted)

    def show_unreadable(self, reason: str) -> None:
        """The storage did not answer; what was shown before may be out of date."""
        if self._unreadable is not None:
            self.removeWidget(self._unreadable)
            self._unreadable.deleteLater()
        self._unreadable = EmptyState(
            "error", self.tr("Prefixes cannot be read"), reason, self.tr("Try Again")
        )
        self._unreadable.acted.connect(self.retried)
        self.addWidget(self._unreadable)
        self.setCurrentWidget(self._unreadable)
