"""The signals that ask Ondol to end: the first one wakes the main thread, a second one kills."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType


def stop_signals() -> tuple[signal.Signals, ...]:
    """SIGINT, SIGTERM and, unless whoever started Ondol has it ignored (nohup), SIGHUP."""
    asked = (signal.SIGINT, signal.SIGTERM)
    ignored = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    return asked if ignored else (*asked, signal.SIGHUP)


@contextlib.contextmanager
def interrupts_kill() -> Iterator[None]:
    """While the block runs, and nobody in it listens, Ctrl-C ends the process as SIGTERM does.

    Python's exception would come in the middle of an import, which traces it or even aborts.
    """
    before = signal.getsignal(signal.SIGINT)
    if before is not signal.default_int_handler or not _in_main_thread():
        yield
        return
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


@contextlib.contextmanager
def first_signal_wakes(
    wake_fd: int, note: Callable[[], None] = lambda: None
) -> Iterator[tuple[signal.Signals, ...]]:
    """While the block runs the first of the signals is written to `wake_fd`, which must not block,
    and noted; Python runs `note` between two bytecodes, which a thread that waits does not reach.

    From then on the signals have the system's meaning: the process ends at once, and a shell says
    128 plus the signal's number. Gives the signals that are heard. Main thread only.
    """
    heard = stop_signals()

    def on_signal(number: int, frame: FrameType | None) -> None:
        for name in heard:
            signal.signal(name, signal.SIG_DFL)
        note()

    before = {name: signal.signal(name, on_signal) for name in heard}
    woken_before = signal.set_wakeup_fd(wake_fd, warn_on_full_buffer=False)
    try:
        yield heard
    finally:
        signal.set_wakeup_fd(woken_before)
        for name, handler in before.items():
            signal.signal(name, handler)
