"""A page's content that scrolls when it is taller than the window."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QScrollArea, QVBoxLayout, QWidget

from app.gui.page import MARGINS
from app.gui.theme import SPACE


class PageScroll(QScrollArea):
    """Give what is to be shown to `column`. It keeps the page's margins; the scroll bar takes its
    room from the right one, so that nothing moves when it comes."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        content = QWidget()
        self.column = QVBoxLayout(content)
        self.column.setContentsMargins(*MARGINS)
        self.column.setSpacing(2 * SPACE)
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setWidget(content)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        left, top, right, bottom = MARGINS
        taken = self.width() - self.viewport().width()
        self.column.setContentsMargins(left, top, max(0, right - taken), bottom)
