"""What was being written when Ondol had to end: kept, found again, and gone once it is saved."""

from __future__ import annotations

import stat
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtWidgets import QMessageBox, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from app.desk import Desk
from app.gui.clock import HouseClock
from app.gui.pages.prefixes import PrefixesPage
from app.gui.prefixes.editor import EditorSheet
from app.gui.prefixes.notice import NoticeBar
from app.gui.prefixes.unsaved import FILE_NAME, Unsaved, UnsavedWork
from app.storage.content import TemplateKind
from tests.support.fake_desk import FakeDesk

POLICY = Unsaved(TemplateKind.SYSTEM_POLICY, None, "House", "home, family", "Be kind.\r\nAlways.")


@pytest.fixture
def work(fake_desk: FakeDesk, tmp_path: Path) -> UnsavedWork:
    fake_desk.data_folder = tmp_path
    return UnsavedWork(tmp_path)


@pytest.fixture
def page(qtbot: QtBot) -> QWidget:
    page = QWidget()
    qtbot.addWidget(page)
    return page


def test_kept_to_the_letter_for_its_owner_alone(work: UnsavedWork, tmp_path: Path) -> None:
    odd = replace(POLICY, name="e\u0301 \ud800", content="\u2028 \ud83d\x00 온돌")
    work.keep(odd)
    assert work.all() == (odd,)
    assert stat.S_IMODE((tmp_path / FILE_NAME).stat().st_mode) == 0o600


def test_each_sheet_has_one_place(work: UnsavedWork) -> None:
    document = Unsaved(TemplateKind.DOCUMENT, None, "Oven", "", "180")
    edited = Unsaved(TemplateKind.DOCUMENT, 7, "Oven", "", None, "warmer")
    for unsaved in (POLICY, document, edited, replace(document, content="200")):
        work.keep(unsaved)
    assert work.all() == (POLICY, edited, replace(document, content="200"))
    assert work.find(TemplateKind.DOCUMENT, 7) == edited
    assert work.find(TemplateKind.DOCUMENT, 8) is None
    assert work.find(TemplateKind.TOOL_SCHEMA, None) is None
    work.forget(TemplateKind.DOCUMENT, 7)
    assert edited not in work.all()
    assert work.begin_anew(replace(edited, template_id=9)).template_id is None


@pytest.mark.parametrize("broken", ["", "{", "[1]", '[{"kind": "poem"}]', "[" * 5000], ids=range(5))
def test_a_broken_file_is_left_alone(work: UnsavedWork, tmp_path: Path, broken: str) -> None:
    (tmp_path / FILE_NAME).write_text(broken)
    assert work.all() == ()
    work.forget(TemplateKind.DOCUMENT, None)
    assert (tmp_path / FILE_NAME).read_text() == broken


def test_a_folder_that_cannot_be_written_to_ends_nothing(tmp_path: Path) -> None:
    UnsavedWork(tmp_path / "absent").keep(POLICY)
    assert not (tmp_path / "absent").exists()


def test_the_next_sheet_goes_on_and_saving_ends_it(
    qtbot: QtBot, desk: Desk, work: UnsavedWork, page: QWidget, fake_desk: FakeDesk
) -> None:
    sheet = EditorSheet(desk, TemplateKind.SYSTEM_POLICY, parent=page)
    sheet.form.name.setText("House")
    sheet.form.tags.setText("home")
    sheet.form.text.setPlainText("Be kind.")
    sheet.keep_unsaved()
    again = EditorSheet(desk, TemplateKind.SYSTEM_POLICY, parent=page)
    assert again.form.name.text() == "House"
    assert again.form.text.content() == ""  # `setPlainText` is nobody's typing
    again.form.text.insertPlainText("Be kind.")
    again.keep_unsaved()
    third = EditorSheet(desk, TemplateKind.SYSTEM_POLICY, parent=page)
    third.show()
    assert third.form.text.content() == "Be kind."
    assert third.has_changes
    with qtbot.waitSignal(third.saved):
        third.save()
    assert fake_desk.versions_of[1][0].latest.content == "Be kind."
    assert work.all() == ()


def test_line_ends_stay(desk: Desk, work: UnsavedWork, page: QWidget) -> None:
    work.keep(POLICY)
    sheet = EditorSheet(desk, TemplateKind.SYSTEM_POLICY, parent=page)
    assert sheet.form.text.content() == POLICY.content


def test_what_is_discarded_is_gone(desk: Desk, work: UnsavedWork, page: QWidget) -> None:
    work.keep(POLICY)
    sheet = EditorSheet(desk, TemplateKind.SYSTEM_POLICY, parent=page)
    sheet.show()
    sheet.reject()
    (box,) = sheet.findChildren(QMessageBox)
    next(b for b in box.findChildren(QPushButton) if b.text() == "Discard").click()
    assert work.all() == ()


def test_a_sheet_without_changes_keeps_nothing(
    desk: Desk, work: UnsavedWork, page: QWidget
) -> None:
    EditorSheet(desk, TemplateKind.SYSTEM_POLICY, parent=page).keep_unsaved()
    assert work.all() == ()


class TestPage:
    @pytest.fixture
    def prefixes(
        self, qtbot: QtBot, desk: Desk, clock: HouseClock, work: UnsavedWork
    ) -> PrefixesPage:
        prefixes = PrefixesPage(desk, clock)
        qtbot.addWidget(prefixes.header_controls())
        qtbot.addWidget(prefixes)
        return prefixes

    def bar(self, prefixes: PrefixesPage) -> NoticeBar:
        bar = prefixes.findChild(NoticeBar, "unsaved")
        assert isinstance(bar, NoticeBar)
        return bar

    def sheet(self, prefixes: PrefixesPage) -> EditorSheet:
        (sheet,) = prefixes.findChildren(EditorSheet)
        assert isinstance(sheet, EditorSheet)
        return sheet

    def test_nothing_is_offered_where_nothing_is(
        self, qtbot: QtBot, prefixes: PrefixesPage
    ) -> None:
        prefixes.show()
        qtbot.wait(10)
        assert self.bar(prefixes).isHidden()

    def test_the_template_is_gone_and_a_new_one_is_written(
        self, qtbot: QtBot, prefixes: PrefixesPage, work: UnsavedWork
    ) -> None:
        work.keep(Unsaved(TemplateKind.DOCUMENT, 77, "Oven", "", "200 degrees", "warmer"))
        prefixes.show()
        qtbot.waitUntil(lambda: not self.bar(prefixes).isHidden())
        self.bar(prefixes).press()
        sheet = self.sheet(prefixes)
        assert sheet.windowTitle() == "New Prefix"
        assert sheet.form.text.content() == "200 degrees"
        sheet.keep_unsaved()
        assert [item.template_id for item in work.all()] == [None]
        sheet.close()
        sheet.findChildren(QMessageBox)[0].done(0)
        sheet.deleteLater()

    def test_the_template_is_there_and_its_next_version_is_written(
        self, qtbot: QtBot, prefixes: PrefixesPage, work: UnsavedWork, fake_desk: FakeDesk
    ) -> None:
        template = fake_desk.create_template("Oven", TemplateKind.DOCUMENT, "180", ()).result()
        work.keep(Unsaved(TemplateKind.DOCUMENT, template.id, "Oven", "", "200", "warmer"))
        prefixes.show()
        qtbot.waitUntil(lambda: not self.bar(prefixes).isHidden())
        self.bar(prefixes).press()
        sheet = self.sheet(prefixes)
        assert sheet.windowTitle() == "Edit “Oven”"
        assert (sheet.form.text.content(), sheet.form.note.text()) == ("200", "warmer")
        with qtbot.waitSignal(sheet.saved):
            sheet.save()
        assert [version.latest.content for version in fake_desk.versions_of[template.id]] == [
            "180",
            "200",
        ]
        assert work.all() == ()
