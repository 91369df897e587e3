"""SIGINT and SIGTERM, brought into Qt's event loop."""

from __future__ import annotations

import contextlib
import signal
import socket
from collections.abc import Callable, Iterator
from types import FrameType

from PySide6.QtCore import QSocketNotifier

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextlib.contextmanager
def signals_call(on_signal: Callable[[], None]) -> Iterator[None]:
    """Call `on_signal` on the main thread for the first of the signals; a second one ends the
    process the hard way."""

    def note(number: int, frame: FrameType | None) -> None:
        # Python runs this between two bytecodes, and Qt may wait in none: the socket wakes it.
        for name in _SIGNALS:
            signal.signal(name, signal.SIG_DFL)

    reader, writer = socket.socketpair()
    for end in (reader, writer):
        end.setblocking(False)
    notifier = QSocketNotifier(reader.fileno(), QSocketNotifier.Type.Read)

    def wake() -> None:
        reader.recv(64)
        on_signal()

    notifier.activated.connect(wake)
    before = {name: signal.signal(name, note) for name in _SIGNALS}
    woken_before = signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
    try:
        yield
    finally:
        signal.set_wakeup_fd(woken_before)
        for name, handler in before.items():
            signal.signal(name, handler)
        notifier.setEnabled(False)
        reader.close()
        writer.close()
