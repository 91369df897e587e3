"""Answers that come later, brought back to the main thread."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from typing import Any, TypeVar

from PySide6.QtCore import QObject, Qt, Signal
from shiboken6 import isValid

T = TypeVar("T")


class _Carrier(QObject):
    """Lives on the main thread; its signal may be emitted on any."""

    arrived = Signal(object)


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
    carrier = _Carrier(owner)

    def deliver(finished: Any) -> None:
        carrier.deleteLater()
        try:
            result = finished.result()
        except CancelledError:
            return
        except Exception as error:
            if failed is None:
                raise
            failed(error)
        else:
            done(result)

    def hand_over(finished: Future[T]) -> None:
        if isValid(carrier):
            carrier.arrived.emit(finished)

    carrier.arrived.connect(deliver, Qt.ConnectionType.QueuedConnection)
    future.add_done_callback(hand_over)
