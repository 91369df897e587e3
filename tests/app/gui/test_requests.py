"""The requests page: what has ended, in order, filtered, and each in detail."""

from __future__ import annotations

import dataclasses
import statistics
import time
from collections.abc import Callable

import pytest
from PySide6.QtCore import QDate, QModelIndex, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QLabel
from pytestqt.modeltest import ModelTester
from pytestqt.qtbot import QtBot

from app.desk import Desk
from app.gui.clock import HouseClock
from app.gui.pages.requests import RequestsPage, make_requests
from app.gui.requests import words
from app.gui.requests.filter import RequestFilter
from app.gui.requests.model import Column, RequestModel
from app.gui.requests.phases import PhaseBar
from app.gui.requests.table import RequestTable
from app.gui.requests.words import RequestState
from app.gui.theme import theme
from app.storage.errors import DatabaseCorrupt
from app.storage.settings_store import Appearance
from engine.request import Decision, FinishReason, RequestRecord, Timings, Usage
from tests.support.fake_desk import FakeDesk, make_record

MakePage = Callable[[], RequestsPage]


@pytest.fixture
def make_page(qtbot: QtBot, desk: Desk, clock: HouseClock) -> MakePage:
    def make() -> RequestsPage:
        page = make_requests(desk, clock)
        assert isinstance(page, RequestsPage)
        qtbot.addWidget(page)
        page.resize(800, 560)
        page.show()
        return page

    return make


def records(*numbers: int) -> tuple[RequestRecord, ...]:
    return tuple(make_record(number) for number in numbers)


def shown(page: RequestsPage) -> list[str]:
    """The ids in the table, from its top."""
    model = page.table.model()
    return [
        model.index(row, 0).data(Qt.ItemDataRole.UserRole + 1).record.id
        for row in range(model.rowCount())
    ]


def ids(*numbers: int) -> list[str]:
    return [f"chatcmpl-{number:04d}" for number in numbers]


# The model


def test_the_model_is_sound(qtmodeltester: ModelTester) -> None:
    model = RequestModel()
    model.add(records(1, 2, 3))
    qtmodeltester.check(model)
    requests = RequestFilter(model)
    requests.show_only("openai", None)
    qtmodeltester.check(requests)


def test_the_newest_is_above_and_the_oldest_go(qtmodeltester: ModelTester) -> None:
    model = RequestModel(most=4)
    qtmodeltester.check(model)
    model.add(records(1, 2, 3))
    model.add(records(4, 5))
    assert [model.row_at(row).record.id for row in range(model.rowCount())] == ids(5, 4, 3, 2)
    model.add(records(*range(10, 20)))
    assert [model.row_at(row).record.id for row in range(model.rowCount())] == ids(19, 18, 17, 16)


def test_a_request_is_taken_once() -> None:
    model = RequestModel()
    model.add(records(1, 2))
    model.add(records(2, 3))
    assert model.rowCount() == 3


def test_new_rows_never_reset_the_model(qtbot: QtBot) -> None:
    model = RequestModel()
    with qtbot.assertNotEmitted(model.modelReset), qtbot.waitSignal(model.rowsInserted) as signal:
        model.add(records(1, 2))
    parent, first, last = signal.args
    assert (parent, first, last) == (QModelIndex(), 0, 1)


def test_times_get_their_day_after_midnight(qtbot: QtBot) -> None:
    model = RequestModel()
    model.add([make_record(1, ended_at=time.time())])
    with qtbot.waitSignal(model.dataChanged):
        model.write_days()


def test_cells_in_words() -> None:
    model = RequestModel()
    model.add([make_record(1), make_record(2, client="", timings=Timings(), reason=ERROR)])

    def cell(row: int, column: Column) -> str:
        return str(model.index(row, column).data())

    assert [cell(1, column) for column in list(Column)[1:]] == [
        "OpenAI/Python", "SmolLM2-135M-Instruct", "2,048", "1,920", "620 ms", "10.0", "Finished",
    ]  # fmt: skip
    assert cell(0, Column.CLIENT) == "Unnamed client"
    assert cell(0, Column.TTFT) == "–"
    assert cell(0, Column.RATE) == "–"
    assert cell(0, Column.STATE) == "Failed"


ERROR = FinishReason.ERROR


# Words


@pytest.mark.parametrize("reason", list(FinishReason))
def test_every_end_is_explained(reason: FinishReason) -> None:
    record = make_record(1, reason=reason)
    assert words.state_of(record).word
    assert len(words.explanation(record)) > 40


def test_states_differ_by_word_and_shape() -> None:
    assert len({state.word for state in RequestState}) == len(RequestState)


def test_a_prompt_that_was_only_warmed_is_no_cut_answer() -> None:
    warmed = make_record(1, reason=FinishReason.LENGTH, usage=Usage(100, 0, 0))
    assert "asked for no answer" in words.explanation(warmed)


@pytest.mark.parametrize(
    ("usage", "decode_s", "rate"),
    [(Usage(10, 0, 41), 4.0, 10.0), (Usage(10, 0, 1), 0.0, None), (Usage(10, 0, 0), 3.0, None)],
)
def test_the_first_token_is_not_of_the_decode_rate(
    usage: Usage, decode_s: float, rate: float | None
) -> None:
    record = make_record(1, usage=usage, timings=Timings(decode_s=decode_s))
    assert words.decode_rate(record) == rate


def decided(*, waited: bool, awaited_tokens: int = 0) -> RequestRecord:
    return make_record(
        1,
        usage=Usage(2048, 1920, 41, awaited_tokens),
        timings=Timings(queue_s=1.3, parked_s=1.2, prefill_s=0.1),
        decision=Decision(waited, "chatcmpl-0007", 512, 32, wait_s=1.4, compute_s=2.9),
    )


def test_a_wait_for_another_is_told_with_its_reason() -> None:
    assert words.course(decided(waited=True, awaited_tokens=480)) == (
        "Waited 1.2 s for another request that was computing the same beginning (512 tokens)."
        " First word expected after 1.4 s this way, 2.9 s by computing it again."
    )
    assert words.course(decided(waited=False)) == (
        "Did not wait for another request that was computing the same beginning (512 tokens)."
        " First word expected after 2.9 s this way, 1.4 s by waiting."
    )
    not_ready = dataclasses.replace(decided(waited=True), usage=Usage(2048, 32, 41))
    assert words.course(not_ready).endswith("but found nothing of it, so it was computed again.")
    never_started = dataclasses.replace(
        not_ready, timings=Timings(queue_s=1.3, parked_s=1.2, total_s=1.3)
    )
    assert words.course(never_started) == (
        "Waited 1.2 s for another request that was computing the same beginning (512 tokens),"
        " and ended before it began itself."
    )


@pytest.mark.parametrize(("number", "times"), [(1, "once"), (3, "3 times")])
def test_how_often_it_made_way(number: int, times: str) -> None:
    record = make_record(1, num_preemptions=number)
    assert words.course(record) == f"Had to make way for others {times}, as memory was short."


def test_a_request_that_only_ran_has_no_course() -> None:
    assert words.course(make_record(1)) == ""


def test_what_another_computed_is_told_beside_what_was_reused() -> None:
    record = decided(waited=True, awaited_tokens=480)
    assert words.reuse(record) == (
        "94 % of the prompt was reused, 480 tokens of it after waiting for another request"
    )
    assert words.reuse(make_record(1)) == "94 % of the prompt was reused"


def test_as_text_has_ids_sizes_and_times() -> None:
    line = words.as_text(make_record(7))
    assert line.startswith("chatcmpl-0007 client=OpenAI/Python")
    assert "prompt=2048 cached=1920 computed=128 generated=41" in line
    assert "ttft=0.620s" in line
    assert "awaited=0 preemptions=0" in line
    assert "parked=1.200s" in words.as_text(decided(waited=True))


# The page


def test_history_is_shown_newest_first(
    qtbot: QtBot, fake_desk: FakeDesk, make_page: MakePage
) -> None:
    fake_desk.history = records(3, 2, 1)
    page = make_page()
    qtbot.waitUntil(lambda: shown(page) == ids(3, 2, 1))
    assert page.count.text() == "3 requests"
    assert page.shows is page.list


def test_what_ends_is_added_above(
    qtbot: QtBot, fake_desk: FakeDesk, make_page: MakePage, clock: HouseClock
) -> None:
    fake_desk.history = records(1)
    page = make_page()
    qtbot.waitUntil(lambda: shown(page) == ids(1))
    fake_desk.records += records(2, 3)
    clock.tick()
    assert shown(page) == ids(3, 2, 1)


def test_what_ends_while_history_is_read_is_there_once_and_in_order(
    qtbot: QtBot, fake_desk: FakeDesk, make_page: MakePage, clock: HouseClock
) -> None:
    fake_desk.history = records(2, 1)
    fake_desk.held.add("recent_requests")
    page = make_page()
    assert page.shows is page.loading
    fake_desk.records += records(2, 3)
    clock.tick()
    fake_desk.release("recent_requests")
    qtbot.waitUntil(lambda: shown(page) == ids(3, 2, 1))


def test_without_history_it_says_so_and_goes_on(
    qtbot: QtBot, fake_desk: FakeDesk, make_page: MakePage, clock: HouseClock
) -> None:
    fake_desk.errors["recent_requests"] = DatabaseCorrupt("ondol.sqlite3 is damaged.")
    page = make_page()
    qtbot.waitUntil(page.trouble.isVisible)
    assert "ondol.sqlite3 is damaged." in page.trouble.text()
    fake_desk.records += records(1)
    clock.tick()
    assert shown(page) == ids(1)


def test_the_empty_page_leads_to_connect(qtbot: QtBot, make_page: MakePage) -> None:
    page = make_page()
    qtbot.waitUntil(lambda: page.shows is page.nothing)
    assert not page.search.isVisible()
    with qtbot.waitSignal(page.pageRequested) as signal:
        page.nothing.acted.emit()
    assert signal.args == ["connect"]


def test_filters_by_text_and_state(qtbot: QtBot, fake_desk: FakeDesk, make_page: MakePage) -> None:
    fake_desk.history = (
        make_record(4, client="curl", reason=ERROR),
        make_record(3, client="Open WebUI"),
        make_record(2, client="curl"),
        make_record(1, client="OpenAI/Python", reason=ERROR),
    )
    page = make_page()
    qtbot.waitUntil(lambda: len(shown(page)) == 4)
    qtbot.keyClicks(page.search, "CURL")
    assert shown(page) == ids(4, 2)
    assert page.count.text() == "2 of 4"
    page.state.setCurrentText("Failed")
    assert shown(page) == ids(4)
    qtbot.keyClicks(page.search, " 0002")
    assert page.shows is page.no_match
    page.no_match.acted.emit()
    assert shown(page) == ids(4, 3, 2, 1)
    qtbot.keyClicks(page.search, "smollm2 webui")
    assert shown(page) == ids(3)
    qtbot.keyClick(page.search, Qt.Key.Key_Escape)
    assert page.search.text() == ""


def test_sorts_by_a_column_and_back(
    qtbot: QtBot, fake_desk: FakeDesk, make_page: MakePage, clock: HouseClock
) -> None:
    def slow(number: int, seconds: float) -> RequestRecord:
        return make_record(number, timings=Timings(ttft_s=seconds))

    fake_desk.history = (slow(3, 10.0), slow(2, 2.0), slow(1, 9.0))
    page = make_page()
    qtbot.waitUntil(lambda: len(shown(page)) == 3)
    page.table.sortByColumn(Column.TTFT, Qt.SortOrder.AscendingOrder)
    assert shown(page) == ids(2, 1, 3)
    fake_desk.records.append(slow(4, 5.0))
    clock.tick()
    assert shown(page) == ids(2, 4, 1, 3)
    page.table.sortByColumn(Column.TIME, Qt.SortOrder.AscendingOrder)
    assert shown(page) == ids(1, 2, 3, 4)
    page.table.sortByColumn(Column.TIME, Qt.SortOrder.DescendingOrder)
    assert shown(page) == ids(4, 3, 2, 1)


def test_follows_the_top_unless_scrolled(
    qtbot: QtBot, fake_desk: FakeDesk, make_page: MakePage, clock: HouseClock
) -> None:
    fake_desk.history = records(*range(100, 0, -1))
    page = make_page()
    qtbot.waitUntil(lambda: len(shown(page)) == 100)
    bar = page.table.verticalScrollBar()
    qtbot.waitUntil(lambda: bar.maximum() > 0)
    fake_desk.records += records(101)
    clock.tick()
    assert page.table.rowAt(0) == 0
    assert not page.newest.isVisible()

    bar.setValue(10 * page.table.rowHeight(0))
    looked_at = shown(page)[page.table.rowAt(0)]
    fake_desk.records += records(102, 103)
    clock.tick()
    assert shown(page)[page.table.rowAt(0)] == looked_at
    assert page.newest.text() == "2 newer"
    assert page.newest.isVisible()
    page.newest.click()
    assert page.table.rowAt(0) == 0
    assert not page.newest.isVisible()


def test_details_of_the_chosen_request(
    qtbot: QtBot, fake_desk: FakeDesk, make_page: MakePage
) -> None:
    fake_desk.history = records(2, 1)
    page = make_page()
    qtbot.waitUntil(lambda: len(shown(page)) == 2)
    assert not page.detail.isVisible()
    page.table.setFocus()
    qtbot.keyClick(page.table, Qt.Key.Key_Down)
    assert page.detail.isVisible()
    (bar,) = page.detail.findChildren(PhaseBar)
    assert bar.accessibleDescription() == "Waiting 20 ms, Prompt 600 ms, Answer 4.0 s"
    assert not label_of(page, "Of them awaited").isVisible()
    qtbot.keyClick(page.table, Qt.Key.Key_Escape)
    assert not page.detail.isVisible()


def label_of(page: RequestsPage, words: str) -> QLabel:
    (label,) = (label for label in page.detail.findChildren(QLabel) if label.text() == words)
    return label


def test_details_of_one_that_waited_and_made_way(
    qtbot: QtBot, fake_desk: FakeDesk, make_page: MakePage
) -> None:
    waited = decided(waited=True, awaited_tokens=480)
    record = dataclasses.replace(waited, num_preemptions=1)
    fake_desk.history = (record,)
    page = make_page()
    qtbot.waitUntil(lambda: len(shown(page)) == 1)
    page.table.selectRow(0)
    assert label_of(page, "Of them awaited").isVisible()
    assert label_of(page, "480").isVisible()
    assert label_of(page, words.course(record)).isVisible()


def test_a_row_is_copied_as_text(qtbot: QtBot, fake_desk: FakeDesk, make_page: MakePage) -> None:
    fake_desk.history = records(2, 1)
    page = make_page()
    qtbot.waitUntil(lambda: len(shown(page)) == 2)
    page.table.selectRow(1)
    page.table.copy_chosen()
    assert QGuiApplication.clipboard().text() == words.as_text(make_record(1))


@pytest.mark.parametrize("width", [612, 792, 1400])
def test_columns_give_way_before_texts_are_cut(
    qtbot: QtBot, fake_desk: FakeDesk, make_page: MakePage, width: int
) -> None:
    fake_desk.history = tuple(
        make_record(number, client="Home Assistant", ended_at=0.0) for number in range(50, 0, -1)
    )
    page = make_page()
    page.resize(width, 560)
    qtbot.waitUntil(lambda: len(shown(page)) == 50)
    table = page.table
    visible = [column for column in Column if not table.isColumnHidden(column)]
    assert sum(table.columnWidth(column) for column in visible) <= table.viewport().width()
    for column in visible:
        assert table.columnWidth(column) >= table.sizeHintForColumn(column)
    assert {Column.TIME, Column.CLIENT, Column.CACHED, Column.TTFT, Column.STATE} <= set(visible)
    assert (Column.MODEL in visible) == (width == 1400)


@pytest.mark.parametrize("appearance", [Appearance.LIGHT, Appearance.DARK])
def test_every_state_can_be_painted(
    qtbot: QtBot,
    qapp: QApplication,
    fake_desk: FakeDesk,
    make_page: MakePage,
    appearance: Appearance,
) -> None:
    fake_desk.history = tuple(
        make_record(number, reason=reason, usage=Usage(100, 30 * number, 5))
        for number, reason in enumerate(FinishReason)
    )
    page = make_page()
    qtbot.waitUntil(lambda: len(shown(page)) == len(FinishReason))
    for row in range(len(FinishReason)):
        page.table.selectRow(row)
        theme.apply(qapp, appearance, system_is_dark=False)
        assert not page.grab().isNull()


def test_a_new_day_writes_the_times_anew(
    qtbot: QtBot,
    fake_desk: FakeDesk,
    make_page: MakePage,
    clock: HouseClock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fake_desk.history = records(1)
    page = make_page()
    qtbot.waitUntil(lambda: len(shown(page)) == 1)
    model = page.table.model()
    with qtbot.assertNotEmitted(model.dataChanged):
        clock.second.emit()
    tomorrow = QDate.currentDate().addDays(1)
    monkeypatch.setattr("app.gui.pages.requests.QDate", Tomorrow(tomorrow))
    with qtbot.waitSignal(model.dataChanged):
        clock.second.emit()


@dataclasses.dataclass(frozen=True)
class Tomorrow:
    day: QDate

    def currentDate(self) -> QDate:
        return self.day


def test_ten_thousand_rows_scroll_within_a_frame(qtbot: QtBot) -> None:
    """16 ms at 60 Hz, where the whole view is painted anew: the median of 40 far jumps."""
    model = RequestModel(most=10_000)
    model.add(records(*range(10_000)))
    table = RequestTable(RequestFilter(model))
    qtbot.addWidget(table)
    table.resize(760, 600)
    table.fit_columns([model.row_at(0)])
    table.show()
    bar = table.verticalScrollBar()
    assert bar.maximum() > 200_000
    frames = []
    for jump in range(40):
        start = time.perf_counter()
        bar.setValue(jump * 6_007 % bar.maximum())
        table.viewport().repaint()
        frames.append(time.perf_counter() - start)
    assert statistics.median(frames) < 0.016
