"""A large button: an icon, what it does, and a sentence about it."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QEnterEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QSizePolicy, QWidget

from app.gui.icons import icon
from app.gui.theme import RADIUS, SPACE, strong_font, theme

_ICON_PX = 24


class StartCard(QAbstractButton):
    def __init__(
        self, icon_name: str, name: str, sentence: str, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._icon_name = icon_name
        self._sentence = sentence
        self.setText(name)
        self.setAccessibleDescription(sentence)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self._tint)
        self._tint()

    def sizeHint(self) -> QSize:
        return QSize(0, 2 * self.fontMetrics().lineSpacing() + 3 * SPACE)

    def enterEvent(self, event: QEnterEvent) -> None:
        super().enterEvent(event)
        self.update()

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            focused = self.hasFocus()
            edge = theme.color("accent" if focused else "border")
            painter.setPen(QPen(edge, 2 if focused else 1))
            lifted = self.underMouse() and not self.isDown()
            painter.setBrush(theme.color("grid" if lifted else "card"))
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(1, 1, -1, -1), RADIUS, RADIUS)
            middle = self.rect().center().y()
            box = QRect(2 * SPACE, middle - _ICON_PX // 2 + 1, _ICON_PX, _ICON_PX)
            self.icon().paint(painter, box)
            line = self.fontMetrics().lineSpacing()
            left = box.right() + 2 * SPACE
            words = QRect(left, middle - line, self.width() - left - SPACE, line)
            painter.setFont(strong_font(self.font()))
            painter.setPen(theme.color("text"))
            painter.drawText(words, Qt.AlignmentFlag.AlignVCenter, self.text())
            painter.setFont(self.font())
            painter.setPen(theme.color("secondary"))
            painter.drawText(
                words.translated(0, line), Qt.AlignmentFlag.AlignVCenter, self._sentence
            )

    def _tint(self) -> None:
        self.setIcon(icon(self._icon_name, "accent"))
