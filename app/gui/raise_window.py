"""Starting Ondol again shows the window of the one that runs: a word through a local socket."""

from __future__ import annotations

import hashlib
import os
import time
from pathlib import Path

from PySide6.QtCore import QObject, QThread, Signal
from PySide6.QtNetwork import QLocalServer, QLocalSocket

_SHOW = b"show"
_SHOWN = b"shown\n"
_TOKEN_VARIABLE = "XDG_ACTIVATION_TOKEN"  # Wayland lets a window come forward only with one
_MAX_LINE = 1024
_ATTEMPT_MS = 500
_PAUSE_MS = 50


def _server_name(data_folder: Path) -> str:
    """One for each user and data folder; short, as the paths of sockets are limited."""
    who = f"{os.getuid()}:{data_folder.resolve()}"
    return f"ondol-{hashlib.sha256(who.encode()).hexdigest()[:24]}"


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
        name = _server_name(data_folder)
        QLocalServer.removeServer(name)  # a killed Ondol leaves its socket behind
        self._server.listen(name)

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
    deadline = time.monotonic() + limit_s
    while True:
        if _ask(data_folder):
            return True
        if time.monotonic() >= deadline:
            return False
        QThread.msleep(_PAUSE_MS)


def _ask(data_folder: Path) -> bool:
    socket = QLocalSocket()
    socket.connectToServer(_server_name(data_folder))
    if not socket.waitForConnected(_ATTEMPT_MS):
        return False
    token = os.environ.get(_TOKEN_VARIABLE, "").encode("ascii", "ignore")
    socket.write(b" ".join((_SHOW, token)).strip() + b"\n")
    answered = socket.waitForReadyRead(_ATTEMPT_MS) and socket.canReadLine()
    return answered and bytes(socket.readLine(_MAX_LINE).data()) == _SHOWN
