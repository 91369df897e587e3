"""Text goes through the window to the letter."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PySide6.QtCore import Qt
from PySide6.QtGui import QTextCursor
from pytestqt.qtbot import QtBot

from app.gui.prefixes import exact_text
from app.gui.prefixes.preview import MAX_LINE_CHARS, MAX_LINES, preview
from app.gui.prefixes.text_area import TextArea


@pytest.fixture
def area(qtbot: QtBot) -> TextArea:
    area = TextArea()
    qtbot.addWidget(area)
    return area


def touch(area: TextArea) -> None:
    """Type a letter at the end and take it away."""
    area.moveCursor(QTextCursor.MoveOperation.End)
    area.insertPlainText("x")
    area.textCursor().deletePreviousChar()
    area.document().setModified(True)


CHARACTERS = st.sampled_from("ab\u00a0\u2028\t\n가😀\u0301\x0b\x0c\x1f")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.text(CHARACTERS, max_size=20))
def test_edited_text_is_to_the_letter(area: TextArea, text: str) -> None:
    area.set_content(text)
    touch(area)
    assert exact_text.keeps(text)
    assert area.content() == text


@pytest.mark.parametrize("text", ["a\r\nb\r\n", "one\r\n", "\r\n\r\n"])
def test_line_ends_of_windows_stay(area: TextArea, text: str) -> None:
    area.set_content(text)
    touch(area)
    assert exact_text.keeps(text)
    assert area.content() == text


@pytest.mark.parametrize(
    "text", ["a\r\nb\n", "a\rb", "a\u2029b", "a\ufdd0b", "\ufeffa", "\r\n\n\r"]
)
def test_what_was_not_touched_is_as_it_was(area: TextArea, text: str) -> None:
    area.set_content(text)
    assert not exact_text.keeps(text)
    assert area.content() == text


def test_typing_changes_it(qtbot: QtBot, area: TextArea) -> None:
    area.set_content("kind")
    area.moveCursor(QTextCursor.MoveOperation.End)
    qtbot.keyClicks(area, "er")
    qtbot.keyClick(area, Qt.Key.Key_Return)
    assert area.content() == "kinder\n"


def test_line_numbers_take_room_only_where_they_are(area: TextArea) -> None:
    assert area.numbers_width() == 0
    area.set_numbered(True)
    narrow = area.numbers_width()
    area.set_content("\n" * 1200)
    assert area.numbers_width() > narrow > 0
    area.grab()


def test_a_marked_line_is_unmarked_by_typing(area: TextArea) -> None:
    area.set_content("[\n1\n")
    area.mark_line(2)
    assert len(area.extraSelections()) == 1
    area.insertPlainText("x")
    assert not area.extraSelections()
    area.mark_line(99)
    assert not area.extraSelections()


def test_a_preview_is_short() -> None:
    assert preview("a\nb") == ("a\nb", False)
    shown, more = preview("line\n" * 1000)
    assert (shown.count("\n") + 1, more) == (MAX_LINES, True)
    shown, more = preview("x" * 1_000_000)
    assert (len(shown), more) == (MAX_LINE_CHARS + 1, True)
