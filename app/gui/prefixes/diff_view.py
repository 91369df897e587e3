"""Shows what differs between two texts, unified, with marks as well as colours."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtGui import (
    QColor,
    QFontDatabase,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
    QTextOption,
)
from PySide6.QtWidgets import QTextEdit, QWidget

from app.gui import text
from app.gui.futures import follow
from app.gui.prefixes.background import in_background
from app.gui.prefixes.diff import Change, Diff, DiffLine, compare
from app.gui.theme import SPACE, theme

MAX_LINES = 2_000
_LINE_ALPHA = 28
_WORD_ALPHA = 90
_TOKENS = {Change.ADDED: "good", Change.REMOVED: "bad"}


class DiffView(QTextEdit):
    """compared(Diff)   the latest comparison is shown"""

    compared = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._question = 0
        self._diff: Diff | None = None
        self.setProperty("role", "field")
        self.setReadOnly(True)
        self.setTabChangesFocus(True)
        self.setWordWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        self.setFont(QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont))
        self.setAccessibleName(self.tr("Changes"))
        theme.changed.connect(self._draw)

    def compare(self, before: str, after: str) -> None:
        """Show the way from one text to the other; an earlier question is forgotten."""
        self._question += 1
        question = self._question

        def show(diff: Diff) -> None:
            if question == self._question:
                self._diff = diff
                self._draw()
                self.compared.emit(diff)

        self._diff = None
        self.setPlainText(self.tr("Comparing…"))
        follow(in_background(lambda: compare(before, after)), self, show)

    def summary(self) -> str:
        """In words: 3 lines added, 1 removed."""
        if self._diff is None:
            return ""
        if self._diff.same:
            return self.tr("No changes")
        if not self._diff.hunks:
            return self.tr("Only line ends differ")
        return self.tr("Lines: {added} added, {removed} removed").format(
            added=text.count(self._diff.num_added), removed=text.count(self._diff.num_removed)
        )

    def _draw(self) -> None:
        if self._diff is None:
            return
        self.clear()
        cursor = QTextCursor(self.document())
        cursor.beginEditBlock()
        left = MAX_LINES
        for hunk in self._diff.hunks:
            if left <= 0:
                self._write_aside(cursor, self.tr("More changes follow."))
                break
            first = hunk[0].new or hunk[0].old or 1
            self._write_aside(cursor, self.tr("Line {number}").format(number=text.count(first)))
            for line in hunk[:left]:
                self._write_line(cursor, line)
            left -= len(hunk)
        if not self._diff.hunks:
            self._write_aside(cursor, self.summary())
        cursor.endEditBlock()
        self.moveCursor(QTextCursor.MoveOperation.Start)

    def _write_line(self, cursor: QTextCursor, line: DiffLine) -> None:
        mark = f"{line.change.value} "
        hanging = self.fontMetrics().horizontalAdvance(mark)
        shape = QTextBlockFormat()
        shape.setLeftMargin(hanging)
        shape.setTextIndent(-hanging)
        plain, marked = QTextCharFormat(), QTextCharFormat()
        if line.change is not Change.SAME:
            shape.setBackground(_tint(_TOKENS[line.change], _LINE_ALPHA))
            marked.setBackground(_tint(_TOKENS[line.change], _WORD_ALPHA))
            marked.setFontWeight(600)
        self._begin_block(cursor, shape)
        cursor.insertText(mark, plain)
        at = 0
        for start, end in line.spans:
            cursor.insertText(line.text[at:start], plain)
            cursor.insertText(line.text[start:end], marked)
            at = end
        cursor.insertText(line.text[at:], plain)

    def _write_aside(self, cursor: QTextCursor, words: str) -> None:
        """What belongs to neither text."""
        shape = QTextBlockFormat()
        if not self.document().isEmpty():
            shape.setTopMargin(SPACE)
        quiet = QTextCharFormat()
        quiet.setForeground(theme.color("secondary"))
        self._begin_block(cursor, shape)
        cursor.insertText(words, quiet)

    def _begin_block(self, cursor: QTextCursor, shape: QTextBlockFormat) -> None:
        if self.document().isEmpty():
            cursor.setBlockFormat(shape)
        else:
            cursor.insertBlock(shape, QTextCharFormat())


def _tint(token: str, alpha: int) -> QColor:
    color = theme.color(token)
    color.setAlpha(alpha)
    return color
