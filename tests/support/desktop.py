"""A screen with a panel, and hands for its keyboard and mouse."""

from __future__ import annotations

import shutil
import struct
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np
from PySide6.QtGui import QImage

from tests.support.waiting import wait_until

WIDTH, HEIGHT = 1280, 800
TOOLS = ("Xvfb", "trayer", "xdotool")

_STILL_S = 0.3
_pause = threading.Event()

_XWD_FIELDS = struct.Struct(">25I")
_XWD_COLOR_BYTES = 12


def missing_tools() -> list[str]:
    return [tool for tool in TOOLS if shutil.which(tool) is None]


class Screen:
    """What a person sees and does. `variables` bring a program onto it."""

    def __init__(self, number: str, frames: Path) -> None:
        self.variables: Mapping[str, str] = {"DISPLAY": f":{number}", "QT_QPA_PLATFORM": "xcb"}
        self._frame = frames / "Xvfb_screen0"

    def windows(self, title: str) -> list[str]:
        """The visible windows with this very title."""
        found = self._xdotool("search", "--onlyvisible", "--name", f"^{title}$", check=False)
        return found.split()

    def focus(self, title: str) -> None:
        wait_until(lambda: bool(self.windows(title)), 30)
        self._xdotool("windowfocus", "--sync", self.windows(title)[0])

    def press(self, *keys: str) -> None:
        self._xdotool("key", *keys)

    def write(self, text: str) -> None:
        self._xdotool("type", "--delay", "4", text)

    def click(self, x: int, y: int) -> None:
        self._xdotool("mousemove", str(x), str(y), "click", "1")

    def settle(self) -> None:
        """Wait until the picture stands still, as a person does before the next key."""
        last = [self.pixels()]

        def still() -> bool:
            before, last[0] = last[0], self.pixels()
            return np.array_equal(before, last[0])

        _pause.wait(_STILL_S)
        wait_until(lambda: not _pause.wait(_STILL_S) and still(), 20)

    def pixels(self) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
        """Rows of pixels, four bytes each."""
        data = self._frame.read_bytes()
        header = _XWD_FIELDS.unpack_from(data)
        size, width, height, stride, colors = (header[at] for at in (0, 4, 5, 12, 19))
        start = size + colors * _XWD_COLOR_BYTES
        rows = np.frombuffer(data, np.uint8, height * stride, start).reshape(height, stride)
        return rows[:, : width * 4].copy()

    def save(self, path: Path) -> None:
        """A picture for whoever wants to know why a test failed."""
        pixels = self.pixels()
        QImage(pixels.tobytes(), WIDTH, HEIGHT, QImage.Format.Format_RGB32).save(str(path))

    def _xdotool(self, *arguments: str, check: bool = True) -> str:
        done = subprocess.run(
            ["xdotool", *arguments],
            check=check,
            capture_output=True,
            text=True,
            timeout=30,
            env={"DISPLAY": self.variables["DISPLAY"], "PATH": "/usr/bin:/bin"},
        )
        return done.stdout


@contextmanager
def screen(folder: Path) -> Iterator[Screen]:
    """A screen of its own, whose frames lie in `folder`, with a panel for tray icons."""
    with ExitStack() as stack:
        options = f"-displayfd 1 -screen 0 {WIDTH}x{HEIGHT}x24 -nolisten tcp -fbdir".split()
        xvfb = _start(stack, ["Xvfb", *options, str(folder)], {})
        assert xvfb.stdout is not None
        seen = Screen(xvfb.stdout.readline().strip(), folder)
        _start(stack, ["trayer", "--edge", "top", "--align", "right"], seen.variables)
        wait_until(lambda: bool(seen._xdotool("search", "--class", "trayer", check=False)), 20)
        yield seen


def _start(
    stack: ExitStack, command: list[str], variables: Mapping[str, str]
) -> subprocess.Popen[str]:
    process = stack.enter_context(
        subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={"PATH": "/usr/bin:/bin", **variables},
        )
    )
    stack.callback(process.terminate)
    return process
