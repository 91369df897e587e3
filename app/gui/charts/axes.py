"""The still part of a chart: where its plot stands, grid lines and the words along the edges."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, QSizeF, Qt
from PySide6.QtGui import QFontMetricsF, QPainter, QPen, QTransform

from app.gui.charts.scale import ticks
from app.gui.theme import SPACE, theme


@dataclass(frozen=True, slots=True)
class TimeAxis:
    """What the places of a chart mean in time.

    labels   (where, what): `where` from 0 at the left to 1 at the right edge
    moment   says the time of a place, for hover values and screen readers
    """

    labels: tuple[tuple[float, str], ...]
    moment: Callable[[int], str]


@dataclass(frozen=True, slots=True)
class Axes:
    """A chart's edges for one size and one scale."""

    plot: QRectF
    ticks: tuple[float, ...]
    labels: tuple[str, ...]
    share_labels: tuple[str, ...]
    times: tuple[tuple[float, str], ...]

    @property
    def place(self) -> QTransform:
        """From data space (see plots) to the widget."""
        return self._place(self.ticks[-1])

    @property
    def place_shares(self) -> QTransform:
        return self._place(1.0)

    def _place(self, top: float) -> QTransform:
        to_plot = QTransform()
        to_plot.translate(self.plot.left(), self.plot.bottom())
        to_plot.scale(self.plot.width(), -self.plot.height() / top)
        return to_plot

    def paint(self, painter: QPainter) -> None:
        painter.fillRect(painter.viewport(), theme.color("card"))
        metrics = QFontMetricsF(painter.font())
        grid = QPen(theme.color("grid"), 1.0)
        for tick, label in zip(self.ticks, self.labels, strict=True):
            # Half a pixel down: a line of one pixel then covers exactly one.
            y = round(self.plot.bottom() - self.plot.height() * tick / self.ticks[-1]) + 0.5
            painter.setPen(grid if tick else QPen(theme.color("border"), 1.0))
            painter.drawLine(
                QRectF(self.plot.left(), y, self.plot.width(), 0).topLeft(),
                QRectF(self.plot.left(), y, self.plot.width(), 0).topRight(),
            )
            self._paint_beside(painter, metrics, label, y, left=True)
        for share, label in zip((0.0, 0.5, 1.0), self.share_labels, strict=False):
            y = self.plot.bottom() - self.plot.height() * share
            self._paint_beside(painter, metrics, label, y, left=False)
        self._paint_times(painter, metrics)

    def _paint_beside(
        self, painter: QPainter, metrics: QFontMetricsF, label: str, y: float, *, left: bool
    ) -> None:
        painter.setPen(theme.color("secondary"))
        height = metrics.height()
        if left:
            area = QRectF(0, y - height / 2, self.plot.left() - SPACE, height)
            painter.drawText(
                area, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, label
            )
        else:
            area = QRectF(self.plot.right() + SPACE, y - height / 2, 100, height)
            painter.drawText(
                area, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, label
            )

    def _paint_times(self, painter: QPainter, metrics: QFontMetricsF) -> None:
        painter.setPen(theme.color("secondary"))
        top = self.plot.bottom() + SPACE / 2
        for left, _, label in self.placed_times(metrics):
            # By the baseline: the taller letters of a fallback font would be cut off in a box.
            painter.drawText(QPointF(left, top + metrics.ascent()), label)

    def placed_times(self, metrics: QFontMetricsF) -> list[tuple[float, float, str]]:
        """Left edge, width and words of every label, or of every second, third … so that they stay
        apart. The last one is always there."""
        placed: list[tuple[float, float, str]] = []
        for stride in range(1, len(self.times) + 1):
            placed = []
            for where, label in self.times[::-1][::stride][::-1]:
                width = metrics.horizontalAdvance(label)
                wanted = self.plot.left() + where * self.plot.width() - width / 2
                left = min(max(wanted, self.plot.left()), self.plot.right() - width)
                placed.append((left, width, label))
            if all(
                here[0] + here[1] + 2 * SPACE <= after[0]
                for here, after in itertools.pairwise(placed)
            ):
                break
        return placed


def lay_out(
    size: QSizeF,
    metrics: QFontMetricsF,
    highest: float,
    words: Callable[[float], str],
    times: tuple[tuple[float, str], ...],
    *,
    smallest_step: float = 0.0,
    share_words: Callable[[float], str] | None = None,
) -> Axes:
    """Edges that give every label its room.

    words         says a tick of the left edge; `share_words` one of the right, if there is one
    """
    steps = 3 if size.height() > 110 else 2
    scale = ticks(highest, steps, smallest_step)
    labels = tuple(words(tick) for tick in scale)
    shares = tuple(share_words(share) for share in (0.0, 0.5, 1.0)) if share_words else ()
    # Room for four digits even where there are fewer: charts above each other stay in line.
    left = max(metrics.horizontalAdvance(label) for label in (*labels, "0,000")) + SPACE
    right = max((metrics.horizontalAdvance(label) + SPACE for label in shares), default=1.0)
    top = metrics.height() / 2
    bottom = metrics.height() + SPACE / 2 if times else metrics.height() / 2
    plot = QRectF(left, top, size.width() - left - right, size.height() - top - bottom)
    return Axes(plot.toAlignedRect().toRectF(), scale, labels, shares, times)
