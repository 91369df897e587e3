"""The signals that ask Ondol to end, brought into Qt's event loop."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable, Iterator

from PySide6.QtCore import QSocketNotifier

from app.stop_signals import first_signal_wakes


@contextlib.contextmanager
def signals_call(on_signal: Callable[[], None]) -> Iterator[None]:
    """Call `on_signal` on the main thread for the first of the signals; a second one ends the
    process the hard way."""
    reader, writer = socket.socketpair()
    for end in (reader, writer):
        end.setblocking(False)
    notifier = QSocketNotifier(reader.fileno(), QSocketNotifier.Type.Read)

    def wake() -> None:
        reader.recv(64)
        on_signal()

    notifier.activated.connect(wake)
    # Qt may wait without running a bytecode: the socket wakes it.
    try:
        with first_signal_wakes(writer.fileno()):
            yield
    finally:
        notifier.setEnabled(False)
        reader.close()
        writer.close()
