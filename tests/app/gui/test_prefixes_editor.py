"""The sheets: writing, versions, and which policy tools are sent with."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication, QTextCursor
from PySide6.QtWidgets import QDialogButtonBox, QLabel, QLineEdit, QMessageBox, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from app.desk import Desk
from app.gui.prefixes.editor import EditorSheet
from app.gui.prefixes.field_note import FieldNote
from app.gui.prefixes.rows import PrefixRow
from app.gui.prefixes.together import TogetherSheet, likely_policy, policies_among
from app.gui.prefixes.versions import VersionsSheet
from app.storage.content import TemplateKind
from app.storage.errors import DiskFull
from app.storage.templates import Template
from engine.errors import EngineUnavailable
from tests.support.fake_desk import FakeDesk

TOOLS = json.dumps([{"type": "function", "function": {"name": "light"}}], indent=1)

MakeSheet = Callable[..., EditorSheet]


@pytest.fixture
def sheet(qtbot: QtBot, desk: Desk) -> MakeSheet:
    page = QWidget()
    qtbot.addWidget(page)

    def make(
        template: Template | None = None, kind: TemplateKind = TemplateKind.SYSTEM_POLICY
    ) -> EditorSheet:
        sheet = EditorSheet(desk, template.kind if template else kind, template, parent=page)
        sheet.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, on=False)
        sheet.show()
        return sheet

    return make


def notes(sheet: EditorSheet) -> list[str]:
    """What is said at fields now."""
    return [note.text() for note in sheet.findChildren(FieldNote) if not note.isHidden()]


def save_button(sheet: EditorSheet) -> QPushButton:
    (box,) = sheet.findChildren(QDialogButtonBox)
    return next(
        button
        for button in box.buttons()
        if box.buttonRole(button) is QDialogButtonBox.ButtonRole.AcceptRole
    )


def question(sheet: EditorSheet) -> QMessageBox:
    (box,) = sheet.findChildren(QMessageBox)
    return box


def type_at_end(sheet: EditorSheet, text: str) -> None:
    sheet.form.text.moveCursor(QTextCursor.MoveOperation.End)
    sheet.form.text.insertPlainText(text)


def test_a_new_one_is_stored(qtbot: QtBot, sheet: MakeSheet, fake_desk: FakeDesk) -> None:
    new = sheet()
    qtbot.keyClicks(new.form.name, " Home ")
    qtbot.keyClicks(new.form.tags, "family, , home")
    qtbot.keyClicks(new.form.text, "Be kind.")
    with qtbot.waitSignal(new.saved) as saved:
        save_button(new).click()
    assert saved.args is not None
    assert saved.args[0].name == "Home"
    (stored,) = fake_desk.versions_of[1]
    assert (stored.tags, stored.latest.content) == (("family", "home"), "Be kind.")
    assert not new.isVisible()


@pytest.mark.parametrize(
    ("name", "tags", "content", "said"),
    [
        ("", "", "x", "A name cannot be empty."),
        ("Home", "t" * 60, "x", "A tag can have 50 characters at most, and this has 60."),
        ("Home", "", "", "The text is empty."),
        ("policy", "", "x", "There is already a template named “Policy”. Choose another name."),
    ],
)
def test_what_is_wrong_is_said_at_its_field(
    qtbot: QtBot,
    sheet: MakeSheet,
    fake_desk: FakeDesk,
    name: str,
    tags: str,
    content: str,
    said: str,
) -> None:
    fake_desk.add("Policy")
    new = sheet()
    new.form.name.setText(name)
    new.form.tags.setText(tags)
    type_at_end(new, content)
    save_button(new).click()
    qtbot.waitUntil(lambda: said in notes(new))
    assert new.isVisible()
    assert new.isEnabled()
    assert len(fake_desk.versions_of) == 1


def test_json_is_checked_while_one_writes(qtbot: QtBot, sheet: MakeSheet) -> None:
    new = sheet(kind=TemplateKind.TOOL_SCHEMA)
    type_at_end(new, "[\n{]")
    with qtbot.waitSignal(new.form.price.checked):
        pass
    (said,) = notes(new)
    assert "line 2" in said
    (mark,) = new.form.text.extraSelections()
    assert mark.cursor.blockNumber() == 1
    new.form.text.clear()
    type_at_end(new, TOOLS)
    assert not notes(new)
    with qtbot.waitSignal(new.form.price.checked) as checked:
        pass
    assert checked.args == [None]
    qtbot.waitUntil(lambda: "tokens" in new.form.price.text())


def test_only_the_latest_price_is_shown(
    qtbot: QtBot, sheet: MakeSheet, fake_desk: FakeDesk
) -> None:
    fake_desk.held.add("price")
    new = sheet()
    type_at_end(new, "one two three")
    qtbot.waitUntil(lambda: len(fake_desk.asked("price")) == 1)
    type_at_end(new, " four")
    qtbot.waitUntil(lambda: len(fake_desk.asked("price")) == 2)
    fake_desk.release("price")
    qtbot.waitUntil(lambda: new.form.price.text().startswith("4 tokens · 180 KiB · 20 ms"))


def test_typing_asks_once(qtbot: QtBot, sheet: MakeSheet, fake_desk: FakeDesk) -> None:
    new = sheet()
    qtbot.keyClicks(new.form.text, "a few words")
    qtbot.waitUntil(lambda: "tokens" in new.form.price.text())
    assert len(fake_desk.asked("check_content")) == len(fake_desk.asked("price")) == 1


def test_without_a_model_there_is_no_price_yet(
    qtbot: QtBot, sheet: MakeSheet, fake_desk: FakeDesk
) -> None:
    fake_desk.errors["price"] = EngineUnavailable("Loading.")
    new = sheet()
    type_at_end(new, "Hi")
    qtbot.waitUntil(lambda: "as soon as a model serves" in new.form.price.text())


def test_a_new_version(qtbot: QtBot, sheet: MakeSheet, fake_desk: FakeDesk) -> None:
    template = fake_desk.add("Policy", content="Be kind.\n")
    edited = sheet(template)
    note = edited.form.note
    assert not note.isVisible()
    assert not save_button(edited).isEnabled()
    type_at_end(edited, "Be brief.\n")
    assert note.isVisible()
    assert save_button(edited).text() == "Save Version 2"
    note.setText("Brief")
    with qtbot.waitSignal(edited.saved) as saved:
        save_button(edited).click()
    assert saved.args is not None
    assert saved.args[1]
    assert fake_desk.asked("add_version") == [(1, "Be kind.\nBe brief.\n", "Brief")]
    assert not fake_desk.asked("rename")


def test_a_name_alone_makes_no_version(qtbot: QtBot, sheet: MakeSheet, fake_desk: FakeDesk) -> None:
    edited = sheet(fake_desk.add("Policy"))
    edited.form.name.setText("House policy")
    edited.form.tags.setText("a")
    assert save_button(edited).text() == "Save"
    with qtbot.waitSignal(edited.saved) as saved:
        save_button(edited).click()
    assert saved.args is not None
    assert not saved.args[1]
    (stored,) = fake_desk.versions_of[1]
    assert (stored.name, stored.tags) == ("House policy", ("a",))


def test_changes_are_shown_before_saving(
    qtbot: QtBot, sheet: MakeSheet, fake_desk: FakeDesk
) -> None:
    edited = sheet(fake_desk.add("Policy", content="Be kind.\n"))
    type_at_end(edited, "Be brief.\n")
    with qtbot.waitSignal(edited.form.changes.compared):
        edited.form.sides.choose(1)
    assert edited.form.changes.isVisible()
    assert "+ Be brief." in edited.form.changes.toPlainText()


def test_nothing_typed_is_lost_when_the_disk_is_full(
    qtbot: QtBot, sheet: MakeSheet, fake_desk: FakeDesk
) -> None:
    edited = sheet(fake_desk.add("Policy"))
    edited.form.name.setText("House policy")
    type_at_end(edited, " More.")
    fake_desk.errors["add_version"] = DiskFull("The disk is full.")
    save_button(edited).click()
    qtbot.waitUntil(lambda: "Not saved. The disk is full." in notes(edited))
    assert edited.isVisible()
    assert edited.form.text.content() == "Be kind. More."
    fake_desk.errors.clear()
    with qtbot.waitSignal(edited.saved):
        save_button(edited).click()
    assert len(fake_desk.asked("rename")) == 1  # that was stored already
    assert fake_desk.versions_of[1][-1].latest.content == "Be kind. More."


def test_it_cannot_be_closed_while_it_is_stored(
    qtbot: QtBot, sheet: MakeSheet, fake_desk: FakeDesk
) -> None:
    fake_desk.held.add("create_template")
    new = sheet()
    new.form.name.setText("Home")
    type_at_end(new, "Hi")
    save_button(new).click()
    new.close()
    assert new.isVisible()
    assert not new.isEnabled()
    with qtbot.waitSignal(new.saved):
        fake_desk.release("create_template")


def test_closing_asks_when_something_was_typed(qtbot: QtBot, sheet: MakeSheet) -> None:
    new = sheet()
    new.form.name.setText("Home")
    new.close()
    assert new.isVisible()
    question(new).reject()
    qtbot.waitUntil(lambda: not new.findChildren(QMessageBox))
    assert new.isVisible()
    assert new.form.name.text() == "Home"
    qtbot.keyClick(new, Qt.Key.Key_Escape)
    discard = next(button for button in question(new).buttons() if button.text() == "Discard")
    discard.click()
    assert not new.isVisible()


def test_closing_does_not_ask_when_nothing_was_typed(sheet: MakeSheet, fake_desk: FakeDesk) -> None:
    edited = sheet(fake_desk.add("Policy"))
    edited.close()
    assert not edited.isVisible()


def test_unusual_line_ends_are_told_and_kept_until_one_types(
    sheet: MakeSheet, fake_desk: FakeDesk
) -> None:
    edited = sheet(fake_desk.add("Policy", content="a\r\nb\nc"))
    assert "unusual line ends" in notes(edited)[0]
    assert edited.form.text.content() == "a\r\nb\nc"


# Versions


@pytest.fixture
def versions(qtbot: QtBot, desk: Desk, fake_desk: FakeDesk) -> VersionsSheet:
    template = fake_desk.add("Policy", content="Be kind.\n")
    fake_desk.add_version(1, "Be kind.\nBe brief.\n", "Brief")
    latest = fake_desk.versions_of[1][-1]
    sheet = VersionsSheet(desk, PrefixRow(latest))
    sheet.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, on=False)
    qtbot.addWidget(sheet)
    sheet.show()
    qtbot.waitUntil(lambda: sheet.list.count() == 2)
    assert template.latest.number == 1
    return sheet


def test_versions_newest_first_with_their_notes(qtbot: QtBot, versions: VersionsSheet) -> None:
    assert versions.list.item(0).text().splitlines()[::2] == ["Version 2", "Brief"]
    qtbot.waitUntil(lambda: "+ Be brief." in versions.diff.toPlainText())
    labels = [label.text() for label in versions.findChildren(QLabel)]
    assert "Changes since version 1" in labels
    versions.list.setCurrentRow(1)
    qtbot.waitUntil(lambda: "+ Be kind." in versions.diff.toPlainText())


def test_an_old_version_comes_back_as_a_new_one(
    qtbot: QtBot, versions: VersionsSheet, fake_desk: FakeDesk
) -> None:
    assert not versions.bring_back.isEnabled()
    versions.list.setCurrentRow(1)
    with qtbot.waitSignal(versions.broughtBack):
        versions.bring_back.click()
    qtbot.waitUntil(lambda: versions.list.count() == 3)
    assert fake_desk.asked("add_version")[-1] == (1, "Be kind.\n", "Back to version 1")


def test_the_text_of_a_version_is_copied(versions: VersionsSheet) -> None:
    versions.list.setCurrentRow(1)
    versions.copy.click()
    assert QGuiApplication.clipboard().text() == "Be kind.\n"


# Together with


def policy_rows(fake_desk: FakeDesk, *pinned: int) -> list[PrefixRow]:
    for name in ("One", "Two"):
        fake_desk.add(name, content=f"Policy {name}")
    fake_desk.add("Text", TemplateKind.DOCUMENT)
    for template_id in pinned:
        fake_desk.add_pin(template_id)
    return [
        PrefixRow(versions[-1], fake_desk.pin_of.get(template_id))
        for template_id, versions in fake_desk.versions_of.items()
    ]


@pytest.mark.parametrize(("pinned", "likely"), [((), None), ((2,), 2), ((1, 2), None)])
def test_the_only_pinned_policy_is_preselected(
    fake_desk: FakeDesk, pinned: tuple[int, ...], likely: int | None
) -> None:
    rows = policies_among(policy_rows(fake_desk, *pinned))
    assert [row.name for row in rows] == ["One", "Two"]
    tools = PrefixRow(fake_desk.add("Tools", TemplateKind.TOOL_SCHEMA, TOOLS))
    assert likely_policy(tools, rows) == likely


def test_the_policy_it_is_pinned_with_goes_first(fake_desk: FakeDesk) -> None:
    rows = policies_among(policy_rows(fake_desk, 2))
    tools = fake_desk.add("Tools", TemplateKind.TOOL_SCHEMA, TOOLS)
    fake_desk.add_pin(tools.id, 1)
    assert likely_policy(PrefixRow(tools, fake_desk.pin_of[tools.id]), rows) == 1


def test_the_policy_is_chosen_and_priced(qtbot: QtBot, desk: Desk, fake_desk: FakeDesk) -> None:
    rows = policies_among(policy_rows(fake_desk, 2))
    tools = PrefixRow(fake_desk.add("Tools", TemplateKind.TOOL_SCHEMA, TOOLS))
    sheet = TogetherSheet(desk, [tools], rows, "Pin")
    sheet.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, on=False)
    qtbot.addWidget(sheet)
    sheet.show()
    assert sheet.choice.currentText() == "Two"
    qtbot.waitUntil(lambda: len(fake_desk.asked("price")) == 1)
    assert fake_desk.asked("price")[0][2] == "Policy Two"
    sheet.choice.setCurrentIndex(0)
    with qtbot.waitSignal(sheet.chosen) as chosen:
        qtbot.keyClick(sheet, Qt.Key.Key_Return)
    assert chosen.args == [None]
    assert not sheet.isVisible()


def test_fields_have_names_for_screen_readers(sheet: MakeSheet) -> None:
    new = sheet()
    for field in new.findChildren(QLineEdit):
        labelled = any(label.buddy() is field for label in new.findChildren(QLabel))
        assert labelled or field.accessibleName()
