"""The dashboard: from the first run to a day of figures."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QPushButton
from pytestqt.qtbot import QtBot

from app.desk import Desk
from app.gui.clock import HouseClock
from app.gui.pages.dashboard import DAY, READ_AGAIN_S, Dashboard
from app.gui.pages.dashboard_curves import MIB
from app.gui.pages.dashboard_live import LiveFigures
from app.gui.segments import Segments
from app.storage.aggregates import row_of
from app.storage.errors import DiskFailure
from engine.request import Timings, Usage
from engine.snapshot import Capacity, EvictionTotal, Memory, Totals, Waits
from tests.support.fake_desk import FakeDesk, make_record, quiet_day

NOON = time.mktime((2026, 3, 2, 12, 0, 0, 0, 0, -1))
COLD: dict[str, Any] = {
    "usage": Usage(prompt_tokens=1000, cached_tokens=0, completion_tokens=20),
    "timings": Timings(prefill_s=5.0, decode_s=2.0, ttft_s=5.0, total_s=7.0),
}


class Time:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def moment() -> Time:
    return Time()


@pytest.fixture
def dashboard(
    qtbot: QtBot, desk: Desk, fake_desk: FakeDesk, clock: HouseClock, moment: Time
) -> Dashboard:
    fake_desk.minutes = quiet_day(NOON)
    page = Dashboard(desk, clock, now=moment)
    qtbot.addWidget(page)
    qtbot.addWidget(page.header_controls())
    page.resize(800, 620)
    return page


def show(qtbot: QtBot, page: Dashboard, fake_desk: FakeDesk) -> None:
    """Until the storage's answers have arrived."""
    with qtbot.waitExposed(page):
        page.show()
    qtbot.waitUntil(lambda: not page.is_reading)


def end_request(fake_desk: FakeDesk, clock: HouseClock, moment: Time) -> None:
    """A cold request of 1,000 tokens ends, and a second passes."""
    before = fake_desk.snapshot
    totals = before.totals
    fake_desk.snapshot = replace(
        before,
        seq=before.seq + 1,
        totals=replace(
            totals,
            requests=totals.requests + 1,
            prompt_tokens=totals.prompt_tokens + 1000,
            evicted_pages=totals.evicted_pages + 3,
        ),
        evictions=(EvictionTotal("capacity", "", 3, 3 * MIB),),
    )
    moment.now += 1
    fake_desk.records.append(make_record(1, ended_at=moment.now, **COLD))
    clock.second.emit()


def test_the_first_run_says_what_will_be_here_and_where_to_begin(
    qtbot: QtBot, dashboard: Dashboard, fake_desk: FakeDesk
) -> None:
    show(qtbot, dashboard, fake_desk)
    assert dashboard.is_first_run
    button = dashboard.findChild(QPushButton)
    with qtbot.waitSignal(dashboard.pageRequested) as asked:
        qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    assert asked.args == ["connect"]


def test_the_first_request_brings_the_charts(
    qtbot: QtBot, dashboard: Dashboard, fake_desk: FakeDesk, clock: HouseClock, moment: Time
) -> None:
    show(qtbot, dashboard, fake_desk)
    end_request(fake_desk, clock, moment)
    assert not dashboard.is_first_run
    assert dashboard.tiles.requests.figure == "1"
    assert dashboard.tiles.reused.note == "of 1,000 tokens"
    assert dashboard.tiles.ttft.figure == "5.0 s"
    assert "Computed: latest 100 tokens/s" in dashboard.tokens.chart.summary()
    assert "Cold: latest 5.0 s" in dashboard.ttft.chart.summary()
    assert "Prefill: latest 200 tokens/s" in dashboard.speed.prefill.summary()
    assert "Decode: latest 10.0 tokens/s" in dashboard.speed.decode.summary()
    assert dashboard.evictions.figure == "3 MiB"
    assert dashboard.evictions.legend.accessibleName() == "Room for answers"


def test_a_day_with_requests_is_no_first_run(
    qtbot: QtBot, dashboard: Dashboard, fake_desk: FakeDesk
) -> None:
    fake_desk.minutes[-40] = row_of(make_record(1, ended_at=NOON - 39 * 60, **COLD))
    show(qtbot, dashboard, fake_desk)
    assert not dashboard.is_first_run
    assert dashboard.tiles.requests.figure == "1"
    assert dashboard.tokens.chart.is_empty


def test_24_hours_come_from_the_storage(
    qtbot: QtBot, dashboard: Dashboard, fake_desk: FakeDesk
) -> None:
    fake_desk.minutes[-40] = row_of(make_record(1, ended_at=NOON - 39 * 60, **COLD))
    show(qtbot, dashboard, fake_desk)
    span = dashboard.header_controls()
    assert isinstance(span, Segments)
    span.choose(DAY)
    assert not dashboard.tokens.chart.is_empty
    assert dashboard.tokens.figure == "0 % reused"
    qtbot.keyClick(dashboard.ttft.chart, Qt.Key.Key_End)
    assert dashboard.ttft.chart.accessibleDescription() == "11:15 – 11:30, Cold: 5.0 s"


def test_the_storage_is_read_again_each_minute_while_somebody_looks(
    qtbot: QtBot, dashboard: Dashboard, fake_desk: FakeDesk, clock: HouseClock, moment: Time
) -> None:
    show(qtbot, dashboard, fake_desk)
    clock.second.emit()
    assert len(fake_desk.asked("last_24_hours")) == 1
    moment.now += READ_AGAIN_S
    clock.second.emit()
    assert len(fake_desk.asked("last_24_hours")) == 2
    qtbot.waitUntil(lambda: not dashboard.is_reading)
    dashboard.hide()
    moment.now += READ_AGAIN_S
    clock.second.emit()
    assert len(fake_desk.asked("last_24_hours")) == 2


def test_hidden_it_collects_and_computes_nothing(
    qtbot: QtBot,
    dashboard: Dashboard,
    fake_desk: FakeDesk,
    clock: HouseClock,
    moment: Time,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    computed = []
    curves = LiveFigures.curves
    monkeypatch.setattr(LiveFigures, "curves", lambda live: computed.append(1) or curves(live))
    for _ in range(5):
        end_request(fake_desk, clock, moment)
    assert computed == []
    fake_desk.minutes[-1] = row_of(make_record(1, ended_at=NOON, **COLD))
    show(qtbot, dashboard, fake_desk)
    assert computed
    assert dashboard.ttft.chart.words_at(599).endswith("Cold: 5.0 s")


def test_a_storage_that_cannot_be_read_is_said_and_the_live_charts_go_on(
    qtbot: QtBot, dashboard: Dashboard, fake_desk: FakeDesk, clock: HouseClock, moment: Time
) -> None:
    fake_desk.errors["last_24_hours"] = DiskFailure("The disk is gone.")
    fake_desk.errors["recent_requests"] = DiskFailure("The disk is gone.")
    show(qtbot, dashboard, fake_desk)
    end_request(fake_desk, clock, moment)
    assert dashboard.trouble == "The history could not be read. The disk is gone."
    assert dashboard.tiles.requests.figure == "1"
    span = dashboard.header_controls()
    assert isinstance(span, Segments)
    assert not dashboard.tokens.chart.is_empty
    span.choose(DAY)
    assert dashboard.tokens.chart.is_empty
    fake_desk.errors.clear()
    moment.now += READ_AGAIN_S
    clock.second.emit()
    qtbot.waitUntil(lambda: dashboard.trouble == "")


def test_until_the_storage_has_answered_it_is_not_called_the_first_run(
    qtbot: QtBot, dashboard: Dashboard, fake_desk: FakeDesk
) -> None:
    fake_desk.held.add("last_24_hours")
    with qtbot.waitExposed(dashboard):
        dashboard.show()
    assert not dashboard.is_first_run
    fake_desk.release("last_24_hours")
    qtbot.waitUntil(lambda: dashboard.is_first_run)


def test_memory_is_said_in_words(
    qtbot: QtBot, dashboard: Dashboard, fake_desk: FakeDesk, clock: HouseClock
) -> None:
    fake_desk.snapshot = replace(
        fake_desk.snapshot,
        memory=Memory(budget=1000 * MIB, running=100 * MIB, resident=500 * MIB, pinned=200 * MIB),
        totals=Totals(requests=1),
    )
    show(qtbot, dashboard, fake_desk)
    assert dashboard.memory.figure == "600 MiB of 1,000 MiB"
    assert (
        dashboard.memory.bar.accessibleDescription()
        == "Pinned: 200 MiB, Resident: 300 MiB, Running: 100 MiB, Free: 400 MiB"
    )
    assert dashboard.memory.waiting.text() == "Nobody waits"
    assert not dashboard.memory.capacity.isVisible()


def test_what_answers_may_not_push_out_is_told_apart(
    qtbot: QtBot, dashboard: Dashboard, fake_desk: FakeDesk, clock: HouseClock
) -> None:
    memory = Memory(budget=1000 * MIB, running=100 * MIB, resident=500 * MIB, pinned=200 * MIB)
    fake_desk.snapshot = replace(
        fake_desk.snapshot,
        memory=memory,
        capacity=Capacity(max_running=6, hot_bytes=180 * MIB, reserve_bytes=180 * MIB),
        totals=Totals(requests=1),
        num_waiting=2,
        waits_for=Waits.MEMORY,
    )
    show(qtbot, dashboard, fake_desk)
    card = dashboard.memory
    assert card.bar.accessibleDescription() == (
        "Pinned: 200 MiB, Protected: 180 MiB, Resident: 120 MiB, Running: 100 MiB, Free: 400 MiB"
    )
    assert card.capacity.text() == "Up to 6 answers at once: 180 MiB stay for warm prefixes"
    assert card.waiting.text() == "2 wait for memory"
    fake_desk.snapshot = replace(
        fake_desk.snapshot, capacity=Capacity(max_running=6, reserve_bytes=900 * MIB)
    )
    clock.second.emit()
    assert "Protected: 300 MiB, Resident: 0 bytes" in card.bar.accessibleDescription()


def test_requests_that_made_way_are_marked_and_less_reuse_is_explained(
    qtbot: QtBot, dashboard: Dashboard, fake_desk: FakeDesk, clock: HouseClock, moment: Time
) -> None:
    show(qtbot, dashboard, fake_desk)
    end_request(fake_desk, clock, moment)
    assert dashboard.tokens.legend.accessibleName() == "Reused, Computed, Hit rate"
    assert not dashboard.tokens.why.isVisible()
    warm = replace(fake_desk.snapshot.totals, prompt_tokens=20_000, cached_tokens=19_000)
    fake_desk.snapshot = replace(fake_desk.snapshot, totals=warm)
    for _ in range(121):
        moment.now += 1
        clock.second.emit()
    short = replace(warm, prompt_tokens=30_000, preemptions=2, lost_tokens=5000)
    fake_desk.snapshot = replace(fake_desk.snapshot, totals=short)
    moment.now += 1
    clock.second.emit()
    assert dashboard.tokens.legend.accessibleName() == "Reused, Computed, Hit rate, Made way"
    assert "Made way: 2 requests" in dashboard.tokens.chart.words_at(599)
    assert "Made way" not in dashboard.tokens.chart.words_at(598)
    assert dashboard.tokens.why.text().startswith("Hit rate 95 % → 0 % in the last 2 minutes")
    assert "had to make way" in dashboard.tokens.why.text()


def test_only_reasons_that_came_up_are_spoken_of(
    qtbot: QtBot, dashboard: Dashboard, fake_desk: FakeDesk
) -> None:
    fake_desk.minutes[-1] = replace(
        row_of(make_record(1, ended_at=NOON, **COLD)),
        capacity_bytes=2 * MIB,
        checkpoint_bytes=MIB,
        evicted_bytes=9 * MIB,
    )
    show(qtbot, dashboard, fake_desk)
    span = dashboard.header_controls()
    assert isinstance(span, Segments)
    span.choose(DAY)
    card = dashboard.evictions
    assert card.figure == "3 MiB"
    assert card.legend.accessibleName() == "Room for answers, Model checkpoints"
    assert card.chart.words_at(95).endswith("Room for answers: 2 MiB, Model checkpoints: 1 MiB")


def test_what_went_before_the_page_was_made_is_shown(
    qtbot: QtBot, dashboard: Dashboard, fake_desk: FakeDesk, clock: HouseClock, moment: Time
) -> None:
    """As after another language was chosen: the storage knows it by the minute."""
    row = next(row for row in fake_desk.minutes if row.started_at == int(NOON) - 240)
    at = fake_desk.minutes.index(row)
    fake_desk.minutes[at] = replace(row, requests=1, capacity_bytes=60 * MIB, quota_bytes=6 * MIB)
    show(qtbot, dashboard, fake_desk)
    card = dashboard.evictions
    assert card.figure == "66 MiB"
    assert card.legend.accessibleName() == "Room for answers, A client’s share"
    assert card.chart.words_at(37).endswith("Room for answers: 10 MiB, A client’s share: 1 MiB")
    assert "MiB" not in card.chart.words_at(45)
    end_request(fake_desk, clock, moment)
    assert card.figure == "69 MiB", "and what has gone since"


@pytest.mark.parametrize("width", [572, 752, 1200])
def test_no_figure_is_cut_off(
    qtbot: QtBot, dashboard: Dashboard, fake_desk: FakeDesk, width: int
) -> None:
    large = replace(COLD["usage"], prompt_tokens=9_999_999, cached_tokens=9_400_000)
    fake_desk.minutes[-1] = row_of(make_record(1, ended_at=NOON, **COLD | {"usage": large}))
    show(qtbot, dashboard, fake_desk)
    dashboard.resize(width, 560)
    qtbot.waitUntil(lambda: dashboard.width() == width)
    qtbot.waitUntil(lambda: dashboard.tiles.width() <= width - 48)
    for tile in (dashboard.tiles.reused, dashboard.tiles.ttft, dashboard.tiles.saved):
        assert tile.width() >= tile.minimumSizeHint().width()


def test_arrow_keys_switch_the_span_of_time(
    qtbot: QtBot, dashboard: Dashboard, fake_desk: FakeDesk
) -> None:
    show(qtbot, dashboard, fake_desk)
    span = dashboard.header_controls()
    assert isinstance(span, Segments)
    with qtbot.waitActive(span):
        span.show()
    first, second = (span.segment(number) for number in range(2))
    first.setFocus()
    with qtbot.waitSignal(span.chosen):
        qtbot.keyClick(first, Qt.Key.Key_Right)
    assert second.isChecked()
