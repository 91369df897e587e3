"""Long work of the window itself, such as comparing texts, away from the main thread."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")


def in_background(job: Callable[[], T]) -> Future[T]:
    """Run a job that touches nothing of Qt. It may be left unfinished when Ondol quits."""
    future: Future[T] = Future()

    def run() -> None:
        try:
            result = job()
        except Exception as error:
            future.set_exception(error)
        else:
            future.set_result(result)

    future.set_running_or_notify_cancel()
    threading.Thread(target=run, name="ondol-window-work", daemon=True).start()
    return future
