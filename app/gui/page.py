"""What every page of the window is."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import QWidget

from app.desk import Desk
from app.gui.clock import HouseClock
from app.gui.theme import SPACE

MARGINS = (3 * SPACE, SPACE, 3 * SPACE, 3 * SPACE)  # left, top, right, bottom


class Page(QWidget):
    """A page in the window's sidebar. It may work while hidden, but must not paint or poll then:
    `entered` and `left` say when it is looked at.

    The window shows the heading (`title`, and `header_controls` beside it); a page does not repeat
    it. Below it the page has the full width, for scroll bars at the edge, and keeps MARGINS itself.

    pageRequested(str)   go to the page of this icon name
    """

    pageRequested = Signal(str)

    icon_name = ""

    def __init__(self, desk: Desk, clock: HouseClock, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.desk = desk
        self.clock = clock

    def title(self) -> str:
        """The page's name in the sidebar, translated."""
        raise NotImplementedError

    def header_controls(self) -> QWidget | None:
        """What stands at the right end of the heading, if anything. Asked once."""
        return None

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
