"""What differs between two versions, and how it is shown."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.gui.prefixes.diff import Change, compare
from app.gui.prefixes.diff_view import MAX_LINES, DiffView
from app.gui.theme import theme
from app.storage.settings_store import Appearance

BEFORE = "Hello.\nBe kind to all.\nNo music.\n"
AFTER = "Hello.\nBe very kind to everyone.\nNo music.\nGood night.\n"


def changed(before: str, after: str) -> list[tuple[str, str]]:
    return [
        (line.change.value, line.text)
        for hunk in compare(before, after).hunks
        for line in hunk
        if line.change is not Change.SAME
    ]


def test_lines() -> None:
    assert changed(BEFORE, AFTER) == [
        ("−", "Be kind to all."),
        ("+", "Be very kind to everyone."),
        ("+", "Good night."),
    ]
    diff = compare(BEFORE, AFTER)
    assert (diff.num_added, diff.num_removed, diff.same) == (2, 1, False)


def test_words_inside_a_changed_line() -> None:
    (hunk,) = compare(BEFORE, AFTER).hunks
    removed, added = hunk[1], hunk[2]
    assert [removed.text[start:end] for start, end in removed.spans] == ["all"]
    assert [added.text[start:end] for start, end in added.spans] == [" very", "everyone"]


def test_lines_with_nothing_in_common_are_not_compared_by_words() -> None:
    (hunk,) = compare("one two three", "vier fünf sechs").hunks
    assert all(not line.spans for line in hunk)


def test_numbers_are_those_of_each_text() -> None:
    (hunk,) = compare("a\nb\nc\n", "a\nx\nb\nc\n").hunks
    assert [(line.old, line.new) for line in hunk] == [(1, 1), (None, 2), (2, 3), (3, 4)]


def test_line_ends_alone() -> None:
    diff = compare("a\nb\n", "a\r\nb\r\n")
    assert not diff.hunks
    assert not diff.same
    assert compare("a", "a").same


@given(
    st.lists(st.sampled_from("abcd"), max_size=12), st.lists(st.sampled_from("abcd"), max_size=12)
)
def test_what_is_added_and_removed_leads_from_one_text_to_the_other(
    before: list[str], after: list[str]
) -> None:
    diff = compare("\n".join(before), "\n".join(after))
    rebuilt, at = [], 0
    for line in (line for hunk in diff.hunks for line in hunk):
        if line.old is not None:
            rebuilt += before[at : line.old - 1]
            at = line.old
        if line.change is not Change.REMOVED:
            rebuilt.append(line.text)
    rebuilt += before[at:]
    assert rebuilt == after


@given(st.text(max_size=60), st.text(max_size=60))
def test_spans_lie_inside_their_lines(before: str, after: str) -> None:
    for hunk in compare(before, after).hunks:
        for line in hunk:
            at = 0
            for start, end in line.spans:
                assert at <= start < end <= len(line.text)
                at = end


@pytest.fixture
def view(qtbot: QtBot) -> DiffView:
    view = DiffView()
    qtbot.addWidget(view)
    return view


def shown(qtbot: QtBot, view: DiffView, before: str, after: str) -> str:
    with qtbot.waitSignal(view.compared):
        view.compare(before, after)
    return view.toPlainText()


def test_the_view_marks_lines(qtbot: QtBot, view: DiffView) -> None:
    text = shown(qtbot, view, BEFORE, AFTER)
    assert text.splitlines() == [
        "Line 1",
        "  Hello.",
        "− Be kind to all.",
        "+ Be very kind to everyone.",
        "  No music.",
        "+ Good night.",
    ]
    assert view.summary() == "Lines: 2 added, 1 removed"


def test_the_view_says_where_there_is_nothing_to_see(qtbot: QtBot, view: DiffView) -> None:
    assert shown(qtbot, view, "a", "a") == "No changes"
    assert shown(qtbot, view, "a\n", "a") == "Only line ends differ"


def test_only_the_latest_question_is_answered(qtbot: QtBot, view: DiffView) -> None:
    view.compare("a", "b")
    assert "c" in shown(qtbot, view, "a", "c")
    assert "b" not in view.toPlainText()


def test_the_view_ends_somewhere(qtbot: QtBot, view: DiffView) -> None:
    text = shown(qtbot, view, "", "\n".join(map(str, range(3 * MAX_LINES))))
    assert view.document().blockCount() < 2 * MAX_LINES
    assert "0" in text


def test_colours_follow_the_theme(qtbot: QtBot, view: DiffView, qapp: QApplication) -> None:
    shown(qtbot, view, "a", "b")

    def ground() -> str:
        return view.document().findBlockByNumber(1).blockFormat().background().color().name()

    before = ground()
    theme.apply(qapp, Appearance.DARK, system_is_dark=False)
    assert ground() != before
