"""The shapes by which a request's state is told, beside its word."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen, QPolygonF

from app.gui.requests.words import RequestState

MARK_SIZE = 14  # pixels


def draw_mark(painter: QPainter, area: QRectF, state: RequestState, color: QColor) -> None:
    """A tick, an arrow that meets a wall, a cross in a ring, an exclamation mark in a triangle."""
    side = min(area.width(), area.height())
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.translate(area.center().x() - side / 2, area.center().y() - side / 2)
    painter.scale(side / MARK_SIZE, side / MARK_SIZE)
    painter.setPen(
        QPen(color, 1.5, Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap, Qt.PenJoinStyle.RoundJoin)
    )
    painter.setBrush(Qt.BrushStyle.NoBrush)
    _LINES[state](painter)
    painter.restore()


def _tick(painter: QPainter) -> None:
    painter.drawPolyline(QPolygonF([QPointF(2, 7.5), QPointF(5.5, 11), QPointF(12, 3.5)]))


def _wall(painter: QPainter) -> None:
    painter.drawLine(QPointF(12, 2), QPointF(12, 12))
    painter.drawLine(QPointF(1.5, 7), QPointF(8.5, 7))
    painter.drawPolyline(QPolygonF([QPointF(5.5, 4), QPointF(8.5, 7), QPointF(5.5, 10)]))


def _crossed_ring(painter: QPainter) -> None:
    painter.drawEllipse(QRectF(1.5, 1.5, 11, 11))
    painter.drawLine(QPointF(5, 5), QPointF(9, 9))
    painter.drawLine(QPointF(9, 5), QPointF(5, 9))


def _triangle(painter: QPainter) -> None:
    painter.drawPolygon(QPolygonF([QPointF(7, 1.5), QPointF(13, 12), QPointF(1, 12)]))
    painter.drawLine(QPointF(7, 5.5), QPointF(7, 8))
    painter.drawPoint(QPointF(7, 10))


_LINES = {
    RequestState.FINISHED: _tick,
    RequestState.LIMIT: _wall,
    RequestState.CANCELLED: _crossed_ring,
    RequestState.FAILED: _triangle,
}
