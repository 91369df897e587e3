"""The icon's five shapes: a warm floor, drawn from above and from the side.

On macOS they are masks: black with alpha, 18 points, coloured by the menu bar. Elsewhere nobody
colours them, so they are drawn in one warm tone that stands out on light and dark panels alike.
"""

from __future__ import annotations

import sys

from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QIcon, QPainter, QPainterPath, QPen, QPixmap

from app.gui.tray.status import TrayState

POINTS = 18
_MASK = "#000000"
_PANEL = "#d9541a"  # 3.9:1 on white, 4.3:1 on a dark panel
_STROKE = 1.6
_BOX = QRectF(2, 2, 14, 14)
_RADIUS = 3.4
# One size a scale on macOS; panels elsewhere take what is nearest.
_MASK_SCALES = (1, 2, 3)
_PANEL_SIZES = (16, 18, 22, 24, 32, 44, 48, 64)


def tray_icon(state: TrayState, *, as_mask: bool = sys.platform == "darwin") -> QIcon:
    icon = QIcon()
    if as_mask:
        for scale in _MASK_SCALES:
            icon.addPixmap(_pixmap(state, POINTS * scale, scale, _MASK))
    else:
        for size in _PANEL_SIZES:
            icon.addPixmap(_pixmap(state, size, 1, _PANEL))
    icon.setIsMask(as_mask)
    return icon


def _pixmap(state: TrayState, size: int, scale: int, color: str) -> QPixmap:
    pixmap = QPixmap(size, size)
    pixmap.setDevicePixelRatio(scale)
    pixmap.fill(Qt.GlobalColor.transparent)
    painter = QPainter(pixmap)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.scale(size / scale / POINTS, size / scale / POINTS)
    painter.setPen(
        QPen(
            QColor(color),
            _STROKE,
            Qt.PenStyle.SolidLine,
            Qt.PenCapStyle.RoundCap,
            Qt.PenJoinStyle.RoundJoin,
        )
    )
    painter.setBrush(Qt.BrushStyle.NoBrush)
    _DRAWINGS[state](painter)
    painter.end()
    return pixmap


def _outline(painter: QPainter) -> None:
    inset = _STROKE / 2
    painter.drawRoundedRect(_BOX.adjusted(inset, inset, -inset, -inset), _RADIUS, _RADIUS)


def _idle(painter: QPainter) -> None:
    """An empty room with its floor."""
    _outline(painter)
    painter.drawLine(QLineF(5.6, 12.2, 12.4, 12.2))


def _working(painter: QPainter) -> None:
    """The same room, full of warmth; its floor is cut out."""
    painter.setBrush(painter.pen().color())
    _outline(painter)
    _cut(painter, QLineF(5.6, 12.2, 12.4, 12.2), _STROKE)


def _warming(painter: QPainter) -> None:
    """Three waves that rise from the floor."""
    painter.drawLine(QLineF(2.8, 15.2, 15.2, 15.2))
    for x in (4.6, 9.0, 13.4):
        wave = QPainterPath(QPointF(x, 12.0))
        wave.cubicTo(QPointF(x - 2.4, 9.2), QPointF(x + 2.4, 6.2), QPointF(x, 3.4))
        painter.drawPath(wave)


def _paused(painter: QPainter) -> None:
    """Two bars in the room."""
    _outline(painter)
    for x in (7.2, 10.8):
        painter.drawLine(QLineF(x, 6.4, x, 11.6))


def _error(painter: QPainter) -> None:
    """The room, struck through from corner to corner."""
    _idle(painter)
    slash = QLineF(2.2, 15.8, 15.8, 2.2)
    _cut(painter, slash, _STROKE * 2.6)  # a gap keeps the shapes apart at 18 points
    painter.drawLine(slash)


def _cut(painter: QPainter, line: QLineF, width: float) -> None:
    """Take a line out of what was drawn."""
    pen = painter.pen()
    painter.setCompositionMode(QPainter.CompositionMode.CompositionMode_Clear)
    painter.setPen(QPen(pen.color(), width, pen.style(), pen.capStyle()))
    painter.drawLine(line)
    painter.setCompositionMode(QPainter.CompositionMode.CompositionMode_SourceOver)
    painter.setPen(pen)


_DRAWINGS = {
    TrayState.IDLE: _idle,
    TrayState.WORKING: _working,
    TrayState.WARMING: _warming,
    TrayState.PAUSED: _paused,
    TrayState.ERROR: _error,
}
