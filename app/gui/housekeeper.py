"""Runs the steps of a Home on a thread of their own, and tells the main thread how they went."""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from PySide6.QtCore import QObject, Signal

from app.gui.futures import follow
from app.home import Home
from engine.errors import EngineError

logger = logging.getLogger(__name__)


class PortTaken(Exception):
    """`url` cannot be listened on; `free_port` can, unless it is 0."""

    def __init__(self, url: str, free_port: int) -> None:
        super().__init__(url)
        self.url = url
        self.free_port = free_port


class Housekeeper(QObject):
    """One step at a time, in the order of the calls.

    opened(Preferences)    what is stored is there
    served()               Ondol listens; the model is being loaded, or the engine says why not
    portTaken(str, int)    it cannot listen on this URL; a port that is free, or 0
    failed(Exception)      it cannot go on
    """

    opened = Signal(object)
    served = Signal()
    portTaken = Signal(str, int)
    failed = Signal(object)

    def __init__(self, home: Home, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._home = home
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="ondol-home")

    def open(self) -> None:
        follow(self._worker.submit(self._home.open), self, self.opened.emit, self.failed.emit)

    def serve(self, port: int | None = None) -> None:
        """Listen there, or where the settings say, and begin to load the model."""

        def begin() -> None:
            self._home.listen(port)
            self._home.load()

        self._do(begin)

    def restart(self) -> None:
        """Stop serving and begin again with the preferences as they are now."""
        self._do(self._home.restart)

    def close(self) -> bool:
        """End the step that is being made, then everything. Waits: for the end of the main thread's
        event loop. Returns whether every thread has ended."""
        self._worker.shutdown(cancel_futures=True)
        return self._home.stop()

    def _do(self, begin: Callable[[], None]) -> None:
        def step() -> None:
            from app.server.http_thread import BindError  # slow, so not before the first frame

            try:
                begin()
            except BindError as error:
                raise PortTaken(self._home.url, self._home.next_free_port()) from error
            except EngineError as error:
                # The engine's door tells whoever looks at it, and the window shows the way out.
                logger.warning("no model can be loaded: %s", type(error).__name__)

        follow(self._worker.submit(step), self, lambda _: self.served.emit(), self._tell)

    def _tell(self, error: Exception) -> None:
        if isinstance(error, PortTaken):
            self.portTaken.emit(error.url, error.free_port)
        else:
            self.failed.emit(error)
