"""The icon by way of Qt: macOS's menu bar, StatusNotifier and XEmbed panels."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import QObject
from PySide6.QtGui import QAction, QIcon
from PySide6.QtWidgets import QMenu, QSystemTrayIcon

from app.gui.tray.icons import tray_icon
from app.gui.tray.menu import GROUPS, Item, MenuItem
from app.gui.tray.status import TrayState
from app.gui.tray.tray import TrayListener

_MESSAGE_MS = 8000


class QtTray(QObject):
    """Satisfies Tray. The menu is built once; its lines change text and visibility, so that it may
    be open meanwhile."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._listener: TrayListener | None = None
        self._icons: dict[TrayState, QIcon] = {state: tray_icon(state) for state in TrayState}
        self.menu = QMenu()
        self._actions: dict[Item, QAction] = {}
        for number, group in enumerate(GROUPS):
            if number:
                self.menu.addSeparator()
            for item in group:
                action = self.menu.addAction("")
                action.triggered.connect(partial(self._chosen, item))
                self._actions[item] = action
        self.menu.aboutToShow.connect(self._opens)
        self.icon = QSystemTrayIcon(self._icons[TrayState.IDLE], self)
        self.icon.setContextMenu(self.menu)
        self.icon.activated.connect(self._activated)
        self.icon.messageClicked.connect(self._clicked)

    def action(self, item: Item) -> QAction:
        return self._actions[item]

    def attach(self, listener: TrayListener) -> None:
        """Show the icon; from now on `listener` hears of it."""
        self._listener = listener
        self.icon.show()

    def set_state(self, state: TrayState, tooltip: str) -> None:
        self.icon.setIcon(self._icons[state])
        self.icon.setToolTip(tooltip)

    def set_items(self, items: Sequence[MenuItem]) -> None:
        for item in items:
            action = self._actions[item.item]
            # An ampersand would underline the letter after it.
            action.setText(item.text.replace("&", "&&"))
            action.setEnabled(item.enabled)
            action.setVisible(item.visible)

    def notify(self, title: str, message: str) -> None:
        if self.is_visible() and QSystemTrayIcon.supportsMessages():
            self.icon.showMessage(title, message, self.icon.icon(), _MESSAGE_MS)

    def is_visible(self) -> bool:
        return QSystemTrayIcon.isSystemTrayAvailable() and self.icon.isVisible()

    def close(self) -> None:
        self._listener = None
        self.icon.hide()
        self.menu.deleteLater()

    def _opens(self) -> None:
        if self._listener is not None:
            self._listener.menu_opens()

    def _chosen(self, item: Item) -> None:
        if self._listener is not None:
            self._listener.chosen(item)

    def _activated(self, reason: QSystemTrayIcon.ActivationReason) -> None:
        # On macOS every click opens the menu, and this signal comes beside it.
        if sys.platform != "darwin" and reason is QSystemTrayIcon.ActivationReason.Trigger:
            self._clicked()

    def _clicked(self) -> None:
        if self._listener is not None:
            self._listener.clicked()
