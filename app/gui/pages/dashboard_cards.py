"""The dashboard's charts, each in a card with its name, its one figure and its legend."""

from __future__ import annotations

import itertools

from PySide6.QtCore import QCoreApplication
from PySide6.QtWidgets import QBoxLayout, QFrame, QHBoxLayout, QLabel, QVBoxLayout, QWidget

from app.gui import text
from app.gui.charts.chart import Chart
from app.gui.charts.legend import Legend
from app.gui.charts.plots import Bars, Lines, MarkedLine, StackedArea
from app.gui.charts.style import Dash, Fill, Point, SeriesStyle
from app.gui.pages.dashboard_curves import MIB, Curves, measured_sum, where_any
from app.gui.pages.dashboard_words import why_it_fell
from app.gui.theme import SPACE, axis_font, strong_font

_CHART_HEIGHT = 96
_SMALL_CHART_HEIGHT = 72

translate = QCoreApplication.translate


class Card(QFrame):
    """A name at the left, a figure at the right, a caption below, then the content."""

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("role", "card")
        title = QLabel(name)
        title.setFont(strong_font(self.font()))
        self._figure = QLabel()
        self._figure.setFont(strong_font(self.font()))
        self._caption = QLabel()
        self._caption.setFont(axis_font(self.font()))
        self._caption.setProperty("role", "secondary")
        heading = QHBoxLayout()
        heading.addWidget(title, 1)
        heading.addWidget(self._figure)
        names = QVBoxLayout()
        names.setSpacing(SPACE // 4)
        names.addLayout(heading)
        names.addWidget(self._caption)
        self._content = QVBoxLayout(self)
        self._content.setContentsMargins(2 * SPACE, 14, 2 * SPACE, 12)
        self._content.setSpacing(SPACE)
        self._content.addLayout(names)

    @property
    def figure(self) -> str:
        return self._figure.text()

    def say(self, figure: str, caption: str) -> None:
        if figure != self._figure.text():
            self._figure.setText(figure)
        if caption != self._caption.text():
            self._caption.setText(caption)

    def add(self, widget: QWidget, stretch: int = 0) -> None:
        self._content.addWidget(widget, stretch)


class TokensCard(Card):
    """Reused against computed prompt tokens, and the hit rate."""

    def __init__(self) -> None:
        super().__init__(translate("dashboard", "Prompt tokens"))
        self._per_second = True
        reused = SeriesStyle(
            translate("dashboard", "Reused"), "reused", self._tokens, fill=Fill.PLAIN
        )
        computed = SeriesStyle(
            translate("dashboard", "Computed"), "computed", self._tokens, fill=Fill.HATCHED
        )
        rate = SeriesStyle(translate("dashboard", "Hit rate"), "secondary", text.percent)
        made_way = SeriesStyle(
            translate("dashboard", "Made way"),
            "warning",
            _requests,
            dash=Dash.NONE,
            point=Point.TRIANGLE,
        )
        self.chart = Chart(
            translate("dashboard", "Prompt tokens"),
            [StackedArea(reused, computed), MarkedLine(rate, made_way, is_share=True)],
            _axis_number,
            share_words=text.percent,
        )
        self.chart.setMinimumHeight(_CHART_HEIGHT)
        self.legend = Legend(())
        self.legend.setToolTip(
            translate(
                "dashboard",
                "Reused: prompt tokens that were warm. Hit rate: their share of all. Made way:"
                " memory ran short, so a request had to stop and went on later from what was kept"
                " of it.",
            )
        )
        self.why = QLabel()
        self.why.setFont(axis_font(self.font()))
        self.why.setProperty("role", "secondary")
        self.why.setWordWrap(True)
        self.add(self.legend)
        self.add(self.chart, 1)
        self.add(self.why)

    def show_curves(self, curves: Curves) -> None:
        self._per_second = curves.token_span_s == 1
        rate = curves.overall_hit_rate
        words = translate("dashboard", "{share} reused")
        caption = (
            translate("dashboard", "Per second, averaged over 10 seconds")
            if self._per_second
            else translate("dashboard", "In 15 minutes")
        )
        self.say("" if rate is None else words.format(share=text.percent(rate)), caption)
        self.chart.set_columns(
            [curves.reused, curves.computed, curves.hit_rate, curves.made_way], curves.times
        )
        num_named = 4 if measured_sum(curves.made_way) else 3
        self.legend.show_styles(self.chart.styles[:num_named])
        words = why_it_fell(curves)
        self.why.setText(words)
        self.why.setVisible(bool(words))

    def _tokens(self, number: float) -> str:
        words = (
            translate("dashboard", "{number} tokens/s")
            if self._per_second
            else translate("dashboard", "{number} tokens")
        )
        return words.format(number=_axis_number(number))


class TtftCard(Card):
    """Time to first token, cold against warm."""

    def __init__(self) -> None:
        super().__init__(translate("dashboard", "Time to first token"))
        cold = SeriesStyle(
            translate("dashboard", "Cold"), "computed", text.duration, point=Point.CIRCLE
        )
        warm = SeriesStyle(
            translate("dashboard", "Warm"), "reused", text.duration, point=Point.DIAMOND
        )
        self.chart = Chart(
            translate("dashboard", "Time to first token"),
            [Lines(cold, warm, joined=True)],
            _axis_seconds,
        )
        self.chart.setMinimumHeight(_CHART_HEIGHT)
        self.add(Legend(self.chart.styles))
        self.add(self.chart, 1)

    def show_curves(self, curves: Curves) -> None:
        sooner = curves.times_sooner
        words = translate("dashboard", "{number}× sooner when warm")
        figure = words.format(number=_axis_number(sooner)) if sooner and sooner >= 1 else ""
        self.say(figure, translate("dashboard", "From a request to the first word of its answer"))
        self.chart.set_columns([curves.cold, curves.warm], curves.times)


class SpeedCard(Card):
    """Prefill and decode: the one is many times faster, so each has a scale of its own."""

    def __init__(self) -> None:
        super().__init__(translate("dashboard", "Speed"))
        self._halves = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        self._content.addLayout(self._halves, 1)
        self.prefill = _speed_chart(translate("dashboard", "Prefill"), "third", Point.CIRCLE)
        self.decode = _speed_chart(translate("dashboard", "Decode"), "fourth", Point.DIAMOND)
        for chart in (self.prefill, self.decode):
            chart.setMinimumHeight(_SMALL_CHART_HEIGHT)
            half = QVBoxLayout()
            half.setSpacing(SPACE)
            half.addWidget(Legend(chart.styles))
            half.addWidget(chart, 1)
            self._halves.addLayout(half, 1)

    def arrange(self, *, wide: bool) -> None:
        """Beside each other, or prefill above decode."""
        beside, above = QBoxLayout.Direction.LeftToRight, QBoxLayout.Direction.TopToBottom
        self._halves.setDirection(beside if wide else above)
        # Two margins and the gap of the cards above, so that the charts stand in line with theirs.
        self._halves.setSpacing(6 * SPACE if wide else SPACE)

    def show_curves(self, curves: Curves) -> None:
        self.say("", translate("dashboard", "Tokens per second while a request is worked on"))
        self.prefill.set_columns([curves.prefill], curves.times)
        self.decode.set_columns([curves.decode], curves.times)


class EvictionsCard(Card):
    """What was given up, by reason. Where a reason did not come up it is not spoken of."""

    def __init__(self) -> None:
        super().__init__(translate("dashboard", "Evictions"))
        styles = (
            SeriesStyle(
                translate("dashboard", "Room for answers"), "fourth", _mebibytes, fill=Fill.SOLID
            ),
            SeriesStyle(
                translate("dashboard", "A client’s share"),
                "computed",
                _mebibytes,
                fill=Fill.HATCHED,
            ),
            SeriesStyle(
                translate("dashboard", "Model checkpoints"), "third", _mebibytes, fill=Fill.PLAIN
            ),
            SeriesStyle(
                translate("dashboard", "Memory pressure"), "secondary", _mebibytes, fill=Fill.BARE
            ),
        )
        self.chart = Chart(
            translate("dashboard", "Evictions"),
            [Bars(*styles)],
            _axis_number,
            smallest_step=1,
            empty_words=translate("dashboard", "Nothing was evicted"),
        )
        self.chart.setMinimumHeight(_CHART_HEIGHT)
        self.legend = Legend(())
        self.legend.setToolTip(
            translate(
                "dashboard",
                "Room for answers: running requests needed it. A client’s share: one client kept"
                " more than its due. Model checkpoints: the model’s states had more than their"
                " share. Memory pressure: the machine was short of memory.",
            )
        )
        self.add(self.legend)
        self.add(self.chart, 1)

    def show_curves(self, curves: Curves) -> None:
        given_up = curves.evicted_bytes
        span = text.duration(curves.eviction_span_s)
        caption = translate("dashboard", "MiB of computed prompts given up, in {time}")
        if curves.eviction_span_s >= 60:
            caption = translate("dashboard", "MiB of computed prompts given up, in 15 minutes")
        self.say(text.size(given_up) if given_up else "", caption.format(time=span))
        columns = curves.evicted.by_reason
        came_up = [measured_sum(column) > 0 for column in columns]
        named = itertools.compress(self.chart.styles, came_up)
        self.legend.show_styles(tuple(named))
        first, *others = columns
        self.chart.set_columns(
            [first, *(where_any(column) for column in others)], curves.eviction_times
        )


def _speed_chart(name: str, token: str, point: Point) -> Chart:
    style = SeriesStyle(name, token, _speed, point=point)
    return Chart(name, [Lines(style, joined=True)], _axis_number)


def _axis_number(number: float) -> str:
    return (
        text.count(round(number))
        if number >= 10 or number == round(number)
        else text.decimal(number)
    )


def _axis_seconds(seconds: float) -> str:
    if not seconds:
        return "0"
    if seconds < 1:
        return text.duration(seconds)
    return translate("text", "{number} s").format(number=_axis_number(seconds))


def _speed(number: float) -> str:
    return translate("dashboard", "{number} tokens/s").format(number=text.rate(number))


def _requests(number: float) -> str:
    if round(number) == 1:
        return translate("dashboard", "one request")
    return translate("dashboard", "{number} requests").format(number=text.count(round(number)))


def _mebibytes(number: float) -> str:
    return text.size(round(number * MIB))
