"""The widget: plots over a time axis, with values under the pointer and for the keyboard."""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Sequence

from PySide6.QtCore import QElapsedTimer, QEvent, QPointF, QSize, QSizeF, Qt, QTimer
from PySide6.QtGui import (
    QAccessible,
    QAccessibleAnnouncementEvent,
    QFocusEvent,
    QFontMetricsF,
    QHideEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QPixmap,
    QResizeEvent,
)
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.gui.charts.axes import Axes, TimeAxis, lay_out
from app.gui.charts.crosshair import Reading, paint_crosshair
from app.gui.charts.plots import Plot
from app.gui.charts.series import extent
from app.gui.charts.style import SeriesStyle
from app.gui.theme import axis_font, theme

LEAST_INTERVAL_MS = 250

Words = Callable[[float], str]


class Chart(QWidget):
    """Paints its figures when it can be seen, new ones at most four times a second.

    name           what the chart shows, translated; also its accessible name
    words          says a tick of the left edge
    share_words    says a tick of the right edge, where a plot shows shares
    smallest_step  no two ticks of the left edge lie closer: 1 for what is counted
    empty_words    what stands there while no figure is above 0

    Left and right move the crosshair, Home and End go to the first and last figure, Escape takes
    it away. A screen reader hears the figures at the crosshair, else latest, lowest and highest.
    """

    def __init__(
        self,
        name: str,
        plots: Sequence[Plot],
        words: Words,
        *,
        share_words: Words | None = None,
        smallest_step: float = 0.0,
        empty_words: str = "",
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._plots = tuple(plots)
        self._words = words
        self._share_words = share_words
        self._smallest_step = smallest_step
        self._empty_words = empty_words or self.tr("Nothing yet")
        self._columns: list[Sequence[float]] = [array("d") for _ in self.styles]
        self._times = TimeAxis((), str)
        self._axes: Axes | None = None
        self._still: QPixmap | None = None
        self._drawn: QPixmap | None = None
        self._stale = False
        self._index: int | None = None
        self._since_paint = QElapsedTimer()
        self._later = QTimer(self)
        self._later.setSingleShot(True)
        self._later.timeout.connect(self.update)

        self.setAccessibleName(name)
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        theme.changed.connect(self._forget_look)
        self._describe()

    @property
    def styles(self) -> tuple[SeriesStyle, ...]:
        return tuple(style for plot in self._plots for style in plot.styles)

    @property
    def is_empty(self) -> bool:
        """Whether no figure is above 0."""
        return not any(value > 0 for column in self._columns for value in column)

    def set_columns(self, columns: Sequence[Sequence[float]], times: TimeAxis) -> None:
        """Show these figures, one column for each series, all equally long. The chart keeps them
        and changes nothing."""
        self._columns = list(columns)
        if times.labels != self._times.labels:
            self._still = None
        self._times = times
        self._stale = True
        if self._index is not None:
            self._index = self._nearest(min(self._index, self._count - 1))
        self._describe()
        if self.isVisible():
            self._paint_soon()

    # Crosshair

    @property
    def index(self) -> int | None:
        """The place of the crosshair."""
        return self._index

    def move_to(self, index: int | None) -> None:
        """Put the crosshair to the measured place nearest to `index`, or take it away."""
        index = None if index is None else self._nearest(index)
        if index == self._index:
            return
        self._index = index
        self._describe()
        self.update()

    def words_at(self, index: int) -> str:
        """The figures of a place, for a screen reader."""
        figures = [
            self.tr("{series}: {value}").format(series=style.name, value=style.words(column[index]))
            for style, column in zip(self.styles, self._columns, strict=True)
            if not math.isnan(column[index])
        ]
        return ", ".join([self._times.moment(index), *figures])

    def summary(self) -> str:
        """Latest, lowest and highest figure of each series, for a screen reader."""
        lines = []
        for style, column in zip(self.styles, self._columns, strict=True):
            known = extent(column)
            if known is not None:
                lines.append(
                    self.tr(
                        "{series}: latest {latest}, lowest {lowest}, highest {highest}."
                    ).format(
                        series=style.name,
                        latest=style.words(known.latest),
                        lowest=style.words(known.lowest),
                        highest=style.words(known.highest),
                    )
                )
        return self._empty_words if self.is_empty else " ".join(lines)

    @property
    def _count(self) -> int:
        return len(self._columns[0])

    def _measured(self, index: int) -> bool:
        return any(not math.isnan(column[index]) for column in self._columns)

    def _nearest(self, index: int) -> int | None:
        index = min(max(index, 0), self._count - 1)
        for distance in range(self._count):
            for place in (index + distance, index - distance):
                if 0 <= place < self._count and self._measured(place):
                    return place
        return None

    def _next(self, step: int) -> int | None:
        """The next measured place in a direction; where there is none, the present one."""
        if self._index is None:
            return self._nearest(self._count - 1)
        place = self._index + step
        while 0 <= place < self._count:
            if self._measured(place):
                return place
            place += step
        return self._index

    def _describe(self) -> None:
        at = self._index
        self.setAccessibleDescription(self.summary() if at is None else self.words_at(at))

    def _say(self) -> None:
        if self._index is not None and QAccessible.isActive():
            words = self.words_at(self._index)
            QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self, words))

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        axes = self._laid_out()
        if self._count:
            share = (event.position().x() - axes.plot.left()) / axes.plot.width()
            self.move_to(math.floor(share * self._count))

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        if not self.hasFocus():
            self.move_to(None)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        match event.key():
            case Qt.Key.Key_Left:
                self.move_to(self._next(-1))
            case Qt.Key.Key_Right:
                self.move_to(self._next(1))
            case Qt.Key.Key_Home:
                self.move_to(0)
            case Qt.Key.Key_End:
                self.move_to(self._count - 1)
            case Qt.Key.Key_Escape if self._index is not None:
                self.move_to(None)
            case _:
                super().keyPressEvent(event)
                return
        self._say()

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.move_to(None)
        self.update()

    # Painting

    def minimumSizeHint(self) -> QSize:
        return QSize(160, 56)

    def sizeHint(self) -> QSize:
        return QSize(320, 72)

    def _paint_soon(self) -> None:
        """Now, unless that was just now."""
        if not self._since_paint.isValid() or self._since_paint.hasExpired(LEAST_INTERVAL_MS):
            self.update()
        elif not self._later.isActive():
            self._later.start(LEAST_INTERVAL_MS - self._since_paint.elapsed())

    def _forget_look(self) -> None:
        self._axes = self._still = self._drawn = None
        self.update()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._forget_look()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.LocaleChange):
            self._forget_look()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._later.stop()

    def paintEvent(self, event: QPaintEvent) -> None:
        drawing = self._drawing()
        painter = QPainter(self)
        painter.drawPixmap(0, 0, drawing)
        if self._index is not None:
            self._paint_crosshair(painter, self._index)
        if self.hasFocus():
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(QPen(theme.color("accent"), 2.0))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(self.rect().toRectF().adjusted(1, 1, -1, -1), 6, 6)
        painter.end()

    def _drawing(self) -> QPixmap:
        """Everything but the crosshair. Shapes are built anew only for new figures."""
        if self._stale:
            self._stale = False
            self._build()
            self._drawn = None
        if self._drawn is None or self._drawn.devicePixelRatio() != self.devicePixelRatioF():
            self._drawn = self._draw()
            self._since_paint.start()
        return self._drawn

    def _build(self) -> None:
        columns = iter(self._columns)
        for plot in self._plots:
            plot.build([next(columns) for _ in plot.styles])
        before, self._axes = self._axes, None
        if before != self._laid_out():
            self._still = None

    def _laid_out(self) -> Axes:
        if self._axes is None:
            figures = [plot.highest() for plot in self._plots if not plot.is_share]
            self._axes = lay_out(
                QSizeF(self.size()),
                QFontMetricsF(axis_font(self.font())),
                max(figures, default=0.0),
                self._words,
                self._times.labels,
                smallest_step=self._smallest_step,
                share_words=self._share_words,
            )
        return self._axes

    def _draw(self) -> QPixmap:
        axes = self._laid_out()
        if self._still is None or self._still.devicePixelRatio() != self.devicePixelRatioF():
            self._still = self._new_pixmap()
            with QPainter(self._still) as painter:
                painter.setFont(axis_font(self.font()))
                axes.paint(painter)
        drawn = QPixmap(self._still)
        with QPainter(drawn) as painter:
            if self.is_empty:
                painter.setPen(theme.color("secondary"))
                painter.drawText(axes.plot, Qt.AlignmentFlag.AlignCenter, self._empty_words)
                return drawn
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            for plot in self._plots:
                plot.paint(painter, axes.place_shares if plot.is_share else axes.place)
        return drawn

    def _new_pixmap(self) -> QPixmap:
        ratio = self.devicePixelRatioF()
        pixmap = QPixmap(self.size() * ratio)
        pixmap.setDevicePixelRatio(ratio)
        return pixmap

    def _paint_crosshair(self, painter: QPainter, index: int) -> None:
        axes = self._laid_out()
        middle = (index + 0.5) / self._count
        readings = []
        columns = iter(self._columns)
        for plot in self._plots:
            place = axes.place_shares if plot.is_share else axes.place
            for style, height in zip(plot.styles, plot.heights(index), strict=True):
                value = next(columns)[index]
                readings.append(Reading(style, value, place.map(QPointF(middle, height))))
        painter.setFont(axis_font(self.font()))
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        x = axes.place.map(QPointF(middle, 0)).x()
        paint_crosshair(painter, axes.plot, x, self._times.moment(index), readings)
