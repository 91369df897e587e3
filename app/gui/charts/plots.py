"""Shapes made of figures: stacked areas, lines, bars.

A plot builds its shapes once for new figures, in data space: x is the place of a figure among all
(its middle, 0 … 1), y the figure itself. Painting maps them to wherever the chart stands now.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Protocol

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QPainter, QPolygonF, QTransform

from app.gui.charts.style import Point, SeriesStyle

Column = Sequence[float]


class Plot(Protocol):
    """One kind of shape for one or more series. All columns are equally long."""

    @property
    def styles(self) -> tuple[SeriesStyle, ...]: ...

    @property
    def is_share(self) -> bool:
        """Whether figures are shares of 1, measured at the right edge."""

    def build(self, columns: Sequence[Column]) -> None:
        """One column for each style."""

    def highest(self) -> float:
        """Of what was built; 0 where there is nothing."""

    def heights(self, index: int) -> list[float]:
        """Where each series stands at a place; NaN where it does not."""

    def paint(self, painter: QPainter, place: QTransform) -> None: ...


class StackedArea:
    """Series laid on each other, the first at the bottom. Their figures come from the same moments:
    where one was not measured, none is shown."""

    is_share = False

    def __init__(self, *styles: SeriesStyle) -> None:
        self.styles = styles
        self._tops: list[list[float]] = []
        self._areas: list[list[QPolygonF]] = []
        self._edges: list[list[QPolygonF]] = []

    def build(self, columns: Sequence[Column]) -> None:
        self._tops = []
        top = [0.0] * len(columns[0])
        for column in columns:
            top = [low + value for low, value in zip(top, column, strict=True)]
            self._tops.append(top)
        self._areas = [[] for _ in columns]
        self._edges = [[] for _ in columns]
        for run in _runs(top):
            ground = [0.0] * len(top)
            below = _points(ground, [run[0], run[-1]])
            for layer, tops in enumerate(self._tops):
                above = _points(tops, _corners(tops, run))
                self._areas[layer].append(QPolygonF(above + below[::-1]))
                below = above
            for layer, (tops, column) in enumerate(zip(self._tops, columns, strict=True)):
                self._edges[layer] += [
                    QPolygonF(_points(tops, _corners(tops, part))) for part in _raised(column, run)
                ]

    def highest(self) -> float:
        return _highest(self._tops[-1:])

    def heights(self, index: int) -> list[float]:
        return [top[index] for top in self._tops]

    def paint(self, painter: QPainter, place: QTransform) -> None:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)  # edges will cover the rims
        for style, areas in zip(self.styles, self._areas, strict=True):
            for area in areas:
                style.paint_fill(painter, place.map(area))
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
        for style, edges in zip(self.styles, self._edges, strict=True):
            painter.setPen(style.pen())
            painter.setBrush(Qt.BrushStyle.NoBrush)
            for edge in edges:
                painter.drawPolyline(place.map(edge))


class Lines:
    """A line for each series.

    joined     whether a line goes on over places where nothing was measured
    is_share   see Plot
    """

    def __init__(self, *styles: SeriesStyle, joined: bool = False, is_share: bool = False) -> None:
        self.styles = styles
        self.is_share = is_share
        self._joined = joined
        self._columns: list[Column] = []
        self._lines: list[list[QPolygonF]] = []
        self._points: list[QPolygonF] = []

    def build(self, columns: Sequence[Column]) -> None:
        self._columns = list(columns)
        self._lines, self._points = [], []
        for style, column in zip(self.styles, columns, strict=True):
            runs = _runs(column)
            if self._joined and runs:
                runs = [[place for run in runs for place in run]]
            self._lines.append(
                [QPolygonF(_points(column, _corners(column, run))) for run in runs if len(run) > 1]
            )
            marked = [
                place
                for run in runs
                for place in run
                if style.point is not Point.NONE or len(run) == 1
            ]
            self._points.append(QPolygonF(_points(column, marked)))

    def highest(self) -> float:
        return 1.0 if self.is_share else _highest(self._columns)

    def heights(self, index: int) -> list[float]:
        return [column[index] for column in self._columns]

    def paint(self, painter: QPainter, place: QTransform) -> None:
        for style, lines in zip(self.styles, self._lines, strict=True):
            painter.setPen(style.pen())
            painter.setBrush(Qt.BrushStyle.NoBrush)
            for line in lines:
                painter.drawPolyline(place.map(line))
        for style, points in zip(self.styles, self._points, strict=True):
            for point in place.map(points).toList():
                style.paint_point(painter, point)


class Bars:
    """One bar for each figure that is not nothing."""

    is_share = False

    def __init__(self, style: SeriesStyle) -> None:
        self.styles = (style,)
        self._column: Column = ()
        self._bars: list[QRectF] = []

    def build(self, columns: Sequence[Column]) -> None:
        (self._column,) = columns
        width = 1 / len(self._column)
        self._bars = [
            QRectF((index + 0.1) * width, 0.0, 0.8 * width, value)
            for index, value in enumerate(self._column)
            if value > 0
        ]

    def highest(self) -> float:
        return max((bar.height() for bar in self._bars), default=0.0)

    def heights(self, index: int) -> list[float]:
        return [self._column[index]]

    def paint(self, painter: QPainter, place: QTransform) -> None:
        """On whole pixels, and never thinner than one: edges stay sharp and nothing vanishes."""
        (style,) = self.styles
        color = style.pen().color()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        for bar in self._bars:
            mapped = place.mapRect(bar)
            left, right = round(mapped.left()), max(round(mapped.right()), round(mapped.left()) + 1)
            bottom = round(mapped.bottom())
            top = min(round(mapped.top()), bottom - 2)
            painter.fillRect(left, top, right - left, bottom - top, color)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)


def _runs(column: Column) -> list[list[int]]:
    """The places of measured figures, cut where one was not measured."""
    runs: list[list[int]] = []
    going_on = False
    for index, value in enumerate(column):
        measured = not math.isnan(value)
        if measured and not going_on:
            runs.append([])
        if measured:
            runs[-1].append(index)
        going_on = measured
    return runs


def _raised(column: Column, run: Sequence[int]) -> list[list[int]]:
    """The parts of `run` in which a layer has a height, with the place on either side of it: a
    layer of no height draws no edge over the one below."""
    parts: list[list[int]] = []
    for before, here in itertools.pairwise(run):
        if column[before] > 0 or column[here] > 0:
            if not parts or parts[-1][-1] != before:
                parts.append([before])
            parts[-1].append(here)
    return parts


def _corners(column: Column, run: Sequence[int]) -> list[int]:
    """The places that a line through `run` needs: both ends, and where it changes its height.
    Most figures of a quiet house are equal to those beside them."""
    if len(run) < 3:
        return list(run)
    heights = [column[place] for place in run]
    inner = zip(run[1:], heights, heights[1:], heights[2:], strict=False)
    return [
        run[0],
        *(place for place, left, here, right in inner if not left == here == right),
        run[-1],
    ]


def _points(column: Column, places: Sequence[int]) -> list[QPointF]:
    width = 1 / len(column)
    return [QPointF((place + 0.5) * width, column[place]) for place in places]


def _highest(columns: Sequence[Column]) -> float:
    measured = [value for column in columns for value in column if not math.isnan(value)]
    return max(measured, default=0.0)
