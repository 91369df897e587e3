"""The real application in the test's own process, over a real engine that computes nothing."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from PySide6.QtCore import QCoreApplication, QEvent
from PySide6.QtWidgets import QApplication, QDialog
from pytestqt.qtbot import QtBot

from app.gui.application import Application
from app.home import Home
from app.paths import Paths
from app.settings import Settings
from engine.assembly import Assembly
from engine.config import EngineConfig
from engine.engine import Engine
from engine.errors import ModelError
from tests.support.engine import fake_assembly, request
from tests.support.fake_runner import FakeRunner
from tests.support.fake_tray import FakeTray

D = TypeVar("D", bound=QDialog)

WAIT_MS = 20_000


class SlowRunner(FakeRunner):
    """Takes a moment for every step, so that a request runs for as long as a test wants.

    `fail_next` makes the next step raise; `model_error` is what loading the model raises.
    """

    def __init__(self) -> None:
        super().__init__()
        self.fail_next = threading.Event()
        self.model_error: ModelError | None = None
        self.before_step = self._take_time
        self._pace = threading.Event()

    def _take_time(self) -> None:
        if self.fail_next.is_set():
            self.fail_next.clear()
            raise RuntimeError("the graphics card has left")
        self._pace.wait(0.01)


class House:
    """A started application and how a test works with it."""

    def __init__(self, qtbot: QtBot, qapp: QApplication, paths: Paths, settings: Settings) -> None:
        self.qtbot = qtbot
        self.qapp = qapp
        self.runner = SlowRunner()
        self.home = Home(settings, paths, self._make_engine)
        self.home.claim()
        self.tray = FakeTray()
        self.codes: list[int] = []
        self._closed = False
        self.app = self._make_app()

    def _make_app(self) -> Application:
        app = Application(self.qapp, self.home, self.tray)
        app.ended.connect(self.codes.append)
        return app

    def _make_engine(
        self, model: Path, config: EngineConfig, *, model_id: str, deliver: Any, metrics: Any
    ) -> Engine:
        def assemble(path: Path, name: str, settings: EngineConfig) -> Assembly:
            if self.runner.model_error is not None:
                raise self.runner.model_error
            return fake_assembly(self.runner, settings, name)

        return Engine(
            model,
            EngineConfig(kv_budget_bytes=config.kv_budget_bytes, restart_delay_s=0.5),
            model_id=model_id,
            deliver=deliver,
            metrics=metrics,
            assembler=assemble,
        )

    def start_hidden(self) -> None:
        self.app.deleteLater()
        self.app = Application(self.qapp, self.home, self.tray, hidden=True)
        self.app.ended.connect(self.codes.append)
        self.app.start()

    def wait(self, condition: Callable[[], bool]) -> None:
        self.qtbot.waitUntil(condition, timeout=WAIT_MS)

    def wait_ready(self) -> None:
        self.wait(lambda: self.home.desk.model is not None and self.home.engine.health.ok)

    def run_request(self, name: str = "a") -> None:
        """A request that goes on and on."""
        self.home.engine.submit(request(name, [7] * 20, 4000))
        self.wait(lambda: self.home.desk.snapshot.num_running >= 1)

    def run_quietly(self, name: str = "a") -> None:
        """A request whose end nobody waits for."""
        self.home.engine.submit(request(name, [7] * 20, 4))

    def dialog(self, kind: type[D]) -> D:
        """The one open dialog of this class; waits for it."""

        def found() -> list[D]:
            widgets = self.qapp.topLevelWidgets()
            return [w for w in widgets if isinstance(w, kind) and w.isVisible()]

        self.wait(lambda: bool(found()))
        (dialog,) = found()
        return dialog

    def close(self) -> bool:
        """Leave, as if nothing ran, and end everything. Closing twice is harmless."""
        if self._closed:
            return True
        self._closed = True
        self.app.leave()
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
        ended = self.app.close_house()
        self.app.deleteLater()
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
        return ended


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])
