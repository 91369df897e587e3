"""A real `ondol serve` of the bench's own: a free port, a data folder that nobody else has."""

from __future__ import annotations

import contextlib
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from app.bench.child import child, log_tail, python_command
from app.bench.client import ONDOL, Client
from app.bench.errors import BenchError
from app.instance import find_holder
from engine.snapshot import EngineState

START_LIMIT_S = 600.0

_POLL_S = 0.1

Address = Callable[[], tuple[str, int] | None]


class ServerProcess:
    """A started server; `wait_until_ready` gives the client to ask it with. `address` tells where
    it listens, once that is known."""

    command = ONDOL  # as messages name it

    def __init__(self, process: subprocess.Popen[str], log: Path, address: Address) -> None:
        self._process = process
        self._log = log
        self._address = address

    def wait_until_ready(self, limit_s: float = START_LIMIT_S) -> Client:
        """Wait until `/health` is 200. Raises BenchError when it cannot become that."""
        deadline = time.monotonic() + limit_s
        while time.monotonic() < deadline:
            if (code := self._process.poll()) is not None:
                raise BenchError(
                    f"`{self.command}` ended with code {code} before it served: "
                    f"{log_tail(self._log)}"
                )
            if client := self._healthy():
                return client
            time.sleep(_POLL_S)
        raise BenchError(f"`{self.command}` did not become ready within {limit_s:.0f} s.")

    def _healthy(self) -> Client | None:
        if (address := self._address()) is None:
            return None
        client = Client(*address, self.command)
        try:
            health = client.health()
        except OSError:
            return None
        if health.state == EngineState.FAILED.value:
            raise BenchError(f"`{self.command}` cannot use the model: {health.reason}")
        return client if health.ok else None


def noted_address(data_dir: Path) -> Address:
    """The note in its data folder says where an Ondol listens, as soon as it does."""

    def address() -> tuple[str, int] | None:
        holder = find_holder(data_dir)
        return None if holder is None else (holder.host, holder.port)

    return address


@contextlib.contextmanager
def server_process(
    model: Path, folder: Path, variables: Mapping[str, str]
) -> Iterator[ServerProcess]:
    """Starts the server and ends it with the block. All its files lie in `folder`."""
    data_dir, log = folder / "data", folder / "serve.log"
    command = python_command(
        "app", "serve", "--port", "0", "--data-dir", str(data_dir), "--model", str(model)
    )
    with child(command, log, variables) as process:
        yield ServerProcess(process, log, noted_address(data_dir))
