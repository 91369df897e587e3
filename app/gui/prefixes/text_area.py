"""Where a prefix is written: plain text to the letter, with line numbers where lines count."""

from __future__ import annotations

from PySide6.QtCore import QRect, QRectF, QSize, Qt
from PySide6.QtGui import (
    QFont,
    QPainter,
    QPaintEvent,
    QResizeEvent,
    QTextCursor,
    QTextFormat,
)
from PySide6.QtWidgets import QPlainTextEdit, QTextEdit, QWidget

from app.gui.prefixes import exact_text
from app.gui.prefixes.fonts import fixed_font
from app.gui.theme import SPACE, theme


class TextArea(QPlainTextEdit):
    """`content` gives back what was set, to the letter, until something is typed."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._original = ""
        self._numbers = _LineNumbers(self)
        self._numbered = False
        self._plain_font = QFont(self.font())
        self.setProperty("role", "field")
        self.setTabChangesFocus(True)  # the keyboard must find its way out
        self.updateRequest.connect(self._follow_scrolling)
        self.blockCountChanged.connect(self._make_room)
        self.textChanged.connect(self.clear_mark)
        theme.changed.connect(self._dress)

    def set_content(self, text: str) -> None:
        self._original = text
        self.setPlainText(text)
        self.document().setModified(False)

    def restore(self, text: str) -> None:
        """As `set_content`, but as if somebody had just typed it in the place of what is there."""
        if not self._original:
            self._original = text  # its line ends
        self.setPlainText(text)
        self.document().setModified(True)

    def content(self) -> str:
        if not self.document().isModified():
            return self._original
        line_end = exact_text.line_end_of(self._original)
        return exact_text.from_document(self.document().toRawText(), line_end)

    def set_numbered(self, numbered: bool) -> None:
        """Line numbers and a type in which columns align, for JSON."""
        self._numbered = numbered
        self._numbers.setVisible(numbered)
        self._dress()

    def mark_line(self, line: int) -> None:
        """Show where something is wrong; lines count from 1."""
        block = self.document().findBlockByNumber(line - 1)
        if not block.isValid():
            return
        mark = QTextEdit.ExtraSelection()
        ground = theme.color("bad")
        ground.setAlpha(40)
        mark.format.setBackground(ground)
        mark.format.setProperty(QTextFormat.Property.FullWidthSelection, True)
        mark.cursor = QTextCursor(block)
        self.setExtraSelections([mark])

    def clear_mark(self) -> None:
        self.setExtraSelections([])

    def numbers_width(self) -> int:
        if not self._numbered:
            return 0
        digits = max(2, len(str(self.blockCount())))
        return self.fontMetrics().horizontalAdvance("8") * digits + 2 * SPACE

    def paint_numbers(self, event: QPaintEvent) -> None:
        painter = QPainter(self._numbers)
        painter.setFont(self.font())
        painter.setPen(theme.color("secondary"))
        block = self.firstVisibleBlock()
        top = self.blockBoundingGeometry(block).translated(self.contentOffset()).top()
        width = self._numbers.width() - SPACE
        while block.isValid() and top <= event.rect().bottom():
            height = self.blockBoundingRect(block).height()
            if block.isVisible() and top + height >= event.rect().top():
                line = QRectF(0, top, width, self.fontMetrics().height())
                painter.drawText(line, Qt.AlignmentFlag.AlignRight, str(block.blockNumber() + 1))
            top += height
            block = block.next()
        painter.end()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place_numbers()

    def _dress(self) -> None:
        """Also after the style sheet has changed: that takes the font away."""
        font = fixed_font(self._plain_font) if self._numbered else self._plain_font
        self.setFont(font)
        self.viewport().setFont(font)  # the placeholder is written in it
        self._make_room()
        self._numbers.update()

    def _make_room(self, *_: object) -> None:
        self.setViewportMargins(self.numbers_width(), 0, 0, 0)
        self._place_numbers()

    def _place_numbers(self) -> None:
        inside = self.contentsRect()
        self._numbers.setGeometry(
            QRect(inside.left(), inside.top(), self.numbers_width(), inside.height())
        )

    def _follow_scrolling(self, rect: QRect, moved: int) -> None:
        if moved:
            self._numbers.scroll(0, moved)
        else:
            self._numbers.update(0, rect.y(), self._numbers.width(), rect.height())


class _LineNumbers(QWidget):
    def __init__(self, area: TextArea) -> None:
        super().__init__(area)
        self._area = area

    def sizeHint(self) -> QSize:
        return QSize(self._area.numbers_width(), 0)

    def paintEvent(self, event: QPaintEvent) -> None:
        self._area.paint_numbers(event)
