"""What every test run needs: a fast matrix library, one run at a time, no leftovers."""

from __future__ import annotations

import fcntl
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.gui.imports import drop_import_hook
from app.paths import find_paths
from engine.model import catalog, device

# OpenBLAS must be loaded before the first test module imports MLX.
device.prepare()

_THREAD_END_S = 5.0
_LOCK_FILE = Path(tempfile.gettempdir()) / "ondol-machine.lock"
_lock = pytest.StashKey[object]()


def pytest_sessionstart() -> None:
    """PySide6, which pytest-qt has imported, wraps every import and would read files in the
    loop."""
    drop_import_hook()


def pytest_collection_finish(session: pytest.Session) -> None:
    """Wait until no other run of the real model or bench uses the machine: times would lie.

    Done here rather than in the fixture, where waiting would count against a test's time limit.
    """
    if not any("starter_model" in getattr(item, "fixturenames", ()) for item in session.items):
        return
    lock = _LOCK_FILE.open("w")
    fcntl.flock(lock, fcntl.LOCK_EX)
    session.config.stash[_lock] = lock


@pytest.fixture(scope="session")
def starter_model() -> Path:
    """The starter model's folder among Ondol's own data, imported once and only read."""
    return catalog.starter_model_folder(find_paths().data)


@pytest.fixture(autouse=True)
def no_leftover_threads() -> Iterator[None]:
    """A test that starts threads also ends them: one left over would run into the next test."""
    before = set(threading.enumerate())
    yield
    for thread in set(threading.enumerate()) - before:
        if not thread.daemon:
            thread.join(_THREAD_END_S)
            assert not thread.is_alive(), f"the test left the thread {thread.name} running"
