"""The dashboard before the first request: what will be here, and how to begin."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import QLabel, QPushButton, QVBoxLayout, QWidget

from app.gui.icons import icon
from app.gui.theme import SPACE, theme, title_font

_ICON_SIZE = 48
_TEXT_WIDTH = 440


class FirstRun(QWidget):
    """connectWanted   a person wants to see how a client is connected"""

    connectWanted = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._picture = QLabel()
        headline = QLabel(self.tr("No request yet"))
        headline.setFont(title_font(self.font()))
        words = QLabel(
            self.tr(
                "Point a chat client at Ondol and ask something. Here you will see how much of"
                " each prompt was already warm, how soon the first word came, and what the memory"
                " is used for."
            )
        )
        words.setProperty("role", "secondary")
        words.setWordWrap(True)
        words.setFixedSize(_TEXT_WIDTH, words.heightForWidth(_TEXT_WIDTH))
        words.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        button = QPushButton(self.tr("Connect a client"))
        button.setAutoDefault(True)
        button.clicked.connect(self.connectWanted)
        layout = QVBoxLayout(self)
        layout.setSpacing(2 * SPACE)
        layout.addStretch(2)
        for widget in (self._picture, headline, words, button):
            layout.addWidget(widget, alignment=Qt.AlignmentFlag.AlignHCenter)
        layout.addStretch(3)
        theme.changed.connect(self._tint)
        self._tint()

    def _tint(self) -> None:
        size = QSize(_ICON_SIZE, _ICON_SIZE)
        self._picture.setPixmap(icon("dashboard", "accent").pixmap(size, self.devicePixelRatioF()))
