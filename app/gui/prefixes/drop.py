"""Shows, over the page, that a file can be dropped here."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from app.gui.theme import RADIUS, SPACE, strong_font, theme


class DropHint(QWidget):
    def __init__(self, page: QWidget) -> None:
        super().__init__(page)
        self._page = page
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.hide()

    def appear(self) -> None:
        self.setGeometry(self._page.rect())
        self.raise_()
        self.show()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        ground = theme.color("window")
        ground.setAlpha(243)
        painter.fillRect(self.rect(), ground)
        painter.setPen(QPen(theme.color("accent"), 2, Qt.PenStyle.DashLine))
        inset = QRectF(self.rect()).adjusted(2 * SPACE, 2 * SPACE, -2 * SPACE, -2 * SPACE)
        painter.drawRoundedRect(inset, RADIUS, RADIUS)
        painter.setFont(strong_font(self.font()))
        painter.setPen(theme.color("text"))
        painter.drawText(inset, Qt.AlignmentFlag.AlignCenter, self.tr("Drop to make a prefix"))
        painter.end()
