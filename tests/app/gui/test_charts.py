"""Charts: what is painted and when, the crosshair, and what a screen reader hears."""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence

import pytest
from PySide6.QtCore import QPoint, QPointF, QSizeF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QImage
from PySide6.QtWidgets import QApplication, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from app.gui import text
from app.gui.charts.axes import TimeAxis, lay_out
from app.gui.charts.chart import Chart
from app.gui.charts.legend import Legend
from app.gui.charts.memory_bar import MemoryBar, Share
from app.gui.charts.plots import Bars, Lines, MarkedLine, StackedArea
from app.gui.charts.series import NOTHING
from app.gui.charts.style import Dash, Fill, Point, SeriesStyle
from app.gui.theme import theme
from app.storage.settings_store import Appearance

REUSED = SeriesStyle("Reused", "reused", lambda n: f"{n:.0f} tokens", fill=Fill.PLAIN)
COMPUTED = SeriesStyle("Computed", "computed", lambda n: f"{n:.0f} tokens", fill=Fill.HATCHED)
RATE = SeriesStyle("Hit rate", "secondary", text.percent)
COLD = SeriesStyle("Cold", "computed", text.duration, point=Point.CIRCLE)
MARK = SeriesStyle(
    "Made way", "warning", lambda n: f"{n:.0f}", dash=Dash.NONE, point=Point.TRIANGLE
)
TIMES = TimeAxis(((0.0, "then"), (1.0, "now")), lambda place: f"place {place}")


class CountingLines(Lines):
    """Lines that count how often their shapes are made."""

    num_built = 0

    def build(self, columns: Sequence[Sequence[float]]) -> None:
        self.num_built += 1
        super().build(columns)


@pytest.fixture
def tokens(qtbot: QtBot) -> Chart:
    chart = Chart(
        "Prompt tokens",
        [StackedArea(REUSED, COMPUTED), Lines(RATE, is_share=True)],
        text.rate,
        share_words=text.percent,
    )
    qtbot.addWidget(chart)
    chart.resize(400, 160)
    chart.set_columns(
        [array("d", [10, 20, 30]), array("d", [5, 5, 0]), array("d", [0.6, 0.8, 1.0])], TIMES
    )
    return chart


def sparse(qtbot: QtBot, plot: Lines | None = None) -> Chart:
    """Ten places of which the third and the eighth were measured."""
    chart = Chart("Time to first token", [plot or Lines(COLD, joined=True)], text.duration)
    qtbot.addWidget(chart)
    chart.resize(400, 160)
    column = array("d", [NOTHING] * 10)
    column[2], column[7] = 4.0, 2.0
    chart.set_columns([column], TIMES)
    return chart


def has_color(image: QImage, token: str) -> bool:
    wanted = theme.color(token)
    return any(
        near(image.pixelColor(x, y), wanted)
        for x in range(image.width())
        for y in range(image.height())
    )


def near(one: QColor, other: QColor) -> bool:
    pairs = zip(one.getRgb()[:3], other.getRgb()[:3], strict=True)  # type: ignore[index]
    return all(abs(left - right) <= 8 for left, right in pairs)


def test_all_series_are_painted(tokens: Chart) -> None:
    image = tokens.grab().toImage()
    assert has_color(image, "reused")
    assert has_color(image, "computed")
    assert has_color(image, "secondary")


def test_new_colours_when_the_theme_changes(tokens: Chart, qapp: QApplication) -> None:
    assert near(tokens.grab().toImage().pixelColor(0, 0), theme.color("card"))
    theme.apply(qapp, Appearance.DARK, system_is_dark=False)
    assert near(tokens.grab().toImage().pixelColor(0, 0), theme.color("card"))
    assert has_color(tokens.grab().toImage(), "reused")


def test_an_empty_chart_says_so(qtbot: QtBot) -> None:
    chart = Chart("Evictions", [Bars(REUSED)], text.rate, empty_words="Nothing was evicted")
    qtbot.addWidget(chart)
    chart.set_columns([array("d", [0, NOTHING, 0])], TIMES)
    assert chart.is_empty
    assert chart.accessibleDescription() == "Nothing was evicted"
    chart.grab()


def test_before_any_figures_keys_and_pointer_do_nothing(qtbot: QtBot) -> None:
    chart = Chart("Speed", [Lines(COLD)], text.rate)
    qtbot.addWidget(chart)
    chart.show()
    for key in (Qt.Key.Key_Left, Qt.Key.Key_Home, Qt.Key.Key_End, Qt.Key.Key_Right):
        qtbot.keyClick(chart, key)
    qtbot.mouseMove(chart, QPoint(50, 50))
    chart.grab()
    assert chart.index is None


def test_nothing_is_built_while_hidden_and_once_when_shown(qtbot: QtBot) -> None:
    plot = CountingLines(COLD)
    chart = sparse(qtbot, plot)
    for _ in range(10):
        chart.set_columns([array("d", [1.0, 2.0])], TIMES)
    assert plot.num_built == 0
    with qtbot.waitExposed(chart):
        chart.show()
    qtbot.waitUntil(lambda: plot.num_built > 0)
    assert plot.num_built == 1


def test_a_burst_of_figures_is_painted_once_more(qtbot: QtBot) -> None:
    plot = CountingLines(COLD)
    chart = sparse(qtbot, plot)
    with qtbot.waitExposed(chart):
        chart.show()
    qtbot.waitUntil(lambda: plot.num_built == 1)
    for number in range(20):
        chart.set_columns([array("d", [1.0, float(number)])], TIMES)
        QApplication.sendPostedEvents()
    qtbot.waitUntil(lambda: plot.num_built == 2)
    assert chart.words_at(1) == "place 1, Cold: 19 s"


def test_a_hidden_chart_has_no_timer(qtbot: QtBot) -> None:
    chart = sparse(qtbot)
    with qtbot.waitExposed(chart):
        chart.show()
    chart.grab()
    chart.set_columns([array("d", [1.0, 2.0])], TIMES)
    chart.hide()  # the fixture fails the test if a timer still runs


def test_arrow_keys_move_the_crosshair(qtbot: QtBot, tokens: Chart) -> None:
    tokens.show()
    qtbot.keyClick(tokens, Qt.Key.Key_Left)
    assert tokens.index == 2
    qtbot.keyClick(tokens, Qt.Key.Key_Left)
    assert tokens.index == 1
    assert (
        tokens.accessibleDescription()
        == "place 1, Reused: 20 tokens, Computed: 5 tokens, Hit rate: 80 %"
    )
    qtbot.keyClick(tokens, Qt.Key.Key_Home)
    qtbot.keyClick(tokens, Qt.Key.Key_Left)
    assert tokens.index == 0
    qtbot.keyClick(tokens, Qt.Key.Key_End)
    assert tokens.index == 2
    qtbot.keyClick(tokens, Qt.Key.Key_Escape)
    assert tokens.index is None


def test_keys_pass_over_what_was_not_measured(qtbot: QtBot) -> None:
    chart = sparse(qtbot)
    chart.show()
    qtbot.keyClick(chart, Qt.Key.Key_Right)
    assert chart.index == 7
    qtbot.keyClick(chart, Qt.Key.Key_Left)
    assert chart.index == 2
    qtbot.keyClick(chart, Qt.Key.Key_Left)
    assert chart.index == 2
    assert chart.accessibleDescription() == "place 2, Cold: 4.0 s"


def test_the_crosshair_goes_to_the_measured_place_nearest_to_the_pointer(qtbot: QtBot) -> None:
    chart = sparse(qtbot)
    with qtbot.waitExposed(chart):
        chart.show()
    qtbot.mouseMove(chart, QPoint(chart.width() - 5, 50))
    qtbot.waitUntil(lambda: chart.index == 7)
    chart.grab()
    chart.move_to(0)
    assert chart.index == 2


def test_the_crosshair_survives_new_and_fewer_figures(tokens: Chart) -> None:
    tokens.move_to(2)
    tokens.set_columns([array("d", [1, 2])] * 2 + [array("d", [0.5, 0.5])], TIMES)
    assert tokens.index == 1
    tokens.grab()
    tokens.set_columns([array("d", [NOTHING, NOTHING])] * 3, TIMES)
    assert tokens.index is None


def test_a_screen_reader_hears_latest_lowest_and_highest(tokens: Chart) -> None:
    assert tokens.accessibleName() == "Prompt tokens"
    assert "Reused: latest 30 tokens, lowest 10 tokens, highest 30 tokens." in tokens.summary()
    assert tokens.accessibleDescription() == tokens.summary()


def test_areas_leave_gaps_where_nothing_was_measured() -> None:
    area = StackedArea(REUSED, COMPUTED)
    area.build([array("d", [1, 2, NOTHING, 4, 5]), array("d", [1, 1, NOTHING, 0, 0])])
    assert area.highest() == 5
    assert [math.isnan(height) for height in area.heights(2)] == [True, True]
    assert area.heights(1) == [2.0, 3.0]


def test_bars_stand_on_each_other_and_none_vanishes(qtbot: QtBot) -> None:
    bars = Bars(REUSED, COMPUTED)
    bars.build([array("d", [1, NOTHING, 100]), array("d", [1, 3, 0.001])])
    assert bars.heights(0) == [1, 2]
    assert bars.heights(1) == [0, 3]
    assert bars.highest() == pytest.approx(100.001)
    chart = Chart("Evictions", [Bars(REUSED, COMPUTED)], text.rate)
    qtbot.addWidget(chart)
    chart.resize(400, 160)
    chart.set_columns([array("d", [0, 0, 100]), array("d", [0, 0, 0.001])], TIMES)
    image = chart.grab().toImage()
    assert has_color(image, "reused")
    assert has_color(image, "computed")


def test_marks_stand_on_the_line_at_what_happened(qtbot: QtBot) -> None:
    marked = MarkedLine(RATE, MARK, is_share=True)
    rates = array("d", [NOTHING, 0.8, NOTHING, 0.4])
    marked.build([rates, array("d", [1, 2, 3, NOTHING])])
    heights = [marked.heights(index)[1] for index in range(4)]
    assert heights[:3] == [0.0, 0.8, 0.8]  # where the rate is not known, as it was
    assert math.isnan(heights[3])
    assert marked.highest() == 1.0
    chart = Chart("Prompt tokens", [MarkedLine(RATE, MARK, is_share=True)], text.rate)
    qtbot.addWidget(chart)
    chart.resize(400, 160)
    nothing = array("d", [NOTHING] * 4)
    chart.set_columns([rates, nothing], TIMES)
    assert not has_color(chart.grab().toImage(), "warning")
    chart.set_columns([rates, array("d", [NOTHING, 2, NOTHING, NOTHING])], TIMES)
    assert has_color(chart.grab().toImage(), "warning")
    assert chart.words_at(1) == "place 1, Hit rate: 80 %, Made way: 2"


@pytest.mark.parametrize("width", [90, 240, 800])
def test_labels_of_time_stay_apart_and_keep_the_last(qapp: QApplication, width: int) -> None:
    metrics = QFontMetricsF(qapp.font())
    labels = tuple((place / 5, f"−{5 - place} min") for place in range(6))
    axes = lay_out(QSizeF(width, 120), metrics, 3.0, text.rate, labels)
    placed = axes.placed_times(metrics)
    assert placed[-1][2] == "−0 min"
    ends = [left + needed for left, needed, _ in placed]
    assert all(end < after[0] for end, after in zip(ends, placed[1:], strict=False))


def test_a_legend_takes_another_row_where_it_is_narrow(qtbot: QtBot) -> None:
    legend = Legend([REUSED, COMPUTED, RATE])
    qtbot.addWidget(legend)
    wide = legend.heightForWidth(legend.sizeHint().width())
    assert legend.heightForWidth(legend.minimumSizeHint().width()) == pytest.approx(3 * wide, abs=3)
    assert legend.accessibleName() == "Reused, Computed, Hit rate"
    legend.grab()
    stack = QWidget()
    qtbot.addWidget(stack)
    column = QVBoxLayout(stack)
    column.addWidget(legend)
    column.addStretch(1)
    stack.resize(legend.minimumSizeHint().width() + 30, 300)
    stack.grab()
    assert legend.height() >= legend.heightForWidth(legend.width()) > wide
    legend.show_styles([REUSED, MARK])
    assert legend.accessibleName() == "Reused, Made way"
    assert has_color(legend.grab().toImage(), "warning")


def test_a_memory_bar_says_its_shares(qtbot: QtBot) -> None:
    bar = MemoryBar("Memory")
    qtbot.addWidget(bar)
    bar.resize(300, bar.sizeHint().height())
    bar.grab()
    bar.show_shares([Share(REUSED, 10), Share(COMPUTED, 200)], whole=100)
    assert bar.accessibleDescription() == "Reused: 10 tokens, Computed: 200 tokens"
    bar.grab()


def test_figures_stand_where_they_are_read(qapp: QApplication) -> None:
    metrics = QFontMetricsF(qapp.font())
    axes = lay_out(
        QSizeF(400, 120), metrics, 27.0, text.rate, TIMES.labels, share_words=text.percent
    )
    assert axes.ticks == (0, 10, 20, 30)
    assert axes.place.map(QPointF(0, 0)) == axes.plot.bottomLeft()
    assert axes.place.map(QPointF(1, 30)) == axes.plot.topRight()
    assert axes.place_shares.map(QPointF(1, 1)) == axes.plot.topRight()
