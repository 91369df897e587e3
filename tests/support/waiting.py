"""Waiting for something that happens on another thread."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

_pause = threading.Event()


def wait_until(condition: Callable[[], bool], timeout_s: float = 20.0) -> None:
    """Poll until the condition holds; fails after the time limit."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, "the condition never came true"
        _pause.wait(0.005)
