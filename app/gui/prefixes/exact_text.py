"""Text to the letter through a Qt document, which knows but one kind of line end."""

from __future__ import annotations

_BLOCK_END = "\u2029"
_BYTE_ORDER_MARK = "\ufeff"
_UNKEPT = ("\r", _BLOCK_END, "\ufdd0", "\ufdd1")  # Qt makes ordinary line ends of them


def line_end_of(text: str) -> str:
    """The line end that all of a text has: two characters on some systems."""
    return "\r\n" if "\r\n" in text and text.count("\r\n") == text.count("\n") else "\n"


def keeps(text: str) -> bool:
    """Whether a Qt document gives this text back to the letter, given its line end."""
    rest = text.replace("\r\n", "") if line_end_of(text) == "\r\n" else text
    if text.startswith(_BYTE_ORDER_MARK):
        return False  # PySide takes it for the mark of its own conversion
    return not any(character in rest for character in _UNKEPT)


def from_document(raw: str, line_end: str) -> str:
    """The text of `QTextDocument.toRawText`. `toPlainText` would lose hard spaces and line
    separators."""
    return raw.replace(_BLOCK_END, line_end)
