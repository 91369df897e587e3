"""The app: an icon, a window, and a house that starts behind them."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import QObject, QTimer, QUrl, Signal
from PySide6.QtGui import QDesktopServices, QKeySequence, QShortcut
from PySide6.QtWidgets import QApplication, QDialog

from app.gui import dialogs, mac, remembered_look, text, trouble
from app.gui.clock import HouseClock
from app.gui.engine_watch import EngineWatch, News
from app.gui.first_paint import FirstPaint
from app.gui.futures import follow
from app.gui.house_pages import SettingsActions, house_pages
from app.gui.housekeeper import Housekeeper
from app.gui.look import Look
from app.gui.raise_window import RaiseServer
from app.gui.sheet import WritingSheet
from app.gui.translations import Translations
from app.gui.tray.actions import TrayActions
from app.gui.tray.presenter import TrayPresenter
from app.gui.tray.status import num_live
from app.gui.tray.tray import Tray
from app.gui.window import SETTINGS_PAGE, PageSpec, Window
from app.home import Home
from app.storage.settings_store import Appearance, Preferences

logger = logging.getLogger(__name__)

OK, FAILED = 0, 1

PATIENCE_MS = 500  # the house does not wait longer for the first frame
TRAY_PATIENCE_MS = 5000  # a panel may come up after the app, at login
WINDOW_STATE = "window.json"

MakePages = Callable[[SettingsActions], Sequence[PageSpec]]


class Application(QObject):
    """From `start` to `ended`. `home` has its data folder, and nothing else yet.

    windowPainted   the window has been seen for the first time
    ended(int)      the event loop may end with this code; the house still stands
    """

    windowPainted = Signal()
    ended = Signal(int)

    def __init__(
        self,
        qt: QApplication,
        home: Home,
        tray: Tray,
        *,
        hidden: bool = False,
        make_pages: MakePages = house_pages,
    ) -> None:
        super().__init__()
        self._qt = qt
        self._home = home
        self._desk = home.desk
        self._tray = tray
        self._starts_hidden = hidden
        self._make_pages = make_pages
        self._keeper = Housekeeper(home, self)
        self._clock = HouseClock(self._desk, self)
        self._look = Look(qt, self)
        self._translations = Translations(qt)
        self._raiser = RaiseServer(home.paths.data, self)
        self._engine_watch = EngineWatch()
        self._wakefulness = mac.Wakefulness()
        self._shelf = dialogs.Shelf(self._visible_window)
        self._patience = self._make_timer(self._open_house)
        self._tray_patience = self._make_timer(self._show_if_unreachable)
        self._window: Window | None = None
        self._is_opening = False
        self._leaving = False
        self._told_of_hiding = False
        self.wants_removal = False

    @property
    def window(self) -> Window | None:
        return self._window

    def _make_timer(self, on_timeout: Callable[[], None]) -> QTimer:
        timer = QTimer(self)
        timer.setSingleShot(True)
        timer.timeout.connect(on_timeout)
        return timer

    def _visible_window(self) -> Window | None:
        return self._window if self._window is not None and self._window.isVisible() else None

    def start(self) -> None:
        self._keeper.opened.connect(self._opened)
        self._keeper.failed.connect(self._cannot_go_on)
        self._keeper.portTaken.connect(self._ask_port)
        self._raiser.raised.connect(self.show_window)
        self._clock.snapshotChanged.connect(self._look_at_engine)
        self.windowPainted.connect(self._open_house)
        self._clock.start()
        self._apply(remembered_look.recall(self._home.paths.data))
        self._furnish()
        self._patience.start(PATIENCE_MS)

    def close_house(self) -> bool:
        """Waits until everything has ended; for the time after the event loop."""
        return self._keeper.close()

    # Start

    def _open_house(self) -> None:
        """Once the first frame is there: what follows would only hold it up."""
        if not self._is_opening and not self._leaving:
            self._is_opening = True
            self._keeper.open()

    def _opened(self, preferences: Preferences) -> None:
        if self._leaving:
            return
        self._apply(preferences)
        remembered_look.remember(self._home.paths.data, preferences)
        self._keeper.serve()
        if self._home.ended_badly:
            self._tell_of_bad_end()

    def _apply(self, preferences: Preferences) -> None:
        self._look.use(preferences.appearance)
        before = self._translations.language
        self._translations.use(preferences.language)
        if self._window is not None and self._translations.language is not before:
            self._renew_window()

    def _furnish(self) -> None:
        """Icon and window, before there is anything to show in them."""
        presenter = TrayPresenter(self._tray, self._desk, self._clock, self)
        self._tray.attach(
            TrayActions(
                self._tray,
                presenter,
                self._desk,
                self._shelf,
                show_window=self.show_window,
                quit_app=self.quit,
                parent=self,
            )
        )
        if self._starts_hidden:
            self._tray_patience.start(TRAY_PATIENCE_MS)
        else:
            self.show_window()

    def _show_if_unreachable(self) -> None:
        if not self._leaving and not self._tray.is_visible():
            self.show_window()

    def _tell_of_bad_end(self) -> None:
        headline = self.tr("Ondol did not end properly last time")
        words = self.tr("What was saved is there. The log may say why.")
        if self._tray.is_visible():
            self._tray.notify(headline, words)
            return
        self._shelf.show(
            "bad end",
            dialogs.tell(
                headline,
                words,
                more=self.tr("Open Log Folder"),
                on_more=lambda: _open_folder(self._desk.log_folder),
            ),
        )

    # Window

    def show_window(self) -> None:
        if self._leaving:
            return
        if self._window is None:
            self._window = self._make_window()
        mac.show_in_dock(True)
        self._window.present()
        self._shelf.raise_all()

    def reopen(self) -> None:
        """The app was called upon; where nothing of it can be seen, that means the window."""
        if not any(widget.isVisible() for widget in self._qt.topLevelWidgets()):
            self.show_window()

    def hide_window(self) -> None:
        """Out of sight, without a word."""
        if self._window is not None:
            self._window.hide()

    def _make_window(self) -> Window:
        actions = SettingsActions(
            restart=self.restart,
            apply_appearance=self._use_appearance,
            remove_everything=self.remove_everything,
        )
        window = Window(
            self._desk,
            self._clock,
            self._make_pages(actions),
            self._home.paths.data / WINDOW_STATE,
        )
        window.hidden.connect(self._window_hidden)
        FirstPaint(window, window).painted.connect(self.windowPainted)
        if sys.platform != "darwin":  # there the menu of the app has these
            quit_key = QShortcut(QKeySequence(QKeySequence.StandardKey.Quit), window)
            quit_key.activated.connect(self.quit)
        settings_key = QShortcut(QKeySequence("Ctrl+,"), window)
        settings_key.activated.connect(lambda: window.show_page(SETTINGS_PAGE))
        return window

    def _use_appearance(self, appearance: Appearance) -> None:
        self._look.use(appearance)
        follow(
            self._desk.preferences(),
            self,
            lambda now: remembered_look.remember(
                self._home.paths.data, replace(now, appearance=appearance)
            ),
            lambda error: logger.warning("the look was not kept: %s", type(error).__name__),
        )

    def _renew_window(self) -> None:
        """The same window in another language."""
        old, self._window = self._window, None
        if old is None:
            return
        was_visible = old.isVisible()
        self._keep_unsaved(old)
        old.hidden.disconnect(self._window_hidden)
        old.close()
        old.deleteLater()
        if was_visible:
            self.show_window()

    def _window_hidden(self) -> None:
        mac.show_in_dock(False)
        if not self._leaving and not self._tray.is_visible() and not self._told_of_hiding:
            # Where that cannot be read it is better told twice than never.
            follow(
                self._desk.preferences(),
                self,
                lambda now: None if now.told_of_hiding else self._tell_of_hiding(),
                lambda _error: self._tell_of_hiding(),
            )

    def _tell_of_hiding(self) -> None:
        """Once in the life of a data folder: nothing that can be seen is left, but Ondol is."""
        if self._leaving or self._told_of_hiding or self._visible_window() is not None:
            return
        self._told_of_hiding = True
        quit_key = QKeySequence(QKeySequence.StandardKey.Quit)
        self._shelf.show(
            "hiding",
            dialogs.tell(
                self.tr("Ondol goes on without its window"),
                self.tr(
                    "It keeps answering your clients. To see the window again, start Ondol once"
                    " more. {key} in the window quits it."
                ).format(key=quit_key.toString(QKeySequence.SequenceFormat.NativeText)),
                more=self.tr("Quit Ondol"),
                on_more=self.quit,
            ),
        )
        follow(
            self._desk.update_preferences(lambda now: replace(now, told_of_hiding=True)),
            self,
            lambda _: None,
            lambda error: logger.warning("that was not noted: %s", type(error).__name__),
        )

    # Engine

    def _look_at_engine(self) -> None:
        snapshot = self._desk.snapshot
        self._wakefulness.keep(num_live(snapshot) > 0)
        match self._engine_watch.look(snapshot):
            case News.STOPPED_WORKING:
                self._tray.notify(
                    self.tr("The engine stopped working"),
                    self.tr(
                        "Requests that were running got an error. Ondol is trying to bring it back."
                    ),
                )
            case News.BACK:
                self._tray.notify(self.tr("Ondol is back"), self.tr("Requests are answered again."))
            case News.CANNOT_SERVE:
                self.show_window()  # it says why, and what can be done
            case None:
                pass

    def _ask_port(self, url: str, free_port: int) -> None:
        self._shelf.show(
            "port",
            lambda parent: dialogs.PortDialog(
                parent, url, free_port, on_port=self._use_port, on_quit=self.leave
            ),
        )

    def _use_port(self, port: int) -> None:
        """Also from the next start on, unless the command line names a port."""
        if not self._home.port_is_given:
            follow(
                self._desk.update_preferences(lambda now: replace(now, port=port)),
                self,
                lambda _: None,
                lambda error: logger.warning("the port was not kept: %s", type(error).__name__),
            )
        self._keeper.serve(port)

    def _cannot_go_on(self, error: Exception) -> None:
        logger.error("Ondol cannot go on: %s", type(error).__name__)
        self._shelf.show(
            "fatal",
            dialogs.tell(
                self.tr("Ondol cannot start"),
                trouble.words(error),
                is_fatal=True,
                button=self.tr("Quit Ondol"),
                on_closed=lambda: self.leave(FAILED),
                more=self.tr("Open Data Folder"),
                on_more=lambda: _open_folder(self._home.paths.data),
            ),
        )

    # End

    def quit(self) -> None:
        """Ask, where something written or somebody's request would be lost; then leave."""
        if not self._sheets_close():
            self.show_window()
            return
        live = num_live(self._desk.snapshot)
        if not live:
            self.leave()
            return
        self._shelf.show(
            "quit",
            dialogs.confirm(
                self._still_running(live),
                self.tr("If you quit now, they end with an error."),
                self.tr("Quit"),
                on_yes=self.leave,
                on_no=self._show_if_unreachable,
            ),
        )

    def restart(self) -> None:
        """Begin again with the settings as they are now; the window stays."""
        live = num_live(self._desk.snapshot)
        if not live:
            self._restart()
            return
        self._shelf.show(
            "restart",
            dialogs.confirm(
                self._still_running(live),
                self.tr("If you restart now, they end with an error."),
                self.tr("Restart"),
                on_yes=self._restart,
            ),
        )

    def remove_everything(self) -> None:
        """Leave, and take along what Ondol has stored; the person has confirmed that."""
        self.wants_removal = True
        self.leave()

    def leave(self, code: int = OK) -> None:
        if self._leaving:
            return
        self._leaving = True
        for timer in (self._clock, self._patience, self._tray_patience):
            timer.stop()
        self._raiser.close()
        self._shelf.close_all()
        self._tray.close()
        self._look.close()
        if self._window is not None:
            if not self.wants_removal:
                self._keep_unsaved(self._window)
            self._window.close()
            self._window.deleteLater()
        self.ended.emit(code)

    def _sheets_close(self) -> bool:
        """Close what is open over the window. False where that asks first."""
        sheets = self._window.findChildren(QDialog) if self._window is not None else []
        for sheet in sheets:
            if sheet.isVisible() and sheet not in self._shelf and not sheet.close():
                return False
        return True

    @staticmethod
    def _keep_unsaved(window: Window) -> None:
        """Nobody is asked any more: what is being written in a sheet is there next time."""
        for sheet in window.findChildren(WritingSheet):
            if sheet.isVisible():
                sheet.keep_unsaved()

    def _restart(self) -> None:
        self._keeper.restart()
        follow(self._desk.preferences(), self, self._apply)

    def _still_running(self, live: int) -> str:
        if live == 1:
            return self.tr("A request is still running")
        return self.tr("{number} requests are still running").format(number=text.count(live))


def _open_folder(folder: Path) -> None:
    QDesktopServices.openUrl(QUrl.fromLocalFile(str(folder)))
