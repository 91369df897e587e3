"""`ondol`: the process around the app, from the first frame to the exit code."""

from __future__ import annotations

import logging
import os
import sys
from importlib.resources import as_file, files
from pathlib import Path
from types import TracebackType

from PySide6.QtCore import QCoreApplication, QEvent, Signal
from PySide6.QtGui import QIcon
from PySide6.QtWidgets import QApplication

from app.autostart import find_login_item
from app.console import complain
from app.gui import dialogs, trouble
from app.gui.application import FAILED, OK, Application
from app.gui.imports import drop_import_hook
from app.gui.probe import Probe
from app.gui.raise_window import raise_running
from app.gui.signals import signals_call
from app.gui.tray.qt_tray import QtTray
from app.home import EngineFactory, Home
from app.instance import InstanceHeld
from app.logs import start_logging, stop_logging
from app.paths import Paths, find_paths
from app.remove import NotAllRemoved, NotOndols, plan_removal, remove
from app.settings import Settings

logger = logging.getLogger(__name__)

REFUSED = 2

translate = QCoreApplication.translate


class QtApplication(QApplication):
    """Qt's application, which a menu or the system may ask to quit.

    quitWanted   somebody asks; whether it happens is decided elsewhere
    reopened     macOS brings the app forward, also because it was opened again
    """

    quitWanted = Signal()
    reopened = Signal()

    def event(self, event: QEvent) -> bool:
        if event.type() is QEvent.Type.Quit:
            event.ignore()
            self.quitWanted.emit()
            return True
        if event.type() is QEvent.Type.ApplicationActivate and sys.platform == "darwin":
            self.reopened.emit()
        return super().event(event)


def run(
    settings: Settings,
    *,
    hidden: bool = False,
    probe: Path | None = None,
    engine_factory: EngineFactory | None = None,
) -> int:
    """Returns the exit code: 0 after quitting, or after the window of the Ondol that runs already
    was brought forward; 1 where Ondol cannot run; 2 where one without a window holds the data.

    `hidden` leaves the window closed; `probe` is a file for the main thread's gaps.
    """
    drop_import_hook()
    qt = _make_qt()
    paths = find_paths(settings.data_dir)
    home = Home(settings, paths, engine_factory)
    try:
        paths.create()
        home.claim()
        log_handler = start_logging(paths.log_file)
    except InstanceHeld as error:
        if raise_running(paths.data):
            return OK
        return _end_early(
            qt, translate("run", "Ondol is already running"), trouble.words(error), REFUSED
        )
    except OSError as error:
        home.stop()
        why = os.strerror(error.errno) if error.errno else type(error).__name__
        headline = translate("run", "The data folder cannot be used")
        return _end_early(qt, headline, f"{paths.data}: {why}", FAILED)
    sys.excepthook = _log_uncaught
    app = Application(qt, home, QtTray(qt), hidden=hidden)
    try:
        code, ended = _live(qt, app, probe)
    finally:
        stop_logging(log_handler)
    if app.wants_removal and ended:
        code = _remove_everything(paths)
    if not ended:
        complain("The engine did not stop in time and was left behind.")
        # A thread inside a library call cannot be ended, and interpreter exit would wait or crash.
        os._exit(FAILED)
    return code


def _make_qt() -> QtApplication:
    qt = QtApplication(sys.argv[:1])
    qt.setApplicationName("Ondol")
    qt.setDesktopFileName("ondol")
    qt.setQuitOnLastWindowClosed(False)
    if sys.platform != "darwin":
        qt.setStyle("Fusion")
        with as_file(files("resources") / "app-icon.svg") as icon:
            qt.setWindowIcon(QIcon(str(icon)))
    return qt


def _live(qt: QtApplication, app: Application, probe_file: Path | None) -> tuple[int, bool]:
    """The event loop, then the end of the house. The exit code, and whether all threads ended."""
    probe = Probe(probe_file) if probe_file is not None else None
    app.ended.connect(qt.exit)
    qt.quitWanted.connect(app.quit)
    qt.reopened.connect(app.reopen)
    with signals_call(app.leave):
        if probe is not None:
            app.windowPainted.connect(probe.note_first_paint)
            probe.listen(sys.stdin.fileno(), app)
            probe.start()
        app.start()
        code = qt.exec()
        if probe is not None:
            probe.write()
        # Still here: a signal now changes nothing, and the next one ends it at once.
        return code, app.close_house()


def _remove_everything(paths: Paths) -> int:
    try:
        remove(plan_removal(paths, find_login_item(paths)))
    except (NotOndols, NotAllRemoved, InstanceHeld, OSError) as error:
        complain(f"Not everything could be removed: {error}")
        return FAILED
    return OK


def _end_early(qt: QtApplication, headline: str, words: str, code: int) -> int:
    """Say why on the terminal and on the screen."""
    complain(f"{headline}: {words}")
    shelf = dialogs.Shelf(lambda: None)
    shelf.show(
        "early", dialogs.tell(headline, words, is_fatal=True, on_closed=lambda: qt.exit(code))
    )
    return qt.exec()


def _log_uncaught(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    """A slot's error ends nothing, so it would be seen by nobody."""
    logger.critical("uncaught", exc_info=(kind, error, trace))
    sys.__excepthook__(kind, error, trace)
