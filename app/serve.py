"""`ondol serve`: Ondol without a screen, until a signal ends it."""

from __future__ import annotations

import contextlib
import logging
import os
import socket
from collections.abc import Iterator

from app.console import complain, say
from app.home import EngineFactory, Home
from app.instance import InstanceHeld
from app.logs import start_logging, stop_logging
from app.paths import find_paths
from app.server.http_thread import BindError
from app.settings import Settings
from app.stop_signals import first_signal_wakes
from app.storage.errors import StorageError
from engine.errors import EngineError
from engine.snapshot import EngineState

OK, FAILED, REFUSED = 0, 1, 2

_READY_POLL_S = 0.2


def serve(settings: Settings, engine_factory: EngineFactory | None = None) -> int:
    """Returns the exit code: 0 after a clean stop, 1 when Ondol cannot run at all (no model, a
    database of a newer version), 2 when the port or the data folder is somebody else's. A broken
    model is no reason to end: it answers 503.
    """
    paths = find_paths(settings.data_dir)
    try:
        paths.create()
        log_handler = start_logging(paths.log_file)
    except OSError as error:
        complain(f"The data folder cannot be used: {_reason(error)}")
        return FAILED
    try:
        with _stop_signal() as stopping:
            return _run(Home(settings, paths, engine_factory), stopping)
    finally:
        stop_logging(log_handler)


def _run(home: Home, stopping: _Stopping) -> int:
    try:
        home.start()
    except (InstanceHeld, BindError) as error:
        complain(str(error))
        return REFUSED
    except (EngineError, StorageError) as error:
        complain(str(error))
        return FAILED
    except OSError as error:
        complain(f"Ondol cannot start: {_reason(error)}")
        return FAILED
    try:
        _announce(home, stopping)
        stopping.wait()
    finally:
        ended = home.stop()
    if ended:
        return OK
    # A thread inside a library call cannot be ended, and interpreter exit would wait or crash.
    complain("The engine did not stop in time and was left behind.")
    logging.shutdown()
    os._exit(FAILED)


def _announce(home: Home, stopping: _Stopping) -> None:
    """Say where Ondol listens once it serves, or why it does not."""
    while not stopping.is_set():
        health = home.engine.wait_until_ready(_READY_POLL_S)
        if health.ok:
            say(f"Ondol is listening on {home.url}")
            return
        if health.state is EngineState.FAILED:
            complain(f"{home.url} answers 503: {health.reason}")
            return


class _Stopping:
    """Whether somebody has asked to stop.

    `wait` reads from a socket that the signal itself writes to. A lock would not do: a signal that
    comes just before the main thread blocks in one is not seen until something else wakes it.
    """

    def __init__(self) -> None:
        self._reader, self._writer = socket.socketpair()
        self._writer.setblocking(False)
        self._asked = False

    @property
    def wake_fd(self) -> int:
        return self._writer.fileno()

    def ask(self) -> None:
        self._asked = True

    def is_set(self) -> bool:
        return self._asked

    def wait(self) -> None:
        while not self._asked:
            self._reader.recv(64)

    def close(self) -> None:
        self._reader.close()
        self._writer.close()


@contextlib.contextmanager
def _stop_signal() -> Iterator[_Stopping]:
    """Set by the first signal; a second one ends the process the hard way."""
    stopping = _Stopping()
    try:
        with first_signal_wakes(stopping.wake_fd, stopping.ask):
            yield stopping
    finally:
        stopping.close()


def _reason(error: OSError) -> str:
    return os.strerror(error.errno) if error.errno else type(error).__name__
