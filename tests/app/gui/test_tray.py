"""The icon: what its shape and its lines say, that the menu changes in place, and who is told."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from PySide6.QtCore import QSize
from PySide6.QtGui import QGuiApplication, QImage
from PySide6.QtWidgets import QSystemTrayIcon
from pytestqt.qtbot import QtBot

from app.desk import Desk
from app.gui.clock import HouseClock
from app.gui.dialogs import NameDialog, Shelf
from app.gui.tray.actions import TrayActions
from app.gui.tray.icons import tray_icon
from app.gui.tray.menu import GROUPS, Item, MenuItem, menu_items, tooltip
from app.gui.tray.presenter import REFRESH_S, TrayPresenter
from app.gui.tray.qt_tray import QtTray
from app.gui.tray.status import Today, TrayState, num_live, today, tray_state
from app.storage.aggregates import MinuteRow
from engine.snapshot import EngineState, PinState, PinStatus, Snapshot
from tests.support.fake_desk import READY, FakeDesk, make_record
from tests.support.fake_tray import FakeTray

BUILDING = PinStatus("template-1", PinState.BUILDING, num_tokens=400, done_tokens=180)
QUEUED = PinStatus("template-2", PinState.QUEUED, num_tokens=400)
STANDS = PinStatus("template-3", PinState.READY, num_tokens=400, done_tokens=400)
NOTHING = Today()
BUSY = replace(READY, state=EngineState.BUSY)


@pytest.mark.parametrize(
    ("snapshot", "state"),
    [
        (READY, TrayState.IDLE),
        (replace(READY, pins=(STANDS,)), TrayState.IDLE),
        (replace(BUSY, num_running=1), TrayState.WORKING),
        (replace(BUSY, num_waiting=1), TrayState.WORKING),
        (replace(BUSY, num_running=1, pins=(BUILDING,)), TrayState.WARMING),
        (replace(BUSY, num_running=1, num_waiting=1, pins=(BUILDING, QUEUED)), TrayState.WARMING),
        (replace(BUSY, num_running=2, pins=(BUILDING,)), TrayState.WORKING),
        (replace(BUSY, num_running=2, paused=True), TrayState.PAUSED),
        (Snapshot(state=EngineState.LOADING), TrayState.WARMING),
        (Snapshot(state=EngineState.STOPPED), TrayState.IDLE),
        (Snapshot(state=EngineState.STOPPING, paused=True), TrayState.IDLE),
        (Snapshot(state=EngineState.FAILED, paused=True), TrayState.ERROR),
        (Snapshot(state=EngineState.HUNG), TrayState.ERROR),
        (Snapshot(state=EngineState.RESTARTING), TrayState.ERROR),
    ],
)
def test_what_the_shape_says(snapshot: Snapshot, state: TrayState) -> None:
    assert tray_state(snapshot) is state
    assert tooltip(snapshot, state).count("\n") == 1


def test_warming_is_nobodys_request() -> None:
    assert num_live(replace(BUSY, num_running=3, num_waiting=2, pins=(BUILDING, QUEUED))) == 3


def lines(snapshot: Snapshot, figures: Today = NOTHING, can_pin: bool = True) -> dict[Item, str]:
    """What can be read, line by line."""
    items = menu_items(snapshot, figures, can_pin=can_pin)
    assert [item.item for item in items] == [item for group in GROUPS for item in group]
    return {item.item: item.text for item in items if item.visible}


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({}, "ready"),
        ({"num_running": 1}, "1 request running"),
        ({"num_running": 3}, "3 requests running"),
        ({"num_running": 16, "num_waiting": 1200}, "16 running, 1,200 waiting"),
        ({"num_running": 1, "pins": (BUILDING,)}, "ready"),
        ({"paused": True}, "paused"),
        ({"paused": True, "num_waiting": 2}, "paused, 2 waiting"),
        ({"state": EngineState.LOADING}, "loading"),
        ({"state": EngineState.RESTARTING}, "restarting after an error"),
        ({"state": EngineState.HUNG}, "not answering"),
        ({"state": EngineState.FAILED}, "cannot be used"),
        ({"state": EngineState.STOPPED}, "stopped"),
    ],
)
def test_the_status_line(changes: dict[str, Any], status: str) -> None:
    snapshot = replace(READY, model_id="house/SmolLM2-135M", **changes)
    assert lines(snapshot)[Item.STATUS] == f"SmolLM2-135M: {status}"


def test_before_there_is_a_model() -> None:
    assert lines(Snapshot(state=EngineState.LOADING))[Item.STATUS] == "loading"


def test_lines_that_have_nothing_to_say_are_not_there() -> None:
    quiet = lines(READY)
    assert Item.PREFILL not in quiet
    assert Item.WARMING not in quiet
    snapshot = replace(BUSY, prefill_done=1920, prefill_tokens=4096, pins=(BUILDING,))
    busy = lines(snapshot)
    assert busy[Item.PREFILL] == "Reading a prompt: 1,920 of 4,096 tokens"
    assert busy[Item.WARMING] == "Warming a prefix: 45 %"
    both = lines(replace(snapshot, pins=(BUILDING, QUEUED)))
    assert both[Item.WARMING] == "Warming 2 prefixes: 22 %"


def test_lines_that_only_inform_cannot_be_chosen() -> None:
    items = {item.item: item for item in menu_items(READY, Today(), can_pin=False)}
    assert {item for item, line in items.items() if not line.enabled} == {
        *GROUPS[0],
        Item.PIN_LAST,
    }


def test_todays_figures() -> None:
    assert lines(READY)[Item.TODAY] == "Today: nothing reused yet"
    words = lines(READY, Today(reused_tokens=120_400, hits=85))[Item.TODAY]
    assert words == "Today: 120,400 tokens reused, cache hits: 85"


def test_pause_and_resume_are_one_line() -> None:
    assert lines(READY)[Item.PAUSE] == "Pause"
    assert lines(replace(READY, paused=True))[Item.PAUSE] == "Resume"


def test_today_begins_at_midnight_where_the_person_is() -> None:
    seoul = timezone(timedelta(hours=9))
    midnight = datetime(2027, 1, 15, tzinfo=seoul)
    rows = [
        MinuteRow(int(midnight.timestamp()) + minute * 60, hits=1, cached_tokens=10)
        for minute in range(-5, 5)
    ]
    assert today(rows, midnight + timedelta(minutes=4)) == Today(50, 5)
    assert today(rows, midnight.astimezone(UTC) + timedelta(minutes=4)) == Today(100, 10)


# The presenter


def minutes(**figures: int) -> list[MinuteRow]:
    return [MinuteRow(int(datetime.now(UTC).timestamp()) // 60 * 60, **figures)]


@pytest.fixture
def tray() -> FakeTray:
    return FakeTray()


@pytest.fixture
def presenter(tray: FakeTray, desk: Desk, clock: HouseClock) -> Iterator[TrayPresenter]:
    presenter = TrayPresenter(tray, desk, clock)
    yield presenter
    presenter.deleteLater()


def test_the_shape_follows_at_once_and_only_when_it_changes(
    tray: FakeTray, presenter: TrayPresenter, fake_desk: FakeDesk, clock: HouseClock
) -> None:
    clock.tick()
    assert tray.states == [TrayState.IDLE]
    fake_desk.snapshot = replace(BUSY, seq=2, num_running=1)
    clock.tick()
    fake_desk.snapshot = replace(BUSY, seq=3, num_running=1, num_pages=5)
    clock.tick()
    assert tray.states == [TrayState.IDLE, TrayState.WORKING]
    assert tray.tooltips[-1].startswith("Ondol is working\n")


def test_the_lines_follow_once_a_second_and_only_when_they_change(
    tray: FakeTray, presenter: TrayPresenter, fake_desk: FakeDesk, clock: HouseClock
) -> None:
    before = len(tray.items)
    fake_desk.snapshot = replace(BUSY, seq=2, num_running=1)
    clock.tick()
    assert len(tray.items) == before
    clock.second.emit()
    clock.second.emit()
    assert len(tray.items) == before + 1
    assert tray.line(Item.STATUS).text.endswith("1 request running")


def test_todays_figures_are_read_now_and_then(
    qtbot: QtBot,
    tray: FakeTray,
    presenter: TrayPresenter,
    fake_desk: FakeDesk,
    clock: HouseClock,
) -> None:
    assert len(fake_desk.asked("last_24_hours")) == 1
    for _ in range(2 * REFRESH_S):
        clock.second.emit()
    assert len(fake_desk.asked("last_24_hours")) == 1
    fake_desk.minutes = minutes(cached_tokens=1234, hits=2)
    fake_desk.records.append(make_record(1))
    clock.tick()
    clock.second.emit()
    assert len(fake_desk.asked("last_24_hours")) == 2
    fake_desk.records.append(make_record(2))
    clock.tick()
    clock.second.emit()
    assert len(fake_desk.asked("last_24_hours")) == 2
    qtbot.waitUntil(lambda: tray.line(Item.TODAY).text.startswith("Today: 1,234 tokens"))


def test_an_opening_menu_shows_what_is_known_now(
    qtbot: QtBot, tray: FakeTray, presenter: TrayPresenter, fake_desk: FakeDesk
) -> None:
    fake_desk.can_pin_last_request = True
    fake_desk.minutes = minutes(cached_tokens=9, hits=1)
    presenter.refresh()
    assert tray.line(Item.PIN_LAST).enabled
    qtbot.waitUntil(lambda: tray.line(Item.TODAY).text.startswith("Today: 9 tokens"))


def test_without_a_database_the_menu_still_works(
    qtbot: QtBot, tray: FakeTray, presenter: TrayPresenter, fake_desk: FakeDesk, clock: HouseClock
) -> None:
    fake_desk.errors["last_24_hours"] = OSError("no disk")
    presenter.refresh()
    clock.second.emit()
    assert tray.line(Item.TODAY).text == "Today: nothing reused yet"


# What a person does


class Called:
    def __init__(self) -> None:
        self.names: list[str] = []

    def window(self) -> None:
        self.names.append("window")

    def quit(self) -> None:
        self.names.append("quit")


@pytest.fixture
def called() -> Called:
    return Called()


@pytest.fixture
def actions(
    tray: FakeTray, presenter: TrayPresenter, desk: Desk, called: Called
) -> Iterator[TrayActions]:
    shelf = Shelf(lambda: None)
    actions = TrayActions(
        tray, presenter, desk, shelf, show_window=called.window, quit_app=called.quit
    )
    tray.attach(actions)
    yield actions
    shelf.close_all()
    actions.deleteLater()


def test_choices_reach_the_house(
    actions: TrayActions, tray: FakeTray, fake_desk: FakeDesk, called: Called
) -> None:
    tray.choose(Item.OPEN)
    actions.clicked()
    tray.choose(Item.QUIT)
    assert called.names == ["window", "window", "quit"]
    tray.choose(Item.PAUSE)
    fake_desk.snapshot = replace(READY, paused=True)
    tray.choose(Item.PAUSE)
    tray.choose(Item.STATUS)
    assert [name for name, _ in fake_desk.calls[1:]] == ["pause", "resume"]
    tray.choose(Item.COPY_URL)
    assert QGuiApplication.clipboard().text() == "http://127.0.0.1:8642/v1"


def find_name_dialog() -> NameDialog:
    (dialog,) = (
        w for w in QGuiApplication.instance().topLevelWidgets() if isinstance(w, NameDialog)
    )  # type: ignore[union-attr]
    return dialog


def test_the_last_request_is_pinned_under_a_name(
    qtbot: QtBot, actions: TrayActions, tray: FakeTray, fake_desk: FakeDesk
) -> None:
    tray.choose(Item.PIN_LAST)
    tray.choose(Item.PIN_LAST)
    dialog = find_name_dialog()
    assert dialog.name.text().startswith("Chat of ")
    dialog.name.clear()
    assert not dialog.pin.isEnabled()
    qtbot.keyClicks(dialog.name, " Kitchen ")
    fake_desk.errors["pin_last_request"] = ValueError("There is already one of that name.")
    dialog.pin.click()
    qtbot.waitUntil(dialog.error.isVisible)
    assert dialog.error.text() == "There is already one of that name."
    del fake_desk.errors["pin_last_request"]
    qtbot.keyClicks(dialog.name, "Kitchen 2")
    assert not dialog.error.isVisible()
    with qtbot.waitSignal(dialog.accepted):
        dialog.pin.click()
    assert fake_desk.asked("pin_last_request") == [("Kitchen",), ("Kitchen 2",)]
    assert tray.messages == [("Pinned", "“Kitchen 2” is being warmed.")]


# Qt's icon


@pytest.fixture
def qt_tray(qtbot: QtBot) -> Iterator[QtTray]:
    qt_tray = QtTray()
    yield qt_tray
    qt_tray.close()
    qt_tray.deleteLater()


class Heard:
    def __init__(self) -> None:
        self.events: list[object] = []

    def menu_opens(self) -> None:
        self.events.append("opens")

    def clicked(self) -> None:
        self.events.append("clicked")

    def chosen(self, item: Item) -> None:
        self.events.append(item)


def test_the_menu_changes_in_place(qt_tray: QtTray) -> None:
    before = qt_tray.menu.actions()
    assert sum(action.isSeparator() for action in before) == len(GROUPS) - 1
    qt_tray.set_items(menu_items(READY, Today(), can_pin=False))
    qt_tray.set_items((MenuItem(Item.STATUS, "Salt & pepper", enabled=False),))
    qt_tray.set_items((MenuItem(Item.PREFILL, "Reading", enabled=False, visible=True),))
    assert qt_tray.menu.actions() == before
    assert qt_tray.action(Item.STATUS).text() == "Salt && pepper"
    assert qt_tray.action(Item.PREFILL).isVisible()
    assert not qt_tray.action(Item.WARMING).isVisible()
    assert not qt_tray.action(Item.PIN_LAST).isEnabled()


@pytest.mark.qt_log_ignore("systemTrayWindowChanged")
def test_the_listener_hears_everything_and_nothing_after_the_end(qt_tray: QtTray) -> None:
    heard = Heard()
    qt_tray.action(Item.OPEN).trigger()
    qt_tray.attach(heard)
    qt_tray.menu.aboutToShow.emit()
    qt_tray.action(Item.OPEN).trigger()
    qt_tray.icon.activated.emit(QSystemTrayIcon.ActivationReason.Context)
    qt_tray.icon.activated.emit(QSystemTrayIcon.ActivationReason.Trigger)
    qt_tray.icon.messageClicked.emit()
    assert heard.events == ["opens", Item.OPEN, "clicked", "clicked"]
    qt_tray.close()
    qt_tray.action(Item.QUIT).trigger()
    assert heard.events[-1] == "clicked"


@pytest.mark.qt_log_ignore("systemTrayWindowChanged")
def test_on_macos_a_click_only_opens_the_menu(
    qt_tray: QtTray, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard = Heard()
    qt_tray.attach(heard)
    monkeypatch.setattr("sys.platform", "darwin")
    qt_tray.icon.activated.emit(QSystemTrayIcon.ActivationReason.Trigger)
    assert heard.events == []


def test_without_a_panel_it_is_not_visible_and_a_message_goes_nowhere(qt_tray: QtTray) -> None:
    assert not qt_tray.is_visible()
    qt_tray.notify("Pinned", "Kitchen")
    qt_tray.set_state(TrayState.ERROR, "Ondol needs attention")
    assert qt_tray.icon.toolTip() == "Ondol needs attention"


def test_every_state_has_a_shape_of_its_own(qtbot: QtBot) -> None:
    def shape(state: TrayState, size: int) -> list[int]:
        image = tray_icon(state, as_mask=True).pixmap(QSize(size, size)).toImage()
        image = image.convertToFormat(QImage.Format.Format_Alpha8)
        return [image.pixelColor(x, y).alpha() for x in range(size) for y in range(size)]

    shapes = {state: shape(state, 18) for state in TrayState}
    for one in TrayState:
        for other in TrayState:
            if one is not other:
                pairs = zip(shapes[one], shapes[other], strict=True)
                assert sum(abs(a - b) > 100 for a, b in pairs) > 18


def test_a_template_is_black_with_alpha_in_every_scale(qtbot: QtBot) -> None:
    icon = tray_icon(TrayState.WARMING, as_mask=True)
    assert icon.isMask()
    for scale in (1, 2, 3):
        image = icon.pixmap(QSize(18, 18), scale).toImage()
        assert image.width() == 18 * scale
        colors = {
            image.pixelColor(x, y).getRgb()[:3]
            for x in range(image.width())
            for y in range(image.height())
            if image.pixelColor(x, y).alpha()
        }
        assert colors == {(0, 0, 0)}
    assert not tray_icon(TrayState.WARMING, as_mask=False).isMask()
