"""What the settings are laid out with: sections of rows, a name at the left, a control at the
right."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QSizePolicy, QVBoxLayout, QWidget

from app.gui.prefixes.field_note import FieldNote
from app.gui.theme import SPACE, strong_font, theme

_ROW_PADDING = SPACE + SPACE // 2
_LEAST_WORDS_WIDTH = 200


class Section(QWidget):
    """A heading over a card; rows are divided by hairlines."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._heading = QLabel()
        self._heading.setFont(strong_font(self._heading.font()))
        card = QFrame()
        card.setProperty("role", "card")
        self._rows = QVBoxLayout(card)
        self._rows.setContentsMargins(2 * SPACE, SPACE // 2, 2 * SPACE, SPACE // 2)
        self._rows.setSpacing(0)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(SPACE)
        layout.addWidget(self._heading)
        layout.addWidget(card)

    def set_heading(self, heading: str) -> None:
        self._heading.setText(heading)

    def add(self, row: Row) -> Row:
        if self._rows.count():
            self._rows.addWidget(_Hairline())
        self._rows.addWidget(row)
        return row


class Row(QWidget):
    """`name` and `help` at the left, `controls` at the right; below them `note` says what is wrong.
    `below` takes what needs the full width."""

    def __init__(
        self, name: str, *controls: QWidget, help_text: str = "", parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.name = QLabel(name)
        self.name.setWordWrap(True)
        self.help = QLabel(help_text)
        self.help.setProperty("role", "secondary")
        self.help.setTextFormat(Qt.TextFormat.PlainText)
        self.help.setWordWrap(True)
        self.help.setMinimumWidth(_LEAST_WORDS_WIDTH)
        self.help.setVisible(bool(help_text))
        self.note = FieldNote()
        if len(controls) == 1:
            self.name.setBuddy(controls[0])
        words = QVBoxLayout()
        words.setSpacing(SPACE // 4)
        words.addWidget(self.name)
        words.addWidget(self.help)
        across = QHBoxLayout()
        across.setSpacing(SPACE)
        across.addLayout(words, 1)
        across.addSpacing(SPACE)
        for control in controls:
            across.addWidget(control, 0, Qt.AlignmentFlag.AlignVCenter)
        self.below = QVBoxLayout()
        self.below.setSpacing(SPACE)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, _ROW_PADDING, 0, _ROW_PADDING)
        layout.setSpacing(SPACE)
        layout.addLayout(across)
        layout.addLayout(self.below)
        layout.addWidget(self.note)

    def explain(self, *lines: str) -> None:
        """Say these below the name; empty ones are left out."""
        words = "\n".join(filter(None, lines))
        self.help.setText(words)
        self.help.setVisible(bool(words))


class _Hairline(QWidget):
    def __init__(self) -> None:
        super().__init__()
        self.setFixedHeight(1)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self.update)

    def paintEvent(self, event: QPaintEvent) -> None:
        QPainter(self).fillRect(self.rect(), theme.color("grid"))
