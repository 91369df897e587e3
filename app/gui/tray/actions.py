"""What happens when a person uses the icon."""

from __future__ import annotations

import time
from collections.abc import Callable

from PySide6.QtCore import QObject
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QWidget

from app.desk import Desk
from app.gui import text
from app.gui.dialogs import NameDialog, Shelf
from app.gui.tray.menu import Item
from app.gui.tray.presenter import TrayPresenter
from app.gui.tray.tray import Tray


class TrayActions(QObject):
    """Satisfies TrayListener."""

    def __init__(
        self,
        tray: Tray,
        presenter: TrayPresenter,
        desk: Desk,
        shelf: Shelf,
        *,
        show_window: Callable[[], None],
        quit_app: Callable[[], None],
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._tray = tray
        self._presenter = presenter
        self._desk = desk
        self._shelf = shelf
        self._show_window = show_window
        self._quit_app = quit_app

    def menu_opens(self) -> None:
        self._presenter.refresh()

    def clicked(self) -> None:
        self._show_window()

    def chosen(self, item: Item) -> None:
        match item:
            case Item.COPY_URL:
                QGuiApplication.clipboard().setText(f"{self._desk.url}/v1")
            case Item.PIN_LAST:
                self._shelf.show("pin", self._ask_name)
            case Item.OPEN:
                self._show_window()
            case Item.PAUSE:
                self._pause_or_resume()
            case Item.QUIT:
                self._quit_app()
            case Item.STATUS | Item.PREFILL | Item.WARMING | Item.TODAY:
                return  # they only inform

    def _pause_or_resume(self) -> None:
        if self._desk.snapshot.paused:
            self._desk.resume()
        else:
            self._desk.pause()

    def _ask_name(self, parent: QWidget | None) -> NameDialog:
        name = self.tr("Chat of {time}").format(time=text.moment(time.time()))
        return NameDialog(parent, name, self._desk.pin_last_request, self._tell_kept)

    def _tell_kept(self, name: str) -> None:
        self._tray.notify(self.tr("Pinned"), self.tr("“{name}” is being warmed.").format(name=name))
