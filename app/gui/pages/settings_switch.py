"""On or off, told by where the knob is."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QSizePolicy, QWidget

from app.gui.theme import theme

_WIDTH, _HEIGHT = 38, 22
_KNOB_MARGIN = 2.5


class Switch(QAbstractButton):
    """A checkable button. Space turns it, as a click does."""

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        """`name` is what it switches, for screen readers."""
        super().__init__(parent)
        self.setCheckable(True)
        self.setAccessibleName(name)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        theme.changed.connect(self.update)

    def sizeHint(self) -> QSize:
        return QSize(_WIDTH, _HEIGHT)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        track = QRectF(0, 0, _WIDTH, _HEIGHT)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(self._ground())
        painter.drawRoundedRect(track, _HEIGHT / 2, _HEIGHT / 2)
        if self.hasFocus():
            ring = track.adjusted(1, 1, -1, -1)
            painter.setPen(QPen(theme.color("text"), 1.5))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(ring, ring.height() / 2, ring.height() / 2)
            painter.setPen(Qt.PenStyle.NoPen)
        side = _HEIGHT - 2 * _KNOB_MARGIN
        left = track.right() - side - _KNOB_MARGIN if self.isChecked() else _KNOB_MARGIN
        painter.setBrush(QColor(Qt.GlobalColor.white))
        painter.drawEllipse(QRectF(left, _KNOB_MARGIN, side, side))

    def _ground(self) -> QColor:
        ground = theme.color("accent" if self.isChecked() else "disabled")
        if not self.isEnabled():
            ground.setAlphaF(0.5)
        return ground
