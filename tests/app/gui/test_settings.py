"""The settings page: every choice stored at once, every error at its field."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import QDesktopServices, QGuiApplication
from PySide6.QtWidgets import QComboBox, QFileDialog, QLineEdit
from pytestqt.qtbot import QtBot

from app.desk import Desk
from app.gui.clock import HouseClock
from app.gui.futures import follow
from app.gui.pages.settings import SettingsPage, make_settings
from app.gui.pages.settings_memory import STEP_BYTES, about
from app.gui.pages.settings_server import parse_port
from app.settings import Settings
from app.storage.errors import DiskFull, NewerDatabase
from app.storage.settings_store import Appearance, Language, Preferences
from engine.config import AdmissionMode
from engine.errors import ModelError
from engine.model.info import AttentionMode
from engine.snapshot import EngineState, Snapshot
from tests.support.fake_desk import LIMITS, MODEL, READY, FakeDesk

GIB = 1024**3


@dataclasses.dataclass
class Called:
    """What the page asked of the application."""

    restarts: int = 0
    removals: int = 0
    appearances: list[Appearance] = dataclasses.field(default_factory=list)


@pytest.fixture
def called() -> Called:
    return Called()


@pytest.fixture
def make_page(
    qtbot: QtBot, desk: Desk, clock: HouseClock, called: Called
) -> Callable[[], SettingsPage]:
    def restart() -> None:
        called.restarts += 1

    def remove() -> None:
        called.removals += 1

    def make() -> SettingsPage:
        page = make_settings(
            desk,
            clock,
            restart=restart,
            apply_appearance=called.appearances.append,
            remove_everything=remove,
        )
        assert isinstance(page, SettingsPage)
        qtbot.addWidget(page)
        page.resize(800, 900)
        page.show()
        return page

    return make


@pytest.fixture
def page(qtbot: QtBot, make_page: Callable[[], SettingsPage]) -> SettingsPage:
    """With everything read."""
    made = make_page()
    qtbot.waitUntil(made.server.login.isEnabled)
    qtbot.waitUntil(made.memory.how.isEnabled)
    return made


def wait_for_answers(qtbot: QtBot, page: SettingsPage, desk: FakeDesk) -> None:
    """Answers come in the order in which they were given."""
    with qtbot.waitCallback() as arrived:
        follow(desk.removal(), page, arrived)


# Reading


def test_a_model_of_the_command_line_is_no_starter(
    make_page: Callable[[], SettingsPage], fake_desk: FakeDesk
) -> None:
    fake_desk.given = Settings(model=Path("/models/Given-1B"))
    page = make_page()
    assert "/models/Given-1B, as the command line says, for this run." in page.model.row.help.text()
    assert not page.model.starter.isHidden()


def test_what_the_command_line_gave_is_told_until_a_choice_takes_its_place(
    qtbot: QtBot, make_page: Callable[[], SettingsPage], fake_desk: FakeDesk
) -> None:
    fake_desk.given = Settings(
        kv_budget_bytes=3 * GIB, admission=AdmissionMode.BALANCED, max_running=5
    )
    page = make_page()
    qtbot.waitUntil(page.memory.admission.choice.isEnabled)
    told = [
        (page.memory.row, "3.0 GiB for this run, as the command line says."),
        (page.memory.admission, "For this run, as the command line says: Balanced."),
        (page.memory.at_once, "5 for this run, as the command line says."),
    ]
    for row, words in told:
        assert words in row.help.text().splitlines()
    fake_desk.given = Settings()
    page.entered()
    for row, _ in told:
        assert row.help.text()
        assert "command line" not in row.help.text()


@pytest.mark.parametrize(
    ("mode", "words"),
    [
        (AttentionMode.SHARED, None),
        (AttentionMode.COPIES, "Its prompts stay warm; requests take turns."),
        (
            AttentionMode.PRIVATE,
            "Its prompts cannot be kept warm, since their state cannot be restored exactly:"
            " its layers keep their past in ChunkedKVCache.",
        ),
    ],
)
def test_says_whether_the_models_prompts_stay_warm(
    mode: AttentionMode,
    words: str | None,
    make_page: Callable[[], SettingsPage],
    fake_desk: FakeDesk,
) -> None:
    reason = "its layers keep their past in ChunkedKVCache"
    fake_desk.model = dataclasses.replace(MODEL, attention=mode, attention_reason=reason)
    page = make_page()
    lines = page.model.row.help.text().splitlines()
    assert (words in lines) if words else not any("prompts" in line for line in lines)


def test_shows_what_is_stored(
    qtbot: QtBot, fake_desk: FakeDesk, make_page: Callable[[], SettingsPage]
) -> None:
    fake_desk.login = True
    fake_desk.stored_preferences = Preferences(
        port=9000, kv_budget_bytes=2 * GIB, appearance=Appearance.DARK, language=Language.KOREAN
    )
    page = make_page()
    qtbot.waitUntil(page.memory.how.isEnabled)
    assert page.server.port.text() == "9000"
    assert page.server.login.isChecked()
    assert page.memory.slider.value() == 2 * GIB // STEP_BYTES
    assert page.memory.slider.isEnabled()
    assert page.look.appearance.current == 2
    assert page.look.language.currentText() == "한국어"
    assert not page.restart_bar.isVisible()


def test_nothing_can_be_set_before_it_is_read(
    qtbot: QtBot, fake_desk: FakeDesk, make_page: Callable[[], SettingsPage]
) -> None:
    fake_desk.held |= {"preferences", "kv_limits", "starts_at_login"}
    page = make_page()
    controls = (
        page.model.choose, page.memory.how, page.memory.slider, page.server.port,
        page.memory.admission.choice, page.memory.at_once.choice,
        page.server.login, page.look.appearance, page.look.language,
    )  # fmt: skip
    assert not any(control.isEnabled() for control in controls)
    for name in ("preferences", "kv_limits", "starts_at_login"):
        fake_desk.release(name)
    qtbot.waitUntil(lambda: all(c.isEnabled() for c in controls if c is not page.memory.slider))


def test_settings_that_cannot_be_read_say_why(
    qtbot: QtBot, fake_desk: FakeDesk, make_page: Callable[[], SettingsPage]
) -> None:
    fake_desk.errors["preferences"] = NewerDatabase(Path("ondol.sqlite3"), 9, 1)
    page = make_page()
    qtbot.waitUntil(page.trouble.isVisible)
    assert "newer Ondol" in page.trouble.text()


# Model


def test_a_folder_is_given_to_the_engine(
    qtbot: QtBot, page: SettingsPage, fake_desk: FakeDesk
) -> None:
    fake_desk.held.add("use_model")
    page.model.choose.click()
    (dialog,) = page.findChildren(QFileDialog)
    dialog.fileSelected.emit("/models/Qwen3")
    dialog.close()
    assert fake_desk.asked("use_model") == [(Path("/models/Qwen3"),)]
    assert "Looking the folder over" in page.model.row.help.text()
    assert not page.model.choose.isEnabled()
    fake_desk.stored_preferences = Preferences(model_folder=Path("/models/Qwen3"))
    fake_desk.release("use_model")
    qtbot.waitUntil(page.model.starter.isVisible)
    assert "/models/Qwen3" in page.model.row.help.text()


def test_a_refused_folder_is_told_at_the_row(
    qtbot: QtBot, page: SettingsPage, fake_desk: FakeDesk
) -> None:
    fake_desk.errors["use_model"] = ModelError("The model folder Music has no config.json.")
    page.model.use(Path("/home/someone/Music"))
    qtbot.waitUntil(page.model.row.note.isVisible)
    assert page.model.row.note.text() == (
        "The model folder Music has no config.json. The present model goes on."
        " Choose another folder."
    )
    del fake_desk.errors["use_model"]
    page.model.use(Path("/models/Good"))
    qtbot.waitUntil(lambda: not page.model.row.note.isVisible())


def test_a_broken_model_shows_the_way_out(
    qtbot: QtBot, page: SettingsPage, fake_desk: FakeDesk, clock: HouseClock
) -> None:
    fake_desk.snapshot = Snapshot(
        seq=5, state=EngineState.FAILED, reason="config.json is not valid JSON.", model_id="Bad"
    )
    fake_desk.model = None
    clock.tick()
    assert page.model.row.note.text() == (
        "config.json is not valid JSON. Choose another folder, or use the starter model."
    )
    page.model.starter.click()
    assert fake_desk.asked("use_model") == [(None,)]
    fake_desk.snapshot, fake_desk.model = READY, MODEL
    clock.tick()
    qtbot.waitUntil(lambda: not page.model.row.note.isVisible())
    assert page.model.row.name.text() == MODEL.id


def test_the_home_folder_is_shortened(
    qtbot: QtBot, fake_desk: FakeDesk, make_page: Callable[[], SettingsPage]
) -> None:
    fake_desk.stored_preferences = Preferences(model_folder=Path.home() / "models" / "X")
    page = make_page()
    qtbot.waitUntil(lambda: "~/models/X" in page.model.row.help.text())


# Memory


def test_automatic_memory_says_what_fits(page: SettingsPage) -> None:
    assert page.memory.figure.text() == "6.0 GiB"
    assert page.memory.fits.text() == (
        "Room for about 140,000 tokens, such as 17 conversations of 8,000."
    )
    assert not page.memory.slider.isEnabled()


def test_a_chosen_size_is_stored_once_and_waits_for_a_restart(
    qtbot: QtBot, page: SettingsPage, fake_desk: FakeDesk, called: Called
) -> None:
    page.memory.how.choose(1)
    for steps in (10, 11, 12):
        page.memory.slider.setValue(steps)
    assert page.memory.figure.text() == "3.0 GiB"
    qtbot.waitUntil(page.restart_bar.isVisible)
    assert len(fake_desk.asked("update_preferences")) == 1
    assert fake_desk.stored_preferences.kv_budget_bytes == 3 * GIB
    assert page.restart_bar.what.text() == "Takes effect after a restart: memory"
    page.restart_bar.button.click()
    assert called.restarts == 1
    assert not page.restart_bar.isVisible()


def test_back_to_automatic_nothing_waits(
    qtbot: QtBot, page: SettingsPage, fake_desk: FakeDesk
) -> None:
    page.memory.how.choose(1)
    qtbot.waitUntil(page.restart_bar.isVisible)
    page.memory.how.choose(0)
    qtbot.waitUntil(lambda: not page.restart_bar.isVisible())
    assert fake_desk.stored_preferences.kv_budget_bytes is None


def test_a_choice_is_not_lost_when_the_page_goes(page: SettingsPage, fake_desk: FakeDesk) -> None:
    page.memory.how.choose(1)
    page.memory.slider.setValue(8)
    page.hide()
    assert fake_desk.stored_preferences.kv_budget_bytes == 2 * GIB


def test_a_size_beyond_the_machine_is_shown_as_it_is(
    qtbot: QtBot, fake_desk: FakeDesk, make_page: Callable[[], SettingsPage]
) -> None:
    fake_desk.stored_preferences = Preferences(kv_budget_bytes=64 * GIB)
    page = make_page()
    qtbot.waitUntil(page.memory.how.isEnabled)
    assert page.memory.figure.text() == "64.0 GiB"


def test_small_windows_give_smaller_conversations(
    qtbot: QtBot, page: SettingsPage, fake_desk: FakeDesk, clock: HouseClock
) -> None:
    fake_desk.model = dataclasses.replace(MODEL, context_window=2048)
    fake_desk.snapshot = dataclasses.replace(READY, seq=2)
    clock.tick()
    qtbot.waitUntil(lambda: "conversations of 2,000" in page.memory.fits.text())
    fake_desk.model = None
    fake_desk.snapshot = dataclasses.replace(READY, seq=3)
    clock.tick()
    qtbot.waitUntil(lambda: "once a model is loaded" in page.memory.fits.text())


def choose(combo: QComboBox, data: object) -> None:
    """As a person does."""
    number = combo.findData(data)
    combo.setCurrentIndex(number)
    combo.activated.emit(number)


@pytest.mark.parametrize("mode", list(AdmissionMode))
def test_each_way_of_sharing_memory_is_explained_and_stored(
    qtbot: QtBot, page: SettingsPage, fake_desk: FakeDesk, mode: AdmissionMode
) -> None:
    row = page.memory.admission
    before = row.help.text()
    assert row.choice.currentData() is AdmissionMode.PROTECT_CACHE
    choose(row.choice, mode)
    assert fake_desk.stored_preferences.admission is mode
    assert (row.help.text() == before) is (mode is AdmissionMode.PROTECT_CACHE)
    assert row.help.text() == row.choice.currentData(Qt.ItemDataRole.ToolTipRole)
    wait_for_answers(qtbot, page, fake_desk)
    assert page.restart_bar.isVisible() is (mode is not AdmissionMode.PROTECT_CACHE)


def test_how_many_answers_at_once_waits_for_a_restart(
    qtbot: QtBot, page: SettingsPage, fake_desk: FakeDesk
) -> None:
    row = page.memory.at_once
    assert row.choice.currentText() == "Automatic"
    assert "Automatic stops at 16." in row.help.text()
    choose(row.choice, 4)
    qtbot.waitUntil(page.restart_bar.isVisible)
    assert fake_desk.stored_preferences.max_running == 4
    assert page.restart_bar.what.text() == "Takes effect after a restart: answers at once"
    choose(row.choice, None)
    qtbot.waitUntil(lambda: not page.restart_bar.isVisible())
    assert fake_desk.stored_preferences.max_running is None


def test_a_number_that_is_not_offered_is_shown_as_it_is(
    qtbot: QtBot, fake_desk: FakeDesk, make_page: Callable[[], SettingsPage]
) -> None:
    fake_desk.stored_preferences = Preferences(max_running=5)
    page = make_page()
    qtbot.waitUntil(page.memory.at_once.choice.isEnabled)
    assert page.memory.at_once.choice.currentText() == "5"


def test_a_way_of_sharing_that_cannot_be_stored_says_why(
    qtbot: QtBot, page: SettingsPage, fake_desk: FakeDesk
) -> None:
    fake_desk.errors["update_preferences"] = DiskFull("The disk is full.")
    choose(page.memory.admission.choice, AdmissionMode.AUTO)
    qtbot.waitUntil(page.memory.admission.note.isVisible)
    assert page.memory.admission.note.text() == "The disk is full."


@pytest.mark.parametrize(
    ("number", "rounded"), [(139_810, 140_000), (144_999, 140_000), (99, 99), (0, 0), (995, 1000)]
)
def test_about_keeps_two_digits(number: int, rounded: int) -> None:
    assert about(number) == rounded


def test_limits_are_asked_again_for_another_model(
    qtbot: QtBot, page: SettingsPage, fake_desk: FakeDesk, clock: HouseClock
) -> None:
    fake_desk.limits = dataclasses.replace(LIMITS, automatic=4 * GIB)
    fake_desk.model = dataclasses.replace(MODEL, id="larger")
    fake_desk.snapshot = dataclasses.replace(READY, seq=2, model_id="larger")
    clock.tick()
    qtbot.waitUntil(lambda: page.memory.figure.text() == "4.0 GiB")


# Server


@pytest.mark.parametrize(
    ("typed", "port"),
    [
        ("8642", 8642), (" 9000 ", 9000), ("1024", 1024), ("65535", 65535), ("1023", None),
        ("0", None), ("65536", None), ("99999999999", None), ("", None), ("-1", None),
        ("80a", None), ("８６４２", None), ("8 642", None),
    ],
)  # fmt: skip
def test_ports_that_may_be_typed(typed: str, port: int | None) -> None:
    assert parse_port(typed) == port


def type_port(qtbot: QtBot, field: QLineEdit, text: str) -> None:
    field.selectAll()
    qtbot.keyClicks(field, text)
    qtbot.keyClick(field, Qt.Key.Key_Return)


def test_a_port_is_stored_and_waits_for_a_restart(
    qtbot: QtBot, page: SettingsPage, fake_desk: FakeDesk
) -> None:
    type_port(qtbot, page.server.port, "9000")
    qtbot.waitUntil(page.restart_bar.isVisible)
    assert fake_desk.stored_preferences.port == 9000
    assert "Until the restart clients find Ondol at http://127.0.0.1:8642." in (
        page.server.port_row.help.text()
    )


def test_a_wrong_port_is_told_and_not_stored(
    qtbot: QtBot, page: SettingsPage, fake_desk: FakeDesk
) -> None:
    type_port(qtbot, page.server.port, "80")
    assert page.server.port_row.note.text() == "Choose a number from 1024 to 65535."
    assert fake_desk.asked("update_preferences") == []
    assert page.server.port.text() == "80"
    type_port(qtbot, page.server.port, "9000")
    qtbot.waitUntil(lambda: fake_desk.stored_preferences.port == 9000)
    assert not page.server.port_row.note.isVisible()


def test_a_full_disk_is_told_at_the_field(
    qtbot: QtBot, page: SettingsPage, fake_desk: FakeDesk
) -> None:
    fake_desk.errors["update_preferences"] = DiskFull("The disk is full.")
    type_port(qtbot, page.server.port, "9000")
    qtbot.waitUntil(page.server.port_row.note.isVisible)
    assert page.server.port_row.note.text() == "The disk is full."
    assert not page.restart_bar.isVisible()


def test_start_at_login_is_turned_and_read_back(
    qtbot: QtBot, page: SettingsPage, fake_desk: FakeDesk
) -> None:
    page.server.login.setFocus()
    qtbot.keyClick(page.server.login, Qt.Key.Key_Space)
    qtbot.waitUntil(page.server.login.isEnabled)
    assert fake_desk.asked("start_at_login") == [(True,)]
    assert page.server.login.isChecked()
    fake_desk.login = False  # somebody removes it in the system's settings
    page.hide()
    page.show()
    qtbot.waitUntil(lambda: not page.server.login.isChecked())


def test_a_login_item_that_cannot_be_written_leaves_the_switch(
    qtbot: QtBot, page: SettingsPage, fake_desk: FakeDesk
) -> None:
    fake_desk.errors["start_at_login"] = PermissionError(13, "Permission denied")
    page.server.login.click()
    qtbot.waitUntil(page.server.login_row.note.isVisible)
    assert not page.server.login.isChecked()
    assert page.server.login_row.note.text().endswith("Permission denied.")


# Look


def test_appearance_applies_at_once_and_is_stored(
    page: SettingsPage, fake_desk: FakeDesk, called: Called
) -> None:
    page.look.appearance.choose(2)
    assert called.appearances == [Appearance.DARK]
    assert fake_desk.stored_preferences.appearance is Appearance.DARK
    assert not page.restart_bar.isVisible()


def test_language_waits_for_a_restart(
    qtbot: QtBot, page: SettingsPage, fake_desk: FakeDesk
) -> None:
    page.look.language.setFocus()
    qtbot.keyClick(page.look.language, Qt.Key.Key_Down)
    qtbot.waitUntil(page.restart_bar.isVisible)
    assert fake_desk.stored_preferences.language is Language.ENGLISH
    assert page.restart_bar.what.text() == "Takes effect after a restart: language"


def test_running_requests_are_named_before_a_restart(
    qtbot: QtBot, page: SettingsPage, fake_desk: FakeDesk, clock: HouseClock
) -> None:
    type_port(qtbot, page.server.port, "9000")
    qtbot.waitUntil(page.restart_bar.isVisible)
    assert "end with an error" not in page.restart_bar.cost.text()
    fake_desk.snapshot = dataclasses.replace(READY, seq=2, num_running=1)
    clock.tick()
    assert "end with an error" in page.restart_bar.cost.text()


# Files


def test_folders_are_opened(
    page: SettingsPage, fake_desk: FakeDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[QUrl] = []
    monkeypatch.setattr(QDesktopServices, "openUrl", lambda url: opened.append(url) or True)
    page.files.open_data.click()
    page.files.open_logs.click()
    assert [url.toLocalFile() for url in opened] == [
        str(fake_desk.data_folder),
        str(fake_desk.log_folder),
    ]


def test_diagnostics_are_copied(qtbot: QtBot, page: SettingsPage, fake_desk: FakeDesk) -> None:
    page.files.copy_diagnostics.click()
    qtbot.waitUntil(lambda: QGuiApplication.clipboard().text() == "Ondol diagnostics")
    assert page.files.copy_diagnostics.text().strip() == "Copied"


def test_diagnostics_that_cannot_be_made_say_why(
    qtbot: QtBot, page: SettingsPage, fake_desk: FakeDesk
) -> None:
    fake_desk.errors["diagnostics"] = OSError(5, "Input/output error")
    with qtbot.waitSignal(page.files.copy_diagnostics.failed) as failed:
        page.files.copy_diagnostics.click()
    assert "Input/output error" in failed.args[0]


# Room


@pytest.mark.parametrize("width", [612, 792])
def test_nothing_is_wider_than_the_page(
    qtbot: QtBot,
    fake_desk: FakeDesk,
    make_page: Callable[[], SettingsPage],
    width: int,
) -> None:
    fake_desk.stored_preferences = Preferences(
        model_folder=Path("/models/mlx-community/Qwen3-30B-A3B-Instruct-2507-4bit")
    )
    page = make_page()
    page.resize(width, 560)
    qtbot.waitUntil(page.model.starter.isVisible)
    wait_for_answers(qtbot, page, fake_desk)
    for section in (page.model, page.memory, page.server, page.look, page.files, page.removal):
        assert section.width() >= section.minimumSizeHint().width()
        assert section.mapTo(page, section.rect().topRight()).x() < width
