"""The dashboard's charts, each in a card with its name, its one figure and its legend."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import QCoreApplication
from PySide6.QtWidgets import QFrame, QGridLayout, QHBoxLayout, QLabel, QVBoxLayout, QWidget

from app.gui import text
from app.gui.charts.chart import Chart
from app.gui.charts.legend import Legend
from app.gui.charts.memory_bar import MemoryBar, Share
from app.gui.charts.plots import Bars, Lines, StackedArea
from app.gui.charts.style import Fill, Point, SeriesStyle
from app.gui.pages.dashboard_curves import Curves
from app.gui.theme import SPACE, axis_font, strong_font
from engine.snapshot import Memory

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
        self.chart = Chart(
            translate("dashboard", "Prompt tokens"),
            [StackedArea(reused, computed), Lines(rate, is_share=True)],
            _axis_number,
            share_words=text.percent,
        )
        self.chart.setMinimumHeight(_CHART_HEIGHT)
        self.add(Legend(self.chart.styles))
        self.add(self.chart, 1)

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
        self.chart.set_columns([curves.reused, curves.computed, curves.hit_rate], curves.times)

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
    """Prefill above decode: the one is many times faster, so each has a scale of its own."""

    def __init__(self) -> None:
        super().__init__(translate("dashboard", "Speed"))
        self.prefill = _speed_chart(translate("dashboard", "Prefill"), "third", Point.CIRCLE)
        self.decode = _speed_chart(translate("dashboard", "Decode"), "fourth", Point.DIAMOND)
        for chart in (self.prefill, self.decode):
            chart.setMinimumHeight(_SMALL_CHART_HEIGHT)
            self.add(Legend(chart.styles))
            self.add(chart, 1)

    def show_curves(self, curves: Curves) -> None:
        self.say("", translate("dashboard", "Tokens per second while a request is worked on"))
        self.prefill.set_columns([curves.prefill], replace(curves.times, labels=()))
        self.decode.set_columns([curves.decode], curves.times)


class EvictionsCard(Card):
    """Pages given up for want of room."""

    def __init__(self) -> None:
        super().__init__(translate("dashboard", "Evictions"))
        pages = SeriesStyle(translate("dashboard", "Evicted"), "fourth", _pages, fill=Fill.PLAIN)
        self.chart = Chart(
            translate("dashboard", "Evictions"),
            [Bars(pages)],
            lambda number: text.count(round(number)),
            smallest_step=1,
            empty_words=translate("dashboard", "Nothing was evicted"),
        )
        self.chart.setMinimumHeight(_SMALL_CHART_HEIGHT)
        self.add(self.chart, 1)

    def show_curves(self, curves: Curves) -> None:
        number = curves.num_evicted
        span = text.duration(curves.eviction_span_s)
        caption = translate("dashboard", "Pages that made room for others, in {time}")
        if curves.eviction_span_s >= 60:
            caption = translate("dashboard", "Pages that made room for others, in 15 minutes")
        self.say(_pages(number) if number else "", caption.format(time=span))
        self.chart.set_columns([curves.evicted], curves.eviction_times)


class MemoryCard(Card):
    """The budget of KV, and who has how much of it."""

    def __init__(self) -> None:
        super().__init__(translate("dashboard", "Memory"))
        self._styles = (
            SeriesStyle(translate("dashboard", "Pinned"), "reused", _bytes, fill=Fill.SOLID),
            SeriesStyle(translate("dashboard", "Resident"), "reused", _bytes, fill=Fill.PLAIN),
            SeriesStyle(translate("dashboard", "Running"), "third", _bytes, fill=Fill.HATCHED),
            SeriesStyle(translate("dashboard", "Free"), "border", _bytes, fill=Fill.BARE),
        )
        self.bar = MemoryBar(translate("dashboard", "Memory"))
        self._words = [QLabel() for _ in self._styles]
        legend = QGridLayout()
        legend.setHorizontalSpacing(3 * SPACE)
        legend.setVerticalSpacing(SPACE // 4)
        for number, (style, words) in enumerate(zip(self._styles, self._words, strict=True)):
            words.setFont(axis_font(self.font()))
            words.setProperty("role", "secondary")
            pair = QHBoxLayout()
            pair.setSpacing(6)
            pair.addWidget(Legend((style,), named=False))
            pair.addWidget(words)
            pair.addStretch(1)
            legend.addLayout(pair, number // 2, number % 2)
        self.add(self.bar)
        self._content.addLayout(legend)

    def show_memory(self, memory: Memory) -> None:
        others = memory.resident - memory.pinned
        amounts = (memory.pinned, others, memory.running, max(0, memory.free))
        for style, words, amount in zip(self._styles, self._words, amounts, strict=True):
            line = translate("dashboard", "{name} {size}")
            words.setText(line.format(name=style.name, size=text.size(amount)))
        used = translate("dashboard", "{used} of {budget}")
        self.say(
            used.format(used=text.size(memory.used), budget=text.size(memory.budget))
            if memory.budget
            else "",
            translate("dashboard", "Computed prompts that stay in memory, within the budget"),
        )
        shares = [Share(style, amount) for style, amount in zip(self._styles, amounts, strict=True)]
        self.bar.show_shares(shares, memory.budget)


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


def _pages(number: float) -> str:
    return translate("dashboard", "{number} pages").format(number=text.count(round(number)))


def _bytes(number: float) -> str:
    return text.size(round(number))
