"""The bench's end of `app.bench.house_worker`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path

from app.bench.child import child, python_command
from app.bench.flights import Side
from app.bench.server_process import ServerProcess, noted_address


@contextlib.contextmanager
def house_server(
    model: Path, folder: Path, variables: Mapping[str, str], side: Side, kv_budget_bytes: int
) -> Iterator[ServerProcess]:
    """Starts the server of one side and ends it with the block. All its files lie in `folder`."""
    data_dir, log = folder / side, folder / f"{side}.log"
    command = python_command(
        "app.bench.house_worker", str(model), str(data_dir), side, str(kv_budget_bytes)
    )
    with child(command, log, variables) as process:
        yield ServerProcess(process, log, noted_address(data_dir))
