"""The shapes that tell how a prefix stands: ring, dots, pie, tick, triangle."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QBrush, QColor, QPainter, QPen, QPolygonF

from app.gui.theme import theme
from engine.snapshot import PinState

GLYPH_PX = 12
_STROKE_PX = 1.5
_WHOLE_CIRCLE = 360 * 16
_TOP = 90 * 16

_TOKENS = {
    PinState.ABSENT: "secondary",
    PinState.QUEUED: "secondary",
    PinState.BUILDING: "accent",
    PinState.READY: "good",
    PinState.FAILED: "bad",
}


def paint_glyph(
    painter: QPainter,
    area: QRectF,
    state: PinState,
    share: float,
    ground: QColor,
    ink: QColor | None = None,
) -> None:
    """Draw a state in a square of GLYPH_PX in the middle of `area`'s height, at its left.

    `share` is what of it is done, 0 to 1; `ground` what it is drawn on; `ink` overrides the state's
    colour, for a selected row.
    """
    color = ink or theme.color(_TOKENS[state])
    box = QRectF(area.left(), area.center().y() - GLYPH_PX / 2, GLYPH_PX, GLYPH_PX)
    ring = box.adjusted(1, 1, -1, -1)
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QPen(color, _STROKE_PX))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    match state:
        case PinState.ABSENT:
            painter.drawEllipse(ring)
        case PinState.QUEUED:
            _dots(painter, box, color)
        case PinState.BUILDING:
            painter.drawEllipse(ring)
            painter.setBrush(QBrush(color))
            painter.drawPie(ring, _TOP, -round(share * _WHOLE_CIRCLE))
        case PinState.READY:
            _tick(painter, box, color, ground)
        case PinState.FAILED:
            _triangle(painter, box, color, ground)
    painter.restore()


def _dots(painter: QPainter, box: QRectF, color: QColor) -> None:
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QBrush(color))
    for step in (0.15, 0.5, 0.85):
        center = QPointF(box.left() + box.width() * step, box.center().y())
        painter.drawEllipse(center, 1.5, 1.5)


def _tick(painter: QPainter, box: QRectF, color: QColor, ground: QColor) -> None:
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QBrush(color))
    painter.drawEllipse(box)
    painter.setPen(QPen(ground, _STROKE_PX, c=Qt.PenCapStyle.RoundCap, j=Qt.PenJoinStyle.RoundJoin))
    painter.drawPolyline(_points(box, (0.28, 0.52), (0.44, 0.68), (0.73, 0.34)))


def _triangle(painter: QPainter, box: QRectF, color: QColor, ground: QColor) -> None:
    painter.setPen(QPen(color, _STROKE_PX, j=Qt.PenJoinStyle.RoundJoin))
    painter.setBrush(QBrush(color))
    painter.drawPolygon(_points(box, (0.5, 0.08), (0.96, 0.9), (0.04, 0.9)))
    painter.setPen(QPen(ground, _STROKE_PX, c=Qt.PenCapStyle.RoundCap))
    painter.drawPolyline(_points(box, (0.5, 0.36), (0.5, 0.58)))
    painter.drawPoint(_points(box, (0.5, 0.77)).first())


def _points(box: QRectF, *shares: tuple[float, float]) -> QPolygonF:
    return QPolygonF(
        [QPointF(box.left() + x * box.width(), box.top() + y * box.height()) for x, y in shares]
    )
