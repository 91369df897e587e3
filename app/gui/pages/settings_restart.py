"""Says what waits for a restart, and offers it."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from app.gui.icons import icon
from app.gui.pages.settings_choices import Waiting
from app.gui.theme import SPACE, strong_font, theme

_ICON_SIZE = 20


class RestartBar(QFrame):
    """Hidden while nothing waits."""

    def __init__(self, restart: Callable[[], None], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("role", "card")
        self._picture = QLabel()
        self.what = QLabel()
        self.what.setFont(strong_font(self.what.font()))
        self.what.setWordWrap(True)
        self.cost = QLabel()
        self.cost.setProperty("role", "secondary")
        self.cost.setWordWrap(True)
        self.button = QPushButton(self.tr("Restart Ondol"))
        self.button.setProperty("role", "primary")
        self.button.setAutoDefault(False)
        self.button.clicked.connect(restart)
        words = QVBoxLayout()
        words.setSpacing(SPACE // 4)
        words.addWidget(self.what)
        words.addWidget(self.cost)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(2 * SPACE, SPACE + SPACE // 2, 2 * SPACE, SPACE + SPACE // 2)
        layout.setSpacing(SPACE + SPACE // 2)
        layout.addWidget(self._picture)
        layout.addLayout(words, 1)
        layout.addWidget(self.button)
        theme.changed.connect(self._tint)
        self._tint()
        self.hide()

    def show_waiting(self, waiting: frozenset[Waiting], num_running: int) -> None:
        names = [self._name(what) for what in Waiting if what in waiting]
        self.what.setText(
            self.tr("Takes effect after a restart: {names}").format(names=", ".join(names))
        )
        self.cost.setText(
            self.tr(
                "Requests that run now end with an error. What was computed is lost; pinned"
                " prefixes come back."
            )
            if num_running
            else self.tr("What was computed is lost; pinned prefixes come back.")
        )
        self.setVisible(bool(names))

    def _name(self, what: Waiting) -> str:
        match what:
            case Waiting.PORT:
                return self.tr("port")
            case Waiting.MEMORY:
                return self.tr("memory")
            case Waiting.TOGETHER:
                return self.tr("answers at once")
            case Waiting.LANGUAGE:
                return self.tr("language")

    def _tint(self) -> None:
        self._picture.setPixmap(icon("info", "accent").pixmap(_ICON_SIZE))
