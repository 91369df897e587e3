"""A line below a field that says what is wrong with it."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QWidget

from app.gui.icons import icon
from app.gui.theme import SPACE, theme

_ICON_PX = 16


class FieldNote(QWidget):
    """Hidden while there is nothing to say. `token` is "bad" or "warning", and the icon agrees."""

    def __init__(self, token: str = "bad", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._token = token
        self._icon = QLabel()
        self._words = QLabel()
        self._words.setProperty("role", token)
        self._words.setWordWrap(True)
        self._words.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(SPACE)
        layout.addWidget(self._icon, 0, Qt.AlignmentFlag.AlignTop)
        layout.addWidget(self._words, 1)
        theme.changed.connect(self._tint)
        self._tint()
        self.hide()

    def text(self) -> str:
        return self._words.text()

    def say(self, words: str) -> None:
        """Show this; nothing where it is empty."""
        if words and words != self._words.text():
            QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self, words))
        self._words.setText(words)
        self.setVisible(bool(words))

    def _tint(self) -> None:
        name = "error" if self._token == "bad" else "warning"
        self._icon.setPixmap(icon(name, self._token).pixmap(_ICON_PX))
