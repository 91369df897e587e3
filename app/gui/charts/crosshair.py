"""The figures at one moment of a chart: a line through it, and a small card beside the line."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QFontMetricsF, QPainter, QPen

from app.gui.charts.style import SWATCH_HEIGHT, SWATCH_WIDTH, Dash, SeriesStyle
from app.gui.theme import SPACE, theme


@dataclass(frozen=True, slots=True)
class Reading:
    """One series at the moment: its figure, and where it stands in the widget."""

    style: SeriesStyle
    value: float
    at: QPointF

    @property
    def is_measured(self) -> bool:
        return not math.isnan(self.value)

    @property
    def words(self) -> str:
        return self.style.words(self.value)


def paint_crosshair(
    painter: QPainter, plot: QRectF, x: float, moment: str, readings: Sequence[Reading]
) -> None:
    """`x` is where the moment stands; readings without a figure are left out."""
    measured = [reading for reading in readings if reading.is_measured]
    painter.setPen(QPen(theme.color("secondary"), 1.0))
    middle = math.floor(x) + 0.5
    painter.drawLine(QPointF(middle, plot.top()), QPointF(middle, plot.bottom()))
    for reading in measured:
        if reading.style.dash is Dash.NONE:
            continue  # it is there as a mark
        reading.style.paint_point(painter, reading.at, 4.0)
    _paint_card(painter, plot, x, moment, measured)


def _paint_card(
    painter: QPainter, plot: QRectF, x: float, moment: str, readings: Sequence[Reading]
) -> None:
    metrics = QFontMetricsF(painter.font())
    room = painter.viewport().height()
    # Closer together in a low chart, so that the last reading is not cut off.
    line = min(metrics.height() + SPACE / 2, (room - 1.5 * SPACE) / (1 + len(readings)))
    names = max((metrics.horizontalAdvance(r.style.name) for r in readings), default=0.0)
    values = max((metrics.horizontalAdvance(r.words) for r in readings), default=0.0)
    rows = SWATCH_WIDTH + SPACE + names + 2 * SPACE + values if readings else 0.0
    width = max(rows, metrics.horizontalAdvance(moment)) + 2 * SPACE
    height = (1 + len(readings)) * line + 1.5 * SPACE
    card = QRectF(_beside(plot, x, width), min(plot.top(), room - height), width, height)

    ground = theme.color("field")
    ground.setAlphaF(0.96)
    painter.setPen(QPen(theme.color("border"), 1.0))
    painter.setBrush(ground)
    painter.drawRoundedRect(card.adjusted(0.5, 0.5, -0.5, -0.5), SPACE * 0.75, SPACE * 0.75)

    inside = card.adjusted(SPACE, SPACE * 0.75, -SPACE, -SPACE * 0.75)
    row = QRectF(inside.left(), inside.top(), inside.width(), line)
    painter.setPen(theme.color("secondary"))
    painter.drawText(row, Qt.AlignmentFlag.AlignVCenter, moment)
    for reading in readings:
        row.translate(0, line)
        swatch = QRectF(
            row.left(), row.center().y() - SWATCH_HEIGHT / 2, SWATCH_WIDTH, SWATCH_HEIGHT
        )
        reading.style.paint_swatch(painter, swatch)
        painter.setPen(theme.color("text"))
        text = row.adjusted(SWATCH_WIDTH + SPACE, 0, 0, 0)
        painter.drawText(text, Qt.AlignmentFlag.AlignVCenter, reading.style.name)
        painter.drawText(
            text, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight, reading.words
        )


def _beside(plot: QRectF, x: float, width: float) -> float:
    """Right of the line where there is room, else left of it, and never outside the widget."""
    right = x + 1.5 * SPACE
    if right + width <= plot.right():
        return right
    return max(0.0, x - 1.5 * SPACE - width)
