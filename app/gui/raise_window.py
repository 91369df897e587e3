"""Starting Ondol again shows the window of the one that runs: a word through a local socket."""

from __future__ import annotations

import hashlib
import logging
import os
import time
from pathlib import Path

from PySide6.QtCore import QObject, QThread, Signal
from PySide6.QtNetwork import QLocalServer, QLocalSocket

logger = logging.getLogger(__name__)

SOCKET_NAME = "window.socket"

_SHOW = b"show"
_SHOWN = b"shown\n"
_TOKEN_VARIABLE = "XDG_ACTIVATION_TOKEN"  # Wayland lets a window come forward only with one
_MAX_LINE = 1024
_ATTEMPT_MS = 500
_PAUSE_MS = 50


def _server_names(data_folder: Path) -> tuple[str, ...]:
    """Where to listen, the best first.

    The data folder is its owner's alone, and the same for every start, whatever TMPDIR says. Where
    its path is too long for a socket, or its disk has none, there is the folder for temporary
    files.
    """
    folder = data_folder.resolve()
    who = f"{os.getuid()}:{folder}"
    elsewhere = f"ondol-{hashlib.sha256(os.fsencode(who)).hexdigest()[:24]}"
    return str(folder / SOCKET_NAME), elsewhere


class RaiseServer(QObject):
    """Listens for another start with the same data folder, which the caller holds.

    raised   the window is wanted
    """

    raised = Signal()

    def __init__(self, data_folder: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._server = QLocalServer(self)
        self._server.setSocketOptions(QLocalServer.SocketOption.UserAccessOption)
        self._server.newConnection.connect(self._meet)
        for name in _server_names(data_folder):
            QLocalServer.removeServer(name)  # a killed Ondol leaves its socket behind
            if self._server.listen(name):
                return
        logger.warning("starting Ondol again will not find it: %s", self._server.errorString())

    def close(self) -> None:
        self._server.close()

    def _meet(self) -> None:
        while (caller := self._server.nextPendingConnection()) is not None:
            caller.disconnected.connect(caller.deleteLater)
            caller.readyRead.connect(lambda caller=caller: self._hear(caller))
            if caller.bytesAvailable():
                self._hear(caller)

    def _hear(self, caller: QLocalSocket) -> None:
        if not caller.canReadLine() and caller.bytesAvailable() < _MAX_LINE:
            return
        word, _, token = bytes(caller.readLine(_MAX_LINE).data()).strip().partition(b" ")
        if word == _SHOW:
            if token:
                os.environ[_TOKEN_VARIABLE] = token.decode("ascii", "ignore")
            self.raised.emit()
            caller.write(_SHOWN)
            caller.flush()
        caller.disconnectFromServer()


def raise_running(data_folder: Path, limit_s: float = 3.0) -> bool:
    """Have the Ondol that holds this data folder show its window. False where it has none.

    For a process that is about to end: it waits, and tries again as the other one may just be
    starting.
    """
    names = _server_names(data_folder)
    deadline = time.monotonic() + limit_s
    while True:
        if any(_ask(name) for name in names):
            return True
        if time.monotonic() >= deadline:
            return False
        QThread.msleep(_PAUSE_MS)


def _ask(name: str) -> bool:
    socket = QLocalSocket()
    socket.connectToServer(name)
    if not socket.waitForConnected(_ATTEMPT_MS):
        return False
    token = os.environ.get(_TOKEN_VARIABLE, "").encode("ascii", "ignore")
    socket.write(b" ".join((_SHOW, token)).strip() + b"\n")
    answered = socket.waitForReadyRead(_ATTEMPT_MS) and socket.canReadLine()
    return answered and bytes(socket.readLine(_MAX_LINE).data()) == _SHOWN
