"""Answers that come later, brought back to the main thread."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from functools import cache
from typing import TypeVar

from PySide6.QtCore import QObject, Qt, Signal
from shiboken6 import isValid

T = TypeVar("T")


class _Bridge(QObject):
    """Lives on the main thread, and as long as the process: another thread may signal it at any
    moment. It gives that thread a number alone, as no Qt object may be freed there."""

    _arrived = Signal(int)

    def __init__(self) -> None:
        super().__init__()
        self._numbers = itertools.count()
        self._awaited: dict[int, Callable[[], None]] = {}
        self._arrived.connect(self._deliver, Qt.ConnectionType.QueuedConnection)

    def bring_back(self, future: Future[T], deliver: Callable[[], None]) -> None:
        """Have `deliver` called on the main thread once the future is done."""
        number = next(self._numbers)
        self._awaited[number] = deliver
        future.add_done_callback(lambda _: self._arrived.emit(number))

    def _deliver(self, number: int) -> None:
        self._awaited.pop(number)()


@cache
def _bridge() -> _Bridge:
    return _Bridge()


def follow(
    future: Future[T],
    owner: QObject,
    done: Callable[[T], None],
    failed: Callable[[Exception], None] | None = None,
) -> None:
    """Call `done` with the result, or `failed` with the error, on the main thread.

    Nothing is called once `owner` is gone, or for a future that was cancelled. Without `failed` an
    error is raised on the main thread, where it is logged and fails tests. Call on the main thread.
    """

    def deliver() -> None:
        if not isValid(owner):
            return
        try:
            result = future.result()
        except CancelledError:
            return
        except Exception as error:
            if failed is None:
                raise
            failed(error)
        else:
            done(result)

    _bridge().bring_back(future, deliver)
