"""How long the main thread keeps its events waiting: gaps of a 10 ms timer, for the bench.

The bench talks to it by lines on standard input: `show` and `hide` the window, and `mark NAME` for
the section that what follows belongs to.
"""

from __future__ import annotations

import json
import logging
import os
import time
from array import array
from pathlib import Path
from typing import Protocol

from PySide6.QtCore import QObject, QSocketNotifier, Qt, QTimer

logger = logging.getLogger(__name__)

INTERVAL_MS = 10
FIRST_SECTION = "start"


class Stage(Protocol):
    """What the bench moves."""

    def show_window(self) -> None: ...

    def hide_window(self) -> None: ...


class _Section:
    def __init__(self) -> None:
        self.gaps_s = array("d")
        self.cpu_s = 0.0

    def figures(self) -> dict[str, float]:
        """Seconds, and the main thread's share of one core, the probe's own work included."""
        gaps = sorted(self.gaps_s)
        seconds = sum(gaps)

        def quantile(share: float) -> float:
            return gaps[min(len(gaps) - 1, int(share * len(gaps)))] if gaps else 0.0

        return {
            "seconds": seconds,
            "num_gaps": len(gaps),
            "gap_p50_s": quantile(0.5),
            "gap_p99_s": quantile(0.99),
            "gap_max_s": quantile(1.0),
            "cpu_share": self.cpu_s / seconds if seconds else 0.0,
        }


class Probe(QObject):
    """Measures from `start` to `write`. A gap is the time between two beats of the timer."""

    def __init__(self, path: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._path = path
        self._sections: dict[str, _Section] = {}
        self._section = _Section()
        self._first_paint_at = 0.0
        self._before_s = (0.0, 0.0)
        self._stage: Stage | None = None
        self._orders: QSocketNotifier | None = None
        self._unread = b""
        self._timer = QTimer(self)
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.setInterval(INTERVAL_MS)
        self._timer.timeout.connect(self._beat)

    def start(self) -> None:
        self.mark(FIRST_SECTION)
        self._before_s = _clocks()
        self._timer.start()

    def mark(self, name: str) -> None:
        """What follows belongs to the section of this name, which may have been there before."""
        self._section = self._sections.setdefault(name, _Section())

    def listen(self, orders_fd: int, stage: Stage) -> None:
        """Obey the lines that come from there."""
        self._stage = stage
        self._orders = QSocketNotifier(orders_fd, QSocketNotifier.Type.Read, self)
        self._orders.activated.connect(lambda: self._hear(orders_fd))

    def note_first_paint(self) -> None:
        """The window can be seen."""
        self._first_paint_at = self._first_paint_at or time.monotonic()

    def write(self) -> None:
        """End, and write the figures as JSON. `first_paint_at` is of the system's monotonic clock,
        0 for never."""
        self._timer.stop()
        if self._orders is not None:
            self._orders.setEnabled(False)
        figures = {
            "first_paint_at": self._first_paint_at,
            "sections": {name: section.figures() for name, section in self._sections.items()},
        }
        try:
            self._path.write_text(json.dumps(figures, indent=2), encoding="utf-8")
        except OSError:
            logger.exception("the probe's figures could not be written")

    def _beat(self) -> None:
        now_s = _clocks()
        self._section.gaps_s.append(now_s[0] - self._before_s[0])
        self._section.cpu_s += now_s[1] - self._before_s[1]
        self._before_s = now_s

    def _hear(self, orders_fd: int) -> None:
        read = os.read(orders_fd, 4096)
        if not read and self._orders is not None:
            self._orders.setEnabled(False)
        *lines, self._unread = (self._unread + read).split(b"\n")
        for line in lines:
            self._obey(line.decode("utf-8", "replace").strip())

    def _obey(self, order: str) -> None:
        verb, _, name = order.partition(" ")
        if verb == "mark" and name:
            self.mark(name)
        elif self._stage is not None and verb == "show":
            self._stage.show_window()
        elif self._stage is not None and verb == "hide":
            self._stage.hide_window()
        else:
            logger.warning("the probe does not know this order")


def _clocks() -> tuple[float, float]:
    """Seconds on the wall and of this thread."""
    return time.perf_counter(), time.thread_time()
