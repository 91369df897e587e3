"""A bar at the foot of the page: what has just happened, and what can be done about it."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QTimer
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QToolButton, QWidget

from app.gui.icons import icon
from app.gui.theme import SPACE, theme

_ICON_PX = 16


class NoticeBar(QFrame):
    """Hidden while there is nothing to tell."""

    def __init__(self, icon_name: str, token: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._icon_name, self._token = icon_name, token
        self._act: Callable[[], None] | None = None
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self.dismiss)
        self.setProperty("role", "card")
        self._icon = QLabel()
        self._words = QLabel()
        self._words.setWordWrap(True)
        self.button = QPushButton()
        self.button.clicked.connect(self.press)
        self._close = QToolButton()
        self._close.setAutoRaise(True)
        self._close.setAccessibleName(self.tr("Dismiss"))
        self._close.setToolTip(self.tr("Dismiss"))
        self._close.clicked.connect(self.dismiss)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(2 * SPACE, SPACE, SPACE, SPACE)
        layout.setSpacing(SPACE)
        layout.addWidget(self._icon)
        layout.addWidget(self._words, 1)
        layout.addWidget(self.button)
        layout.addWidget(self._close)
        theme.changed.connect(self._tint)
        self._tint()
        self.hide()

    @property
    def words(self) -> str:
        return self._words.text()

    def tell(
        self,
        words: str,
        action: str = "",
        act: Callable[[], None] | None = None,
        *,
        for_ms: int | None = None,
    ) -> None:
        """Show words and perhaps a button. They stay until dismissed, or for a while."""
        self._act = act
        self._words.setText(words)
        self.button.setText(action)
        self.button.setVisible(bool(action))
        self.show()
        QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self, words))
        self._timer.stop()
        if for_ms is not None:
            self._timer.start(for_ms)

    def dismiss(self) -> None:
        self._timer.stop()
        self._act = None
        self.hide()

    def press(self) -> None:
        """What the button does; nothing while the bar is hidden."""
        act = self._act
        self.dismiss()
        if act is not None:
            act()

    def _tint(self) -> None:
        self._icon.setPixmap(icon(self._icon_name, self._token).pixmap(_ICON_PX))
        self._close.setIcon(icon("cancel", "secondary"))
