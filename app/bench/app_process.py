"""The real app of the bench's own, on a screen that nobody sees, under a probe."""

from __future__ import annotations

import contextlib
import json
import subprocess
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.bench.child import END_LIMIT_S, child, log_tail, python_command
from app.bench.errors import BenchError
from app.bench.gui import Section
from app.bench.server_process import ServerProcess, noted_address


@dataclass(frozen=True, slots=True)
class ProbeReport:
    """What the app's probe wrote at the end."""

    sections: Mapping[str, Section]
    first_paint_s: float


class AppProcess(ServerProcess):
    """A started app. It is told what to do by lines on its standard input."""

    command = "ondol"

    def __init__(
        self, process: subprocess.Popen[str], started: float, data_dir: Path, log: Path, probe: Path
    ) -> None:
        super().__init__(process, log, noted_address(data_dir))
        self._started = started
        self._probe = probe

    def show(self) -> None:
        self._tell("show")

    def hide(self) -> None:
        self._tell("hide")

    def mark(self, section: str) -> None:
        self._tell(f"mark {section}")

    def finish(self) -> ProbeReport:
        """Quit and read what the probe has to say. Raises BenchError."""
        self._process.terminate()
        try:
            code = self._process.wait(END_LIMIT_S)
        except subprocess.TimeoutExpired:
            raise BenchError("`ondol` did not quit in time.") from None
        if code != 0:
            raise BenchError(f"`ondol` ended with code {code}: {log_tail(self._log)}")
        try:
            return _read(json.loads(self._probe.read_text(encoding="utf-8")), self._started)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise BenchError(f"The probe's report cannot be read: {error!r}") from None

    def _tell(self, line: str) -> None:
        stdin = self._process.stdin
        assert stdin is not None
        try:
            stdin.write(line + "\n")
            stdin.flush()
        except OSError:
            raise BenchError(f"`ondol` has ended: {log_tail(self._log)}") from None


@contextlib.contextmanager
def app_process(model: Path, folder: Path, variables: Mapping[str, str]) -> Iterator[AppProcess]:
    """Starts the app and ends it with the block. All its files lie in `folder`."""
    data_dir, log, probe = folder / "app-data", folder / "app.log", folder / "probe.json"
    command = python_command(
        *("app", "--port", "0", "--data-dir", str(data_dir), "--model", str(model)),
        *("--probe", str(probe)),
    )
    started = time.monotonic()
    with child(command, log, variables, piped=True) as process:
        yield AppProcess(process, started, data_dir, log, probe)


def _read(report: Mapping[str, Any], started: float) -> ProbeReport:
    sections = {name: Section(**section) for name, section in report["sections"].items()}
    if not report["first_paint_at"]:
        raise BenchError("The window was never painted.")
    return ProbeReport(sections, report["first_paint_at"] - started)
