"""The application's life: its start, its window, its dialogs and its end."""

from __future__ import annotations

import http.client
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import QLocale, Qt
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QApplication, QLabel, QLineEdit, QMessageBox
from pytestqt.qtbot import QtBot
from shiboken6 import isValid

from app.gui.dialogs import PortDialog
from app.gui.prefixes.editor import EditorSheet
from app.gui.prefixes.notice import NoticeBar
from app.gui.prefixes.unsaved import UnsavedWork
from app.gui.theme import theme
from app.gui.tray.menu import Item
from app.gui.tray.status import TrayState
from app.gui.window import Window
from app.paths import Paths, find_paths
from app.settings import Settings
from app.storage.content import TemplateKind
from app.storage.schema import open_database
from app.storage.settings_store import Appearance, Language, Preferences
from app.storage.store import FILE_NAME, Store
from engine.errors import ModelError
from engine.snapshot import EngineState
from tests.support.app_house import House, free_port

MakeHouse = Callable[..., House]


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    paths = find_paths(tmp_path / "data")
    paths.create()
    return paths


@pytest.fixture
def make_house(
    qtbot: QtBot, qapp: QApplication, paths: Paths, tmp_path: Path
) -> Iterator[MakeHouse]:
    """Houses that are closed at the end; they are asked for with fields of Settings."""
    made: list[House] = []
    before = QLocale()

    def make(**settings: object) -> House:
        given: dict[str, object] = {"port": 0, "model": tmp_path / "some-model"} | settings
        house = House(qtbot, qapp, paths, Settings(**given))  # type: ignore[arg-type]
        made.append(house)
        return house

    yield make
    for house in made:
        assert house.close()
    QLocale.setDefault(before)


@pytest.fixture
def house(make_house: MakeHouse) -> House:
    house = make_house()
    house.app.start()
    house.wait_ready()
    return house


def window_of(house: House) -> Window:
    assert house.app.window is not None
    return house.app.window


def prefer(paths: Paths, **changes: object) -> None:
    """Store preferences before anything starts."""
    store = Store(paths.data)
    store.open()
    store.update_preferences(lambda now: replace(now, **changes)).result(20)  # type: ignore[arg-type]
    store.close()


def stored(paths: Paths) -> Preferences:
    store = Store(paths.data)
    store.open()
    preferences = store.preferences().result(20)
    store.close()
    return preferences


def health(house: House) -> int:
    host, port = house.home.url.removeprefix("http://").split(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=5)
    connection.request("GET", "/health")
    status = connection.getresponse().status
    connection.close()
    return status


def test_the_window_stands_before_the_house_does(make_house: MakeHouse, paths: Paths) -> None:
    house = make_house()
    house.app.start()
    assert window_of(house).isVisible()
    assert not (paths.data / FILE_NAME).exists()
    assert house.home.desk.snapshot.reason == "Ondol is starting."
    assert house.tray.states == [TrayState.WARMING]
    house.wait_ready()
    assert health(house) == 200
    house.wait(lambda: house.tray.states[-1] is TrayState.IDLE)
    assert stored_while_running(house).last_run_clean is False


def stored_while_running(house: House) -> Preferences:
    future = house.home.desk.preferences()
    house.wait(future.done)
    return future.result()


def test_quitting_with_nothing_to_lose_is_quick_and_clean(house: House, paths: Paths) -> None:
    house.tray.choose(Item.QUIT)
    assert house.codes == [0]
    assert house.tray.closed
    assert house.close()
    assert stored(paths).last_run_clean


def test_quitting_asks_while_requests_run(house: House) -> None:
    house.run_request()
    house.tray.choose(Item.QUIT)
    house.app.quit()
    box = house.dialog(QMessageBox)
    assert box.text() == "A request is still running"
    assert box.defaultButton() is box.button(QMessageBox.StandardButton.Cancel)
    box.button(QMessageBox.StandardButton.Cancel).click()
    assert house.codes == []
    assert house.home.engine.health.ok
    house.app.quit()
    click(house.dialog(QMessageBox), "Quit")
    assert house.codes == [0]
    assert house.close()


def click(box: QMessageBox, text: str) -> None:
    (button,) = (button for button in box.buttons() if button.text() == text)
    button.click()


def test_what_is_being_written_is_not_lost(house: House) -> None:
    window = window_of(house)
    sheet = EditorSheet(house.home.desk, TemplateKind.DOCUMENT, parent=window)
    sheet.open()
    house.qtbot.keyClicks(sheet.findChild(QLineEdit), "Oven")
    assert sheet.has_changes
    house.app.quit()
    click(house.dialog(QMessageBox), "Discard")
    house.wait(lambda: not sheet_is_open(sheet))
    assert house.codes == []
    house.app.quit()
    assert house.codes == [0]


def sheet_is_open(sheet: EditorSheet) -> bool:
    return isValid(sheet) and sheet.isVisible()


def test_a_sheet_without_changes_is_no_reason_to_stay(house: House) -> None:
    EditorSheet(house.home.desk, TemplateKind.DOCUMENT, parent=window_of(house)).open()
    house.app.quit()
    assert house.codes == [0]


def test_opened_again_where_nothing_can_be_seen(house: House) -> None:
    window_of(house).close()
    house.app.reopen()
    assert window_of(house).isVisible()
    house.app.reopen()


def test_leaving_for_a_signal_asks_nobody(house: House) -> None:
    house.run_request()
    house.app.leave()
    house.app.leave()
    assert house.codes == [0]
    assert house.close()


def test_the_keyboard_quits_and_opens_the_settings(house: House) -> None:
    window = window_of(house)
    shortcuts = {key.key().toString(): key for key in window.findChildren(QShortcut)}
    shortcuts["Ctrl+,"].activated.emit()
    assert window.page_name == "settings"
    shortcuts[QKeySequence(QKeySequence.StandardKey.Quit).toString()].activated.emit()
    assert house.codes == [0]


def test_closing_the_window_leaves_ondol_in_the_menu_bar(house: House) -> None:
    window = window_of(house)
    window.close()
    assert not window.isVisible()
    assert house.codes == []
    house.tray.choose(Item.OPEN)
    assert window.isVisible()


def test_without_an_icon_closing_the_window_leaves_a_server_and_is_told_once(
    house: House, paths: Paths
) -> None:
    house.tray.visible = False
    window_of(house).close()
    box = house.dialog(QMessageBox)
    assert box.text() == "Ondol goes on without its window"
    assert "start Ondol once more" in box.informativeText()
    box.button(QMessageBox.StandardButton.Ok).click()
    assert house.codes == []
    assert health(house) == 200
    assert raise_in_another_process(house, paths) == 0
    assert window_of(house).isVisible()
    window_of(house).close()
    house.wait(lambda: stored_while_running(house).told_of_hiding)
    assert not any(widget.isVisible() for widget in house.qapp.topLevelWidgets())


def raise_in_another_process(house: House, paths: Paths) -> int:
    ask = "import sys; from pathlib import Path; from app.gui.raise_window import raise_running;"
    ask += "sys.exit(not raise_running(Path(sys.argv[1])))"
    process = subprocess.Popen([sys.executable, "-c", ask, str(paths.data)])
    house.wait(lambda: process.poll() is not None)
    return process.returncode


def test_what_was_told_in_another_run_is_not_told_again(
    make_house: MakeHouse, paths: Paths
) -> None:
    prefer(paths, told_of_hiding=True)
    house = make_house()
    house.tray.visible = False
    house.app.start()
    house.wait_ready()
    window_of(house).close()
    house.wait(house.home.desk.preferences().done)
    house.qapp.processEvents()
    assert not any(widget.isVisible() for widget in house.qapp.topLevelWidgets())
    assert house.codes == []


def test_told_that_it_goes_on_one_may_quit(house: House) -> None:
    house.tray.visible = False
    window_of(house).close()
    click(house.dialog(QMessageBox), "Quit Ondol")
    assert house.codes == [0]


def test_a_signal_keeps_what_is_being_written(
    make_house: MakeHouse, house: House, paths: Paths
) -> None:
    sheet = EditorSheet(house.home.desk, TemplateKind.DOCUMENT, parent=window_of(house))
    sheet.open()
    house.qtbot.keyClicks(sheet.form.name, "Oven")
    sheet.form.text.insertPlainText("180 degrees")
    house.app.leave()
    assert house.codes == [0]
    assert house.close()
    (kept,) = UnsavedWork(paths.data).all()
    assert (kept.name, kept.content, kept.kind) == ("Oven", "180 degrees", TemplateKind.DOCUMENT)
    second = make_house()
    second.app.start()
    second.wait_ready()
    window_of(second).show_page("prefixes")
    bar = window_of(second).findChild(NoticeBar, "unsaved")
    assert bar is not None
    second.wait(bar.isVisible)
    bar.press()
    (again,) = window_of(second).findChildren(EditorSheet)
    assert (again.form.name.text(), again.form.text.content()) == ("Oven", "180 degrees")
    assert again.has_changes
    again.save()
    second.wait(lambda: not sheet_is_open(again))
    assert UnsavedWork(paths.data).all() == ()


def test_removing_everything_keeps_nothing_that_is_unsaved(house: House, paths: Paths) -> None:
    sheet = EditorSheet(house.home.desk, TemplateKind.DOCUMENT, parent=window_of(house))
    sheet.open()
    house.qtbot.keyClicks(sheet.form.name, "Oven")
    house.app.remove_everything()
    assert UnsavedWork(paths.data).all() == ()


def test_started_at_login_there_is_only_the_icon(make_house: MakeHouse) -> None:
    house = make_house()
    house.start_hidden()
    house.wait_ready()
    assert house.app.window is None
    assert house.tray.listener is not None
    house.tray.listener.clicked()
    assert window_of(house).isVisible()


def test_started_at_login_without_a_panel_the_window_opens(
    make_house: MakeHouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.gui.application.TRAY_PATIENCE_MS", 1)
    house = make_house()
    house.tray.visible = False
    house.start_hidden()
    house.wait(lambda: house.app.window is not None)


def test_a_taken_port_is_replaced_and_remembered(make_house: MakeHouse, paths: Paths) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        prefer(paths, port=port)
        house = make_house(port=None)
        house.app.start()
        dialog = house.dialog(PortDialog)
        suggested = dialog.port.value()
        assert suggested > port
        assert dialog.use.text() == "Use This Port"
        dialog.port.setValue(port)
        assert dialog.use.text() == "Try Again"
        dialog.use.click()
        house.wait(lambda: not dialog_open(house, dialog))
        house.dialog(PortDialog).use.click()
        house.wait_ready()
    assert house.home.url.endswith(f":{suggested}")
    assert health(house) == 200
    assert stored_while_running(house).port == suggested


def dialog_open(house: House, dialog: PortDialog) -> bool:
    return dialog in house.qapp.topLevelWidgets()


def test_a_port_of_the_command_line_is_not_remembered(make_house: MakeHouse) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        house = make_house(port=taken.getsockname()[1])
        house.app.start()
        house.dialog(PortDialog).use.click()
        house.wait_ready()
    assert stored_while_running(house) == replace(Preferences(), last_run_clean=False)


def test_no_port_no_ondol(make_house: MakeHouse) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        house = make_house(port=taken.getsockname()[1])
        house.app.start()
        house.dialog(PortDialog).reject()
    assert house.codes == [0]


def test_a_newer_database_ends_it_with_a_clear_word(make_house: MakeHouse, paths: Paths) -> None:
    open_database(paths.data / FILE_NAME).close()
    with closing(sqlite3.connect(paths.data / FILE_NAME)) as connection:
        connection.execute("PRAGMA user_version = 99")
    house = make_house()
    house.app.start()
    box = house.dialog(QMessageBox)
    assert box.text() == "Ondol cannot start"
    assert "written by a newer Ondol" in box.informativeText()
    click(box, "Quit Ondol")
    assert house.codes == [1]


def test_a_broken_model_opens_the_window_with_the_reason(make_house: MakeHouse) -> None:
    house = make_house()
    house.runner.model_error = ModelError("config.json is not valid JSON.")
    house.start_hidden()
    house.wait(lambda: house.app.window is not None)
    assert house.home.desk.snapshot.state is EngineState.FAILED
    assert house.tray.states[-1] is TrayState.ERROR
    assert "config.json is not valid JSON." in visible_words(window_of(house))


def visible_words(window: Window) -> str:
    return " ".join(label.text() for label in window.findChildren(QLabel) if label.isVisible())


def test_a_dead_engine_is_told_once_and_comes_back(house: House) -> None:
    house.runner.fail_next.set()
    house.run_quietly()
    house.wait(lambda: len(house.tray.messages) == 2)
    assert [title for title, _ in house.tray.messages] == [
        "The engine stopped working",
        "Ondol is back",
    ]
    assert TrayState.ERROR in house.tray.states
    house.wait(lambda: house.tray.states[-1] is TrayState.IDLE)


def test_a_run_that_was_cut_off_is_told(make_house: MakeHouse, paths: Paths) -> None:
    prefer(paths, last_run_clean=False)
    house = make_house()
    house.app.start()
    house.wait(lambda: bool(house.tray.messages))
    assert house.tray.messages == [
        ("Ondol did not end properly last time", "What was saved is there. The log may say why.")
    ]


def test_without_an_icon_it_is_told_in_the_window(make_house: MakeHouse, paths: Paths) -> None:
    prefer(paths, last_run_clean=False)
    house = make_house()
    house.tray.visible = False
    house.app.start()
    box = house.dialog(QMessageBox)
    assert box.text() == "Ondol did not end properly last time"
    box.button(QMessageBox.StandardButton.Ok).click()
    house.wait_ready()


def test_a_restart_brings_new_settings_and_keeps_the_window(house: House) -> None:
    window, engine = window_of(house), house.home.engine
    port = free_port()
    house.home.desk.update_preferences(lambda now: replace(now, port=port))
    house.app.restart()
    house.wait(lambda: house.home.url.endswith(f":{port}"))
    house.wait_ready()
    assert house.home.engine is not engine
    assert house.app.window is window
    assert window.isVisible()


def test_a_restart_asks_while_requests_run(house: House) -> None:
    engine = house.home.engine
    house.run_request()
    house.app.restart()
    click(house.dialog(QMessageBox), "Restart")
    house.wait(lambda: house.home._door.engine not in (engine, None))
    house.wait_ready()


def test_a_restart_onto_a_taken_port_asks_for_another(house: House) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        house.home.desk.update_preferences(lambda now: replace(now, port=port))
        house.app.restart()
        house.dialog(PortDialog).use.click()
        house.wait_ready()
    assert health(house) == 200


def test_another_language_renews_the_window(house: House) -> None:
    before = window_of(house)
    before.show_page("requests")
    house.home.desk.update_preferences(lambda now: replace(now, language=Language.KOREAN))
    house.app.restart()
    house.wait(lambda: window_of(house) is not before)
    assert window_of(house).isVisible()
    assert window_of(house).page_name == "requests"
    assert QLocale().language() is QLocale.Language.Korean
    house.wait_ready()


def test_the_look_of_the_last_run_is_there_in_the_first_frame(
    make_house: MakeHouse, paths: Paths
) -> None:
    prefer(paths, appearance=Appearance.DARK)
    first = make_house()
    first.app.start()
    assert not theme.tokens.dark
    first.wait(lambda: theme.tokens.dark)
    first.wait_ready()
    first.close()
    second = make_house()
    second.app.start()
    assert theme.tokens.dark
    second.wait_ready()


def test_removal_comes_after_the_end(house: House) -> None:
    house.app.remove_everything()
    assert house.codes == [0]
    assert house.app.wants_removal


def test_every_page_can_be_looked_at(house: House) -> None:
    for page in ("dashboard", "prefixes", "requests", "connect", "settings"):
        window_of(house).show_page(page)
        assert window_of(house).page_name == page
    assert window_of(house).windowModality() is Qt.WindowModality.NonModal
