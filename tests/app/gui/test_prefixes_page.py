"""What a person does on the page of prefixes, with mouse and keyboard."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TypeVar

import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QAction, QDragEnterEvent, QDropEvent, QGuiApplication
from PySide6.QtWidgets import (
    QApplication,
    QComboBox,
    QFileDialog,
    QLabel,
    QLineEdit,
    QPushButton,
    QToolButton,
    QVBoxLayout,
    QWidget,
)
from pytestqt.qtbot import QtBot

from app.desk import Desk
from app.gui.clock import HouseClock
from app.gui.pages.prefixes import UNDO_MS, make_prefixes
from app.gui.prefixes.actions import Actions
from app.gui.prefixes.columns import Column
from app.gui.prefixes.drop import DropHint
from app.gui.prefixes.editor import EditorSheet
from app.gui.prefixes.notice import NoticeBar
from app.gui.prefixes.start_card import StartCard
from app.gui.prefixes.table import PrefixTable
from app.gui.prefixes.together import TogetherSheet
from app.gui.prefixes.versions import VersionsSheet
from app.gui.prefixes.welcome import Welcome
from app.gui.theme import theme
from app.storage.content import TemplateKind
from app.storage.errors import DatabaseLocked, DiskFull
from app.storage.settings_store import Appearance
from engine.errors import PinRefused
from engine.snapshot import PinState
from tests.support.fake_desk import FakeDesk

TOOLS = '[{"type": "function", "function": {"name": "light"}}]'

W = TypeVar("W", bound=QWidget)


class Driver:
    """The page as a person sees it."""

    def __init__(self, qtbot: QtBot, page: QWidget, desk: FakeDesk, clock: HouseClock) -> None:
        self.qtbot, self.page, self.desk, self.clock = qtbot, page, desk, clock
        self.table = self.one(PrefixTable)
        (self.actions,) = page.findChildren(Actions)
        self.unsaved, self.trouble, self.undo = page.findChildren(NoticeBar)

    def one(self, kind: type[W]) -> W:
        """The only widget of a kind."""
        (found,) = self.page.findChildren(kind)
        return found

    def names(self) -> list[str]:
        model = self.table.model()
        return [model.index(row, Column.NAME).data() for row in range(model.rowCount())]

    def cell(self, name: str, column: Column) -> str:
        return str(self.table.model().index(self.names().index(name), column).data())

    def select(self, *names: str) -> None:
        self.table.clearSelection()
        self.table.setSelectionMode(PrefixTable.SelectionMode.MultiSelection)
        for name in names:
            self.table.selectRow(self.names().index(name))
        self.table.setSelectionMode(PrefixTable.SelectionMode.ExtendedSelection)
        self.table.setFocus()

    def selected(self) -> list[str]:
        return [row.name for row in self.table.selected_rows()]

    def wait_for(self, *names: str) -> None:
        self.qtbot.waitUntil(lambda: self.names() == list(names))

    def texts(self) -> list[str]:
        """What can be read in labels and buttons."""
        labels = [label.text() for label in self.page.findChildren(QLabel) if label.isVisible()]
        buttons = [b.text() for b in self.page.findChildren(QPushButton) if b.isVisible()]
        return labels + buttons

    def press(self, text: str) -> None:
        (button,) = (
            button
            for button in self.page.findChildren(QPushButton)
            if button.isVisible() and button.text() == text
        )
        self.qtbot.mouseClick(button, Qt.MouseButton.LeftButton)

    def asked(self, name: str, *arguments: object) -> None:
        """Wait until the desk was asked for this, and for the list that follows it."""
        self.qtbot.waitUntil(lambda: arguments in self.desk.asked(name))
        self.qtbot.waitUntil(lambda: self.desk.calls[-1][0] in ("pins", "price"))

    def filter(self, kind: str) -> None:
        box = self.one(QComboBox)
        box.setCurrentIndex(box.findText(kind))


@pytest.fixture
def page(qtbot: QtBot, desk: Desk, clock: HouseClock) -> QWidget:
    """In a frame that shows its header controls, as the window does."""
    page = make_prefixes(desk, clock)
    controls = page.header_controls()
    assert controls is not None
    frame = QWidget()
    layout = QVBoxLayout(frame)
    layout.addWidget(controls)
    layout.addWidget(page)
    qtbot.addWidget(frame)
    frame.resize(800, 600)
    return frame


@pytest.fixture
def empty(qtbot: QtBot, page: QWidget, fake_desk: FakeDesk, clock: HouseClock) -> Driver:
    page.show()
    return Driver(qtbot, page, fake_desk, clock)


@pytest.fixture
def filled(qtbot: QtBot, page: QWidget, fake_desk: FakeDesk, clock: HouseClock) -> Driver:
    """Policy, Tools and Text, of which nothing is pinned."""
    fake_desk.add("Policy", content="Be kind.", tags=("home",))
    fake_desk.add("Tools", TemplateKind.TOOL_SCHEMA, TOOLS)
    fake_desk.add("Text", TemplateKind.DOCUMENT, "Once upon a time")
    page.show()
    driver = Driver(qtbot, page, fake_desk, clock)
    driver.wait_for("Policy", "Text", "Tools")
    return driver


# What is shown


def test_an_empty_page_teaches(qtbot: QtBot, empty: Driver) -> None:
    qtbot.waitUntil(empty.one(Welcome).isVisible)
    assert any("A prefix is what many requests begin with" in text for text in empty.texts())
    tools = empty.page.findChildren(StartCard)[1]
    qtbot.keyClick(tools, Qt.Key.Key_Space)
    assert empty.one(EditorSheet).form.kind is TemplateKind.TOOL_SCHEMA
    empty.one(EditorSheet).close()


def test_while_the_storage_is_read_it_says_so(
    qtbot: QtBot, fake_desk: FakeDesk, page: QWidget, clock: HouseClock
) -> None:
    fake_desk.held.add("pins")
    page.show()
    assert "Reading prefixes…" in Driver(qtbot, page, fake_desk, clock).texts()


def test_a_storage_that_cannot_be_read_has_a_way_out(
    qtbot: QtBot, fake_desk: FakeDesk, page: QWidget, clock: HouseClock
) -> None:
    fake_desk.add("Policy")
    fake_desk.errors["templates"] = DatabaseLocked("Close the other program.")
    page.show()
    driver = Driver(qtbot, page, fake_desk, clock)
    qtbot.waitUntil(lambda: "Close the other program." in driver.texts())
    fake_desk.errors.clear()
    driver.press("Try Again")
    driver.wait_for("Policy")
    assert driver.table.isVisible()


def test_the_first_is_selected_and_told(filled: Driver) -> None:
    filled.qtbot.waitUntil(lambda: "2 tokens · 90 KiB · 10 ms to compute" in filled.texts())
    texts = filled.texts()
    assert "Not warm" in texts
    assert "Not yet since it became warm" in texts
    assert "Send exactly this text as the system message, letter by letter." in texts
    assert any("System policy · Version 1" in text for text in texts)


def test_states_are_told_with_their_reasons(filled: Driver) -> None:
    filled.desk.add_pin(1)
    filled.desk.show_pin(1, PinState.FAILED, error="No room for 90 KiB.")
    filled.clock.tick()
    assert filled.cell("Policy", Column.STATE) == "Failed"
    assert "No room for 90 KiB." in filled.texts()
    state = filled.table.model().index(0, Column.STATE)
    assert state.data(Qt.ItemDataRole.ToolTipRole) == "No room for 90 KiB."
    filled.desk.show_pin(
        1, PinState.READY, num_tokens=2, hits=3, kept=False, last_hit_at=time.time()
    )
    filled.clock.tick()
    assert "It stays until memory is needed." in filled.texts()
    assert "3 times, last just now" in filled.texts()


def test_many_selected_are_summed_up(filled: Driver) -> None:
    filled.qtbot.waitUntil(lambda: "–" not in {filled.cell("Tools", Column.TOKENS)})
    filled.table.selectAll()
    assert any(text.startswith("3 prefixes selected\n") for text in filled.texts())


def test_search_and_kind(filled: Driver) -> None:
    search = filled.one(QLineEdit)
    filled.qtbot.keyClicks(search, "T")
    assert filled.names() == ["Text", "Tools"]
    filled.filter("Tool schemas")
    assert filled.names() == ["Tools"]
    search.setText("nothing")
    assert "No prefix matches" in filled.texts()
    filled.press("Show All")
    assert filled.names() == ["Policy", "Text", "Tools"]
    assert not search.text()


def test_every_column_sorts_by_its_header(filled: Driver) -> None:
    header = filled.table.horizontalHeader()
    x = header.sectionViewportPosition(Column.STATE) + 10
    filled.qtbot.mouseClick(
        header.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(x, header.height() // 2)
    )
    assert header.sortIndicatorSection() == Column.STATE


def test_narrow_names_stay_readable(filled: Driver) -> None:
    for width in (590, 770, 1240):
        filled.page.resize(width, 500)
        assert filled.table.columnWidth(Column.NAME) >= 150
        assert not filled.table.isColumnHidden(Column.STATE)
        assert not filled.table.horizontalScrollBar().maximum()
    assert not any(filled.table.isColumnHidden(column) for column in Column)


# Writing


def test_a_new_policy_by_keyboard(filled: Driver) -> None:
    filled.qtbot.keyClick(filled.table, Qt.Key.Key_N, Qt.KeyboardModifier.ControlModifier)
    sheet = filled.one(EditorSheet)
    filled.qtbot.keyClicks(sheet.form.name, "Manners")
    filled.qtbot.keyClicks(sheet.form.text, "Say please.")
    sheet.save()
    filled.wait_for("Manners", "Policy", "Text", "Tools")
    filled.qtbot.waitUntil(
        lambda: [row.name for row in filled.table.selected_rows()] == ["Manners"]
    )


def test_what_is_new_is_not_hidden_by_a_filter(filled: Driver) -> None:
    filled.filter("Documents")
    filled.actions.new[TemplateKind.HOUSE_INSTRUCTIONS].trigger()
    sheet = filled.one(EditorSheet)
    sheet.form.name.setText("Shoes")
    filled.qtbot.keyClicks(sheet.form.text, "Off.")
    sheet.save()
    filled.wait_for("Policy", "Shoes", "Text", "Tools")


def test_editing_lets_go_what_was_warmed_of_the_old_version(filled: Driver) -> None:
    filled.desk.show_pin(1, PinState.READY, num_tokens=2, kept=False)
    filled.clock.tick()
    filled.select("Policy")
    filled.qtbot.keyClick(filled.table, Qt.Key.Key_Return)
    sheet = filled.one(EditorSheet)
    filled.qtbot.keyClicks(sheet.form.text, "Always: ")
    sheet.save()
    filled.asked("add_version", 1, "Always: Be kind.", "")
    filled.asked("cancel_warming", 1)
    filled.qtbot.waitUntil(lambda: filled.cell("Policy", Column.VERSION) == "2")


def test_versions(filled: Driver) -> None:
    filled.press("Versions…")
    sheet = filled.one(VersionsSheet)
    filled.qtbot.waitUntil(lambda: sheet.list.count() == 1)
    sheet.close()


def test_the_text_is_copied(filled: Driver) -> None:
    filled.select("Text")
    filled.qtbot.keyClick(filled.table, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QGuiApplication.clipboard().text() == "Once upon a time"


# Pins


def test_pin_and_unpin(filled: Driver) -> None:
    filled.select("Policy", "Text")
    assert filled.actions.pin.isVisible()
    filled.qtbot.keyClick(filled.table, Qt.Key.Key_P, Qt.KeyboardModifier.ControlModifier)
    filled.asked("pin", 3, None)
    assert filled.desk.asked("pin") == [(1, None), (3, None)]
    filled.qtbot.waitUntil(lambda: filled.cell("Policy", Column.PINNED) == "Pinned")
    assert filled.cell("Policy", Column.STATE) == "Queued"
    assert filled.actions.unpin.isVisible()
    assert not filled.actions.pin.isVisible()
    filled.actions.unpin.trigger()
    filled.asked("unpin", 3)
    filled.qtbot.waitUntil(lambda: filled.cell("Policy", Column.PINNED) == "Not pinned")


def test_tools_are_pinned_together_with_a_policy(filled: Driver) -> None:
    filled.desk.add_pin(1)
    filled.page.hide()
    filled.page.show()
    filled.qtbot.waitUntil(lambda: filled.cell("Policy", Column.PINNED) == "Pinned")
    filled.select("Tools")
    filled.actions.pin.trigger()
    sheet = filled.one(TogetherSheet)
    assert sheet.choice.currentText() == "Policy"
    assert any("begins with its system policy" in text for text in filled.texts())
    filled.qtbot.keyClick(sheet, Qt.Key.Key_Return)
    filled.asked("pin", 2, 1)
    filled.qtbot.waitUntil(
        lambda: any("with “Policy” as the system message" in text for text in filled.texts())
    )
    assert filled.actions.together.isVisible()
    filled.actions.together.trigger()
    filled.one(TogetherSheet).choice.setCurrentIndex(0)
    filled.qtbot.keyClick(filled.one(TogetherSheet), Qt.Key.Key_Return)
    filled.asked("pin", 2, None)


def test_a_policy_is_not_asked_for_where_there_is_none(empty: Driver) -> None:
    empty.desk.add("Tools", TemplateKind.TOOL_SCHEMA, TOOLS)
    empty.page.hide()
    empty.page.show()
    empty.wait_for("Tools")
    empty.actions.pin.trigger()
    empty.asked("pin", 1, None)


def test_giving_up_the_question_pins_nothing(filled: Driver) -> None:
    filled.select("Tools")
    filled.actions.pin.trigger()
    filled.one(TogetherSheet).close()
    assert not filled.desk.asked("pin")


def test_a_refused_pin_is_told_with_its_figures(filled: Driver) -> None:
    filled.desk.errors["pin"] = PinRefused("It needs 2 GiB of 1 GiB.")
    filled.select("Policy", "Text")
    filled.actions.pin.trigger()
    filled.qtbot.waitUntil(filled.trouble.isVisible)
    assert filled.trouble.words == "“Policy” was not pinned. It needs 2 GiB of 1 GiB. (1 more)"


def test_warm_and_cancel(filled: Driver) -> None:
    filled.select("Policy")
    filled.actions.warm.trigger()
    filled.asked("warm", 1, None)
    filled.desk.show_pin(1, PinState.BUILDING, num_tokens=9, done_tokens=3, kept=False)
    filled.clock.tick()
    assert "Building 33 %" in filled.texts()
    assert not filled.actions.warm.isVisible()
    filled.press("Cancel")
    filled.asked("cancel_warming", 1)


def test_a_pin_under_way_is_cancelled_by_unpinning(filled: Driver) -> None:
    filled.select("Policy")
    filled.actions.pin.trigger()
    filled.asked("pin", 1, None)
    filled.qtbot.waitUntil(lambda: "Cancel and Unpin" in filled.texts())
    filled.press("Cancel and Unpin")
    filled.asked("unpin", 1)
    assert not filled.desk.asked("cancel_warming")


def test_a_failed_pin_is_tried_again_as_a_pin(filled: Driver) -> None:
    filled.desk.add_pin(2, 1)
    filled.desk.refusals[2] = "No room."
    filled.page.hide()
    filled.page.show()
    filled.qtbot.waitUntil(lambda: filled.cell("Tools", Column.STATE) == "Failed")
    filled.select("Tools")
    filled.press("Try Again")
    filled.asked("pin", 2, 1)
    assert not filled.desk.asked("warm")


# Deleting


def test_delete_and_undo(filled: Driver) -> None:
    filled.select("Policy", "Text")
    filled.qtbot.keyClick(filled.table, Qt.Key.Key_Delete)
    filled.wait_for("Tools")
    assert "2 prefixes were deleted." in filled.texts()
    filled.press("Undo")
    filled.wait_for("Policy", "Text", "Tools")
    assert not filled.undo.isVisible()


def test_undo_by_keyboard(filled: Driver) -> None:
    filled.select("Policy")
    filled.qtbot.keyClick(filled.table, Qt.Key.Key_Backspace)
    filled.wait_for("Text", "Tools")
    filled.qtbot.keyClick(filled.table, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    filled.wait_for("Policy", "Text", "Tools")


def test_undo_is_offered_for_ten_seconds(qtbot: QtBot) -> None:
    assert UNDO_MS == 10_000
    bar = NoticeBar("delete", "secondary")
    qtbot.addWidget(bar)
    bar.tell("Gone.", "Undo", for_ms=1)
    qtbot.waitUntil(lambda: not bar.isVisible())


def test_what_was_deleted_is_restored_later(filled: Driver) -> None:
    filled.select("Policy")
    filled.actions.delete.trigger()
    filled.wait_for("Text", "Tools")
    filled.undo.dismiss()
    filled.filter("Deleted")
    assert filled.names() == ["Policy"]
    filled.select("Policy")
    assert filled.actions.restore.isVisible()
    assert not filled.actions.delete.isVisible()
    assert not filled.actions.edit.isVisible()
    filled.actions.restore.trigger()
    filled.qtbot.waitUntil(lambda: "Nothing was deleted" in filled.texts())
    filled.press("Show All")
    assert filled.names() == ["Policy", "Text", "Tools"]


def test_a_name_that_was_taken_meanwhile_is_told(filled: Driver) -> None:
    filled.select("Policy")
    filled.actions.delete.trigger()
    filled.wait_for("Text", "Tools")
    filled.desk.add("policy")
    filled.undo.press()
    filled.qtbot.waitUntil(filled.trouble.isVisible)
    assert filled.trouble.words.startswith("“Policy” was not restored. There is already")


def test_a_full_disk_is_told(filled: Driver) -> None:
    filled.desk.errors["delete"] = DiskFull("The disk is full.")
    filled.select("Policy")
    filled.actions.delete.trigger()
    filled.qtbot.waitUntil(filled.trouble.isVisible)
    assert filled.names() == ["Policy", "Text", "Tools"]
    assert not filled.undo.isVisible()


# Files


def drop(page: QWidget, *paths: Path) -> None:
    files = QMimeData()
    files.setUrls([QUrl.fromLocalFile(str(path)) for path in paths])
    rest = (Qt.DropAction.CopyAction, files, Qt.MouseButton.LeftButton, Qt.KeyboardModifier(0))
    entering = QDragEnterEvent(QPoint(50, 50), *rest)
    (hint,) = page.findChildren(DropHint)
    page = hint.parentWidget()
    QApplication.sendEvent(page, entering)
    assert entering.isAccepted()
    assert hint.isVisible()
    hint.grab()
    QApplication.sendEvent(page, QDropEvent(QPointF(50, 50), *rest))
    assert not hint.isVisible()


def test_a_dropped_file_becomes_a_template(filled: Driver, tmp_path: Path) -> None:
    file = tmp_path / "Lease.md"
    file.write_text("§1", encoding="utf-8")
    drop(filled.page, file)
    filled.wait_for("Lease", "Policy", "Text", "Tools")
    filled.qtbot.waitUntil(lambda: filled.selected() == ["Lease"])


def test_a_taken_name_is_offered_with_a_number(filled: Driver, tmp_path: Path) -> None:
    filled.desk.add("Policy 2")
    file = tmp_path / "policy.txt"
    file.write_text("Another", encoding="utf-8")
    filled.page.hide()
    filled.page.show()
    filled.wait_for("Policy", "Policy 2", "Text", "Tools")
    drop(filled.page, file)
    filled.qtbot.waitUntil(filled.trouble.isVisible)
    filled.press("Import as “Policy 3”")
    filled.wait_for("Policy", "Policy 2", "Policy 3", "Text", "Tools")
    assert not filled.trouble.isVisible()


def test_json_of_another_kind_is_offered_as_a_document(filled: Driver, tmp_path: Path) -> None:
    file = tmp_path / "weather.json"
    file.write_text('{"sunny": true}', encoding="utf-8")
    drop(filled.page, file)
    filled.qtbot.waitUntil(filled.trouble.isVisible)
    filled.press("Import as Document")
    filled.wait_for("Policy", "Text", "Tools", "weather")


def test_files_are_chosen_in_a_dialog(filled: Driver, tmp_path: Path) -> None:
    file = tmp_path / "Notes.txt"
    file.write_text("note", encoding="utf-8")
    filled.actions.from_file.trigger()
    dialog = filled.one(QFileDialog)
    dialog.filesSelected.emit([str(file)])
    dialog.close()
    filled.wait_for("Notes", "Policy", "Text", "Tools")


# For everybody


def test_the_menu_has_everything_that_can_be_done(filled: Driver) -> None:
    menu = filled.actions.context_menu(filled.page)
    offered = {action for action in menu.actions() if not action.isSeparator()}
    made = set(filled.actions.findChildren(QAction))
    assert offered == made - {*filled.actions.new.values(), filled.actions.from_file}


def test_buttons_with_icons_alone_have_names_and_tips(filled: Driver) -> None:
    buttons = [
        button
        for button in filled.page.findChildren(QToolButton)
        if not isinstance(button.parent(), QLineEdit)
    ]
    assert len(buttons) >= 7
    for button in buttons:
        assert button.accessibleName()
        assert button.toolTip()


def test_shortcuts_differ(filled: Driver) -> None:
    keys = [
        keys.toString()
        for action in filled.actions.findChildren(QAction)
        for keys in action.shortcuts()
    ]
    assert len(keys) == len(set(keys))


@pytest.mark.parametrize("appearance", [Appearance.LIGHT, Appearance.DARK])
def test_it_is_painted_in_both_schemes(
    filled: Driver, qapp: QApplication, appearance: Appearance
) -> None:
    for name in ("Four", "Five"):
        filled.desk.add(name)
    for number, state in enumerate(PinState, start=1):
        filled.desk.add_pin(number)
        filled.desk.show_pin(number, state, num_tokens=9, done_tokens=4)
    filled.page.hide()
    filled.page.show()
    filled.wait_for("Five", "Four", "Policy", "Text", "Tools")
    theme.apply(qapp, appearance, system_is_dark=False)
    filled.table.clearSelection()
    filled.table.selectRow(0)
    picture = filled.table.grab().toImage()
    row = filled.table.rowViewportPosition(1) + filled.table.horizontalHeader().height() + 4
    assert picture.pixelColor(4, row - filled.table.rowHeight(0)) == theme.color("accent")
    colors = {picture.pixelColor(x, y).name() for x in range(400) for y in range(row, row + 100)}
    assert theme.color("text").name() in colors


def test_hidden_it_rests(filled: Driver) -> None:
    filled.page.hide()
    filled.desk.calls.clear()
    for _ in range(12):
        filled.desk.show(num_pages=1)
        filled.clock.tick()
    assert not filled.desk.calls
