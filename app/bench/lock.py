"""One bench, or run of tests on the real model, at a time on one machine: times would lie."""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

LOCK_FILE = Path(tempfile.gettempdir()) / "ondol-machine.lock"

_BUSY_SHARE = 0.25


@contextlib.contextmanager
def machine_lock(path: Path, on_wait: Callable[[], None]) -> Iterator[None]:
    """Have the machine until the block ends; `on_wait` is called once if somebody else has it.

    The lock is the operating system's (flock), so a crash frees it. Raises OSError.
    """
    fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            on_wait()
            fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def load_average() -> float:
    """Processes that wanted a core in the last minute, on average."""
    return os.getloadavg()[0]


def is_busy(load: float, cores: int) -> bool:
    """Whether others want so much of the machine that times are theirs too."""
    return load > _BUSY_SHARE * cores
