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
from PySide6.QtGui import QPainter, QPen, QPolygonF, QTransform

from app.gui.charts.style import POINT_RADIUS, Point, SeriesStyle

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


class MarkedLine:
    """A line, and marks over it where something happened: the second column says how often, and is
    NaN where it did not."""

    def __init__(self, line: SeriesStyle, mark: SeriesStyle, *, is_share: bool = False) -> None:
        self.styles = (line, mark)
        self.is_share = is_share
        self._line = Lines(line, is_share=is_share)
        self._column: Column = ()
        self._marked: dict[int, float] = {}

    def build(self, columns: Sequence[Column]) -> None:
        self._column, marks = columns
        self._line.build([self._column])
        self._marked = {}
        height = 0.0
        for index, (value, mark) in enumerate(zip(self._column, marks, strict=True)):
            height = height if math.isnan(value) else value  # where it is not known, as it was
            if mark > 0:
                self._marked[index] = height

    def highest(self) -> float:
        return self._line.highest()

    def heights(self, index: int) -> list[float]:
        return [self._column[index], self._marked.get(index, math.nan)]

    def paint(self, painter: QPainter, place: QTransform) -> None:
        """Of marks that would lie on each other only the first is painted."""
        self._line.paint(painter, place)
        _, style = self.styles
        width = 1 / max(1, len(self._column))
        last = -math.inf
        for index, height in self._marked.items():
            at = place.map(QPointF((index + 0.5) * width, height))
            if at.x() - last >= 2 * POINT_RADIUS:
                style.paint_point(painter, at - QPointF(0, 2 * POINT_RADIUS))
                last = at.x()


class Bars:
    """Bars laid on each other, the first series at the bottom. What was not measured has no
    height."""

    is_share = False

    def __init__(self, *styles: SeriesStyle) -> None:
        self.styles = styles
        self._tops: list[list[float]] = []

    def build(self, columns: Sequence[Column]) -> None:
        self._tops = []
        top = [0.0] * len(columns[0])
        for column in columns:
            top = [
                low + (0.0 if math.isnan(value) else value)
                for low, value in zip(top, column, strict=True)
            ]
            self._tops.append(top)

    def highest(self) -> float:
        return _highest(self._tops[-1:])

    def heights(self, index: int) -> list[float]:
        return [top[index] for top in self._tops]

    def paint(self, painter: QPainter, place: QTransform) -> None:
        """On whole pixels, and none smaller than can be seen: edges stay sharp and nothing
        vanishes."""
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        for index in range(len(self._tops[0])):
            below, ground = 0.0, math.inf
            for style, tops in zip(self.styles, self._tops, strict=True):
                if tops[index] > below:
                    bar = place.mapRect(self._bar(index, below, tops[index]))
                    ground = _paint_bar(painter, style, bar, ground)
                below = tops[index]
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)

    def _bar(self, index: int, bottom: float, top: float) -> QRectF:
        width = 1 / len(self._tops[0])
        return QRectF((index + 0.1) * width, bottom, 0.8 * width, top - bottom)


def _paint_bar(painter: QPainter, style: SeriesStyle, bar: QRectF, ground: float) -> float:
    """Above `ground`, the top of the bar below it. Returns this bar's top."""
    left, right = round(bar.left()), max(round(bar.right()), round(bar.left()) + 1)
    bottom = min(round(bar.bottom()), ground)
    top = min(round(bar.top()), bottom - 2)
    place = QRectF(left, top, right - left, bottom - top)
    style.paint_fill(painter, place)
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.setPen(QPen(style.pen().color(), 1.0))
    painter.drawRect(place.adjusted(0, 0, -1, -1))
    return top


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
