"""Removing everything from the settings page: exactly what goes is listed, and a word is asked."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from app.desk import Desk
from app.gui.clock import HouseClock
from app.gui.pages.settings import SettingsPage, make_settings
from app.gui.pages.settings_remove import RemoveDialog
from app.paths import Paths
from app.remove import Kind, NotOndols, Removal, Thing
from tests.support.fake_desk import FakeDesk


@pytest.fixture
def removed() -> list[str]:
    """What was asked to go."""
    return []


@pytest.fixture
def page(qtbot: QtBot, desk: Desk, clock: HouseClock, removed: list[str]) -> SettingsPage:
    made = make_settings(
        desk,
        clock,
        restart=lambda: None,
        apply_appearance=lambda appearance: None,
        remove_everything=lambda: removed.append("everything"),
    )
    assert isinstance(made, SettingsPage)
    qtbot.addWidget(made)
    made.resize(800, 900)
    made.show()
    qtbot.waitUntil(made.server.login.isEnabled)
    return made


@pytest.fixture
def removal() -> Removal:
    data, logs = Path("/data"), Path("/data/logs")
    things = (
        Thing(Kind.LOG, logs / "ondol.log", 3 * 1024**2),
        Thing(Kind.LOGIN_ITEM, Path("/home/x/.config/autostart/ondol.desktop"), 200),
        Thing(Kind.DATABASE, data / "ondol.sqlite3", 1024**2),
        Thing(Kind.MODEL, data / "models" / "Starter", 500 * 1024**2),
    )
    return Removal(Paths(data, logs), things, (data / "holiday.jpg",))


def open_dialog(
    qtbot: QtBot, page: SettingsPage, fake_desk: FakeDesk, removal: Removal
) -> RemoveDialog:
    fake_desk.planned_removal = removal
    page.removal.button.click()
    qtbot.waitUntil(lambda: bool(page.findChildren(RemoveDialog)))
    return page.findChildren(RemoveDialog)[0]


def test_lists_exactly_what_goes_with_sizes(
    qtbot: QtBot, page: SettingsPage, fake_desk: FakeDesk, removal: Removal
) -> None:
    dialog = open_dialog(qtbot, page, fake_desk, removal)
    listed = []
    for number in range(dialog.things.topLevelItemCount()):
        folder = dialog.things.topLevelItem(number)
        for row in range(folder.childCount()):
            item = folder.child(row)
            listed.append((str(Path(folder.text(0)) / item.text(0)), item.text(2)))
    assert listed == [
        ("/data/models/Starter", "500 MiB"),
        ("/data/ondol.sqlite3", "1 MiB"),
        ("/data/logs/ondol.log", "3 MiB"),
        ("/home/x/.config/autostart/ondol.desktop", "200 bytes"),
    ]
    dialog.reject()


def test_goes_only_after_the_word_was_typed(
    qtbot: QtBot, page: SettingsPage, fake_desk: FakeDesk, removal: Removal, removed: list[str]
) -> None:
    dialog = open_dialog(qtbot, page, fake_desk, removal)
    assert not dialog.remove.isEnabled()
    qtbot.keyClicks(dialog.typed, "remov")
    qtbot.keyClick(dialog.typed, Qt.Key.Key_Return)
    assert not dialog.remove.isEnabled()
    assert not removed
    qtbot.keyClicks(dialog.typed, "e")
    dialog.remove.click()
    assert removed == ["everything"]


def test_cancelling_removes_nothing(
    qtbot: QtBot, page: SettingsPage, fake_desk: FakeDesk, removal: Removal, removed: list[str]
) -> None:
    dialog = open_dialog(qtbot, page, fake_desk, removal)
    qtbot.keyClicks(dialog.typed, "remove")
    dialog.cancel.click()
    assert not removed


def test_a_folder_that_is_not_ondols_is_refused_at_the_row(
    qtbot: QtBot, page: SettingsPage, fake_desk: FakeDesk
) -> None:
    fake_desk.errors["removal"] = NotOndols("/tmp has no ondol.lock.")
    page.removal.button.click()
    qtbot.waitUntil(page.removal.row.note.isVisible)
    assert page.removal.row.note.text() == "/tmp has no ondol.lock."
    assert page.removal.button.isEnabled()
