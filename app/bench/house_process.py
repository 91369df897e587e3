"""The bench's end of `app.bench.house_worker`."""

from __future__ import annotations

import contextlib
import json
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

from app.bench.child import END_LIMIT_S, child, log_tail, python_command
from app.bench.errors import BenchError
from app.bench.flights import Side
from app.bench.server_process import ServerProcess


class HouseServer(ServerProcess):
    """A started server of one side."""

    def __init__(
        self, process: subprocess.Popen[str], data_dir: Path, log: Path, peak_file: Path
    ) -> None:
        super().__init__(process, data_dir, log)
        self._peak_file = peak_file

    def finish(self) -> int:
        """End it, and read the most memory that it ever had, in bytes. Raises BenchError."""
        self._process.terminate()
        try:
            code = self._process.wait(END_LIMIT_S)
        except subprocess.TimeoutExpired:
            raise BenchError(f"`{self.command}` did not end in time.") from None
        if code != 0:
            raise BenchError(f"`{self.command}` ended with code {code}: {log_tail(self._log)}")
        try:
            return int(json.loads(self._peak_file.read_text(encoding="utf-8"))["peak_bytes"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise BenchError(f"The server's peak memory cannot be read: {error!r}") from None


@contextlib.contextmanager
def house_server(
    model: Path, folder: Path, variables: Mapping[str, str], side: Side, kv_budget_bytes: int
) -> Iterator[HouseServer]:
    """Starts one side and ends it with the block. All its files lie in `folder`."""
    data_dir, log, peak = (folder / f"{side}{end}" for end in ("", ".log", ".json"))
    command = python_command(
        "app.bench.house_worker",
        *(str(model), str(data_dir), side, str(kv_budget_bytes), str(peak)),
    )
    with child(command, log, variables) as process:
        yield HouseServer(process, data_dir, log, peak)
