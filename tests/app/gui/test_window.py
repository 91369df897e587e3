"""The window: its pages, its keys, what it remembers, and what it says of the engine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QCloseEvent, QKeySequence, QShortcut
from PySide6.QtWidgets import QApplication, QLabel, QListView, QPushButton, QWidget
from pytestqt.modeltest import ModelTester
from pytestqt.qtbot import QtBot

from app.desk import Desk
from app.gui.clock import HouseClock
from app.gui.notice import Notice
from app.gui.page import Page
from app.gui.sidebar import Places
from app.gui.status import Shape, describe
from app.gui.status_line import ShapeView, StatusLine
from app.gui.theme import theme
from app.gui.window import PageSpec, Window
from app.storage.errors import DiskFull
from app.storage.settings_store import Appearance
from engine.snapshot import EngineState, PinState, PinStatus, Snapshot
from tests.support.fake_desk import READY, FakeDesk

NAMES = ("dashboard", "prefixes", "requests", "connect", "settings")


class BlankPage(Page):
    """Knows only its name."""

    def __init__(self, desk: Desk, clock: HouseClock, name: str) -> None:
        super().__init__(desk, clock)
        self.icon_name = name
        self.looks = 0
        self._controls = QPushButton("Control") if name == "requests" else None

    def title(self) -> str:
        return f"The {self.icon_name}"

    def header_controls(self) -> QWidget | None:
        return self._controls

    def entered(self) -> None:
        self.looks += 1


@pytest.fixture
def made() -> list[BlankPage]:
    """The pages that were made so far."""
    return []


MakeWindow = Callable[[], Window]


@pytest.fixture
def make_window(
    qtbot: QtBot, desk: Desk, clock: HouseClock, tmp_path: Path, made: list[BlankPage]
) -> MakeWindow:
    def maker(name: str) -> Callable[[Desk, HouseClock], Page]:
        def make(desk: Desk, clock: HouseClock) -> Page:
            made.append(BlankPage(desk, clock, name))
            return made[-1]

        return make

    def make_it() -> Window:
        pages = [PageSpec(name, name.capitalize(), maker(name)) for name in NAMES]
        window = Window(desk, clock, pages, tmp_path / "gui" / "window.json")
        qtbot.addWidget(window)
        return window

    return make_it


@pytest.fixture
def window(qtbot: QtBot, make_window: MakeWindow) -> Window:
    shown = make_window()
    with qtbot.waitExposed(shown):
        shown.show()
    return shown


def press(window: Window, keys: str) -> None:
    """What the shortcut does: offscreen there is no window manager that makes windows active."""
    sequence = QKeySequence(keys)
    (shortcut,) = (each for each in window.findChildren(QShortcut) if each.key() == sequence)
    shortcut.activated.emit()


def test_a_page_is_made_when_it_is_first_looked_at(window: Window, made: list[BlankPage]) -> None:
    assert [page.icon_name for page in made] == ["dashboard"]
    window.show_page("connect")
    window.show_page("dashboard")
    window.show_page("connect")
    assert [page.icon_name for page in made] == ["dashboard", "connect"]
    assert [page.looks for page in made] == [2, 2]


def test_an_unknown_page_changes_nothing(window: Window) -> None:
    window.show_page("moon")
    assert window.page_name == "dashboard"


def test_numbers_and_arrows_choose_pages(qtbot: QtBot, window: Window) -> None:
    for number, name in enumerate(NAMES, start=1):
        press(window, f"Ctrl+{number}")
        assert window.page_name == name
    places = window.findChild(QListView)
    qtbot.keyClick(places, Qt.Key.Key_Up)
    assert window.page_name == "connect"
    qtbot.keyClick(places, Qt.Key.Key_Down)
    assert window.page_name == "settings"


def test_a_page_sends_to_another(window: Window, made: list[BlankPage]) -> None:
    made[0].pageRequested.emit("connect")
    assert window.page_name == "connect"


def test_the_heading_has_the_pages_name_and_its_controls(
    window: Window, made: list[BlankPage]
) -> None:
    window.show_page("requests")
    labels = [label.text() for label in window.findChildren(QLabel) if label.isVisible()]
    assert "The requests" in labels
    assert made[-1].header_controls().isVisible()


def test_the_sidebar_is_a_sound_model(qtmodeltester: ModelTester, window: Window) -> None:
    qtmodeltester.check(window.findChild(Places))


def test_closing_hides(qtbot: QtBot, window: Window, made: list[BlankPage]) -> None:
    with qtbot.waitSignal(window.hidden):
        press(window, "Ctrl+W")
    assert not window.isVisible()
    window.present()
    assert window.isVisible()
    assert len(made) == 1


def test_an_application_can_quit_while_the_window_is_open(window: Window) -> None:
    event = QCloseEvent()
    QApplication.sendEvent(window, event)
    assert event.isAccepted()  # a window that refuses would keep it from quitting


def test_size_and_page_come_back(qtbot: QtBot, make_window: MakeWindow) -> None:
    first = make_window()
    first.resize(first.minimumWidth(), 640)
    first.show_page("requests")
    with qtbot.waitExposed(first):
        first.show()
    first.close()
    second = make_window()
    assert second.height() == 640  # the offscreen screen is narrower than the smallest width
    assert second.page_name == "requests"


@pytest.mark.parametrize(
    "state",
    ["", "{}", "[1]", '{"geometry": "?", "page": 3}', '{"page": "moon"}', "[" * 5000],
    ids=range(6),
)
def test_a_broken_state_file_is_no_trouble(
    make_window: MakeWindow, tmp_path: Path, state: str
) -> None:
    (tmp_path / "gui").mkdir()
    (tmp_path / "gui" / "window.json").write_text(state)
    window = make_window()
    assert window.page_name == "dashboard"
    assert window.width() >= window.minimumWidth()


def test_a_page_that_is_gone_gives_way_to_the_first(
    make_window: MakeWindow, tmp_path: Path, window: Window
) -> None:
    window.close()
    file = tmp_path / "gui" / "window.json"
    file.write_text(file.read_text().replace("dashboard", "moon"))
    assert make_window().page_name == "dashboard"


def test_a_state_file_that_cannot_be_written_is_no_trouble(window: Window, tmp_path: Path) -> None:
    (tmp_path / "gui").write_text("a file where the folder should be")
    assert window.close()


def test_the_status_line_follows_the_engine(
    fake_desk: FakeDesk, clock: HouseClock, window: Window
) -> None:
    status = window.findChild(StatusLine)
    assert status.words == "Ready"
    fake_desk.snapshot = replace(READY, seq=2, state=EngineState.BUSY, num_running=3)
    clock.tick()
    assert status.words == "Busy with 3 requests"
    assert status.accessibleName() == "SmolLM2-135M-Instruct: Busy with 3 requests"


def test_a_hidden_window_looks_at_the_engine_when_it_is_shown(
    fake_desk: FakeDesk, clock: HouseClock, window: Window
) -> None:
    window.close()
    fake_desk.snapshot = replace(READY, seq=2, paused=True)
    clock.tick()
    status = window.findChild(StatusLine)
    assert status.words == "Ready"
    window.present()
    assert status.words == "Paused"


def test_a_broken_model_is_stated_with_the_way_out(
    qtbot: QtBot, fake_desk: FakeDesk, clock: HouseClock, window: Window
) -> None:
    fake_desk.snapshot = replace(
        READY, seq=2, state=EngineState.FAILED, reason="The folder has no config.json."
    )
    clock.tick()
    notice = window.findChild(Notice)
    assert notice.isVisible()
    assert notice.accessibleName() == "No model is running"
    assert (
        notice.accessibleDescription()
        == "The folder has no config.json. Choose another model in Settings."
    )
    qtbot.mouseClick(notice.findChild(QPushButton), Qt.MouseButton.LeftButton)
    assert window.page_name == "settings"
    fake_desk.snapshot = replace(READY, seq=3)
    clock.tick()
    assert not notice.isVisible()


def test_what_is_unusual_is_a_quiet_line(
    fake_desk: FakeDesk, clock: HouseClock, window: Window
) -> None:
    fake_desk.show(notice="The cache is smaller for now.")
    clock.tick()
    notice = window.findChild(Notice)
    assert notice.isVisible()
    assert notice.accessibleName() == "The cache is smaller for now."
    assert not notice.findChild(QPushButton).isVisible()
    fake_desk.storage_trouble = DiskFull("The disk is full.")
    clock.second.emit()
    assert notice.accessibleName() == "History is not being stored"
    fake_desk.storage_trouble = None
    fake_desk.show(notice="")
    clock.tick()
    assert not notice.isVisible()


def test_history_that_is_not_stored_is_told(
    fake_desk: FakeDesk, clock: HouseClock, window: Window
) -> None:
    fake_desk.storage_trouble = DiskFull("The disk is full.")
    clock.second.emit()
    notice = window.findChild(Notice)
    assert notice.accessibleName() == "History is not being stored"
    assert not notice.findChild(QPushButton).isVisible()
    fake_desk.storage_trouble = None
    clock.second.emit()
    assert not notice.isVisible()


WARMING = (
    PinStatus("a", PinState.BUILDING, num_tokens=300, done_tokens=100),
    PinStatus("b", PinState.QUEUED, num_tokens=100),
    PinStatus("c", PinState.READY, num_tokens=900, done_tokens=900),
)


@pytest.mark.parametrize(
    ("snapshot", "shape", "words"),
    [
        (Snapshot(), Shape.RING, "Stopped"),
        (Snapshot(state=EngineState.STOPPING), Shape.RING, "Stopping…"),
        (Snapshot(state=EngineState.LOADING), Shape.ARC, "Loading the model…"),
        (Snapshot(state=EngineState.RESTARTING), Shape.ARC, "Restarting…"),
        (Snapshot(state=EngineState.HUNG), Shape.TRIANGLE, "Not responding"),
        (Snapshot(state=EngineState.FAILED), Shape.OCTAGON, "No model is running"),
        (READY, Shape.DISC, "Ready"),
        (replace(READY, num_running=1), Shape.PLAY, "Busy with one request"),
        (replace(READY, num_running=1, num_waiting=4), Shape.PLAY, "Busy with 5 requests"),
        (replace(READY, num_running=1, num_waiting=1, pins=WARMING), Shape.FLAME, "Warming, 25 %"),
        (
            replace(READY, num_running=2, num_waiting=1, pins=WARMING),
            Shape.PLAY,
            "Busy with one request",
        ),
        (replace(READY, paused=True), Shape.BARS, "Paused"),
        (replace(READY, paused=True, num_running=2), Shape.BARS, "Pausing, 2 still running"),
        (replace(READY, paused=True, num_waiting=1), Shape.BARS, "Paused, 1 waiting"),
    ],
)
def test_each_state_has_words_and_a_shape(snapshot: Snapshot, shape: Shape, words: str) -> None:
    status = describe(snapshot)
    assert (status.shape, status.words) == (shape, words)


def test_states_that_need_somebody_say_what_to_do() -> None:
    troubled = {state for state in EngineState if describe(Snapshot(state=state)).is_trouble}
    assert troubled == {EngineState.HUNG, EngineState.RESTARTING, EngineState.FAILED}


@pytest.mark.parametrize("shape", Shape)
def test_every_shape_is_painted(qtbot: QtBot, shape: Shape) -> None:
    view = ShapeView()
    qtbot.addWidget(view)
    view.resize(view.sizeHint())
    blank = view.grab().toImage()
    view.show_shape(shape, "good")
    assert view.grab().toImage() != blank


def test_a_new_theme_reaches_the_window(window: Window, qapp: QApplication) -> None:
    window.grab()
    theme.apply(qapp, Appearance.DARK, system_is_dark=False)
    image = window.grab().toImage()
    assert image.pixelColor(100, window.height() // 2) == theme.color("sidebar")
    assert image.pixelColor(window.width() - 4, window.height() - 4) == theme.color("window")
