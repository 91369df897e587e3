"""A screen for the window under measurement that nobody has to look at."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from app.bench.errors import BenchError


@dataclass(frozen=True, slots=True)
class Display:
    """`variables` make Qt draw on it."""

    name: str
    variables: Mapping[str, str]


@contextlib.contextmanager
def display() -> Iterator[Display]:
    """An X server of the bench's own where Xvfb is installed; else Qt draws into memory.

    Raises BenchError.
    """
    xvfb = shutil.which("Xvfb") if sys.platform == "linux" else None
    if xvfb is None:
        yield Display("offscreen", {"QT_QPA_PLATFORM": "offscreen"})
        return
    process = subprocess.Popen(
        [xvfb, "-displayfd", "1", "-screen", "0", "1280x800x24", "-nolisten", "tcp"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    try:
        assert process.stdout is not None
        number = process.stdout.readline().strip()
        if not number:
            raise BenchError(f"Xvfb ended with code {process.wait()} before it had a screen.")
        yield Display("Xvfb", {"QT_QPA_PLATFORM": "xcb", "DISPLAY": f":{number}"})
    finally:
        process.terminate()
        with process:  # closes the pipe and waits
            pass
