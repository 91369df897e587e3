"""How a series looks: a colour, and a shape that tells it apart without the colour."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QBrush, QColor, QPainter, QPen, QPolygonF

from app.gui.theme import theme

LINE_WIDTH = 1.5
POINT_RADIUS = 2.75
SWATCH_WIDTH = 18
SWATCH_HEIGHT = 10


class Dash(enum.Enum):
    SOLID = "solid"
    DASHED = "dashed"
    NONE = "none"  # points alone


class Fill(enum.Enum):
    """NONE is a line; BARE is an area with nothing in it."""

    NONE = "none"
    BARE = "bare"
    PLAIN = "plain"
    SOLID = "solid"
    HATCHED = "hatched"


class Point(enum.Enum):
    NONE = "none"
    CIRCLE = "circle"
    DIAMOND = "diamond"
    TRIANGLE = "triangle"  # points down, at what it marks


@dataclass(frozen=True, slots=True)
class SeriesStyle:
    """One series. `name` is translated; `words` says a figure of it with its unit; `token` is a
    colour of the theme."""

    name: str
    token: str
    words: Callable[[float], str]
    dash: Dash = Dash.SOLID
    fill: Fill = Fill.NONE
    point: Point = Point.NONE

    def pen(self) -> QPen:
        pen = QPen(theme.color(self.token), LINE_WIDTH)
        pen.setCosmetic(True)
        pen.setJoinStyle(Qt.PenJoinStyle.BevelJoin)
        if self.dash is Dash.NONE:
            pen.setStyle(Qt.PenStyle.NoPen)
        elif self.dash is Dash.DASHED:
            pen.setDashPattern([4.0, 3.0])
            pen.setCapStyle(Qt.PenCapStyle.FlatCap)
        return pen

    def paint_fill(self, painter: QPainter, shape: QPolygonF | QRectF) -> None:
        """The inside of an area, a bar or a swatch."""
        if self.fill in (Fill.NONE, Fill.BARE):
            return
        color = theme.color(self.token)
        _fill(painter, shape, QBrush(_with_alpha(color, _ALPHA[self.fill])))
        if self.fill is Fill.HATCHED:
            _fill(painter, shape, QBrush(_with_alpha(color, 0.55), Qt.BrushStyle.BDiagPattern))

    def paint_point(self, painter: QPainter, at: QPointF, radius: float = POINT_RADIUS) -> None:
        """A measured figure: filled, with a rim of the ground, so that it stands out on lines."""
        painter.setPen(QPen(theme.color("card"), 1.0))
        painter.setBrush(theme.color(self.token))
        corners = _CORNERS.get(self.point)
        if corners is None:
            painter.drawEllipse(at, radius, radius)
        else:
            painter.drawPolygon(QPolygonF([at + QPointF(x, y) * radius for x, y in corners]))

    def paint_swatch(self, painter: QPainter, rect: QRectF) -> None:
        """The series in small, as legends show it."""
        painter.save()
        if self.fill is not Fill.NONE:
            self.paint_fill(painter, rect)
            painter.setPen(self.pen())
            if self.fill is Fill.BARE:
                painter.setBrush(Qt.BrushStyle.NoBrush)
                painter.drawRect(rect.adjusted(0.5, 0.5, -0.5, -0.5))
            else:
                painter.drawLine(rect.topLeft(), rect.topRight())
        else:
            painter.setPen(self.pen())
            middle = rect.center().y()
            painter.drawLine(QPointF(rect.left(), middle), QPointF(rect.right(), middle))
            if self.point is not Point.NONE:
                self.paint_point(painter, rect.center(), 3.5)
        painter.restore()


_CORNERS = {  # in radii
    Point.DIAMOND: ((0, -1.35), (1.35, 0), (0, 1.35), (-1.35, 0)),
    Point.TRIANGLE: ((-1.35, -1.05), (1.35, -1.05), (0, 1.35)),
}
_ALPHA = {Fill.PLAIN: 0.34, Fill.SOLID: 0.9, Fill.HATCHED: 0.16}


def _fill(painter: QPainter, shape: QPolygonF | QRectF, brush: QBrush) -> None:
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(brush)
    if isinstance(shape, QRectF):
        painter.drawRect(shape)
    else:
        painter.drawPolygon(shape)


def _with_alpha(color: QColor, alpha: float) -> QColor:
    color.setAlphaF(alpha)
    return color
