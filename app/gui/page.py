"""What every page of the window is."""

from __future__ import annotations

from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import QWidget

from app.desk import Desk
from app.gui.clock import HouseClock


class Page(QWidget):
    """A page in the window's sidebar. It may work while hidden, but must not paint or poll then:
    `entered` and `left` say when it is looked at."""

    icon_name = ""

    def __init__(self, desk: Desk, clock: HouseClock, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.desk = desk
        self.clock = clock

    def title(self) -> str:
        """The page's name in the sidebar, translated."""
        raise NotImplementedError

    def entered(self) -> None:
        """The page has become visible."""

    def left(self) -> None:
        """The page is no longer visible."""

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.entered()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self.left()
