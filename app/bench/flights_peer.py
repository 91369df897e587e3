"""A real `mlx_lm.server` of the bench's own, on loopback, for the same model folder."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from app.bench.child import child, log_tail, python_command
from app.bench.client import Client
from app.bench.errors import BenchError
from app.bench.flights import Server

START_LIMIT_S = 600.0

_HOST = "127.0.0.1"
_POLL_S = 0.1


class PeerProcess:
    """A started server; `wait_until_ready` gives the client to ask it with."""

    def __init__(self, process: subprocess.Popen[str], port: int, log: Path) -> None:
        self._process = process
        self._port = port
        self._log = log

    def wait_until_ready(self, limit_s: float = START_LIMIT_S) -> Client:
        """Wait until it answers. The model may still be on its way: the first request waits for
        it. Raises BenchError when it never does."""
        client, deadline = Client(_HOST, self._port), time.monotonic() + limit_s
        while time.monotonic() < deadline:
            if (code := self._process.poll()) is not None:
                raise BenchError(
                    f"`{Server.MLX_LM}` ended with code {code} before it served: "
                    f"{log_tail(self._log)}"
                )
            with contextlib.suppress(OSError):
                if client.health().ok:
                    return client
            time.sleep(_POLL_S)
        raise BenchError(f"`{Server.MLX_LM}` did not become ready within {limit_s:.0f} s.")


@contextlib.contextmanager
def peer_process(
    model: Path, folder: Path, variables: Mapping[str, str], prefill_chunk: int
) -> Iterator[PeerProcess]:
    """Starts the server and ends it with the block. Its log lies in `folder`."""
    log, port = folder / "mlx-lm.log", _free_port()
    command = python_command(
        "app.bench.flights_peer_worker",
        *("--model", str(model), "--host", _HOST, "--port", str(port)),
        *("--prefill-step-size", str(prefill_chunk)),
    )
    # A folder on this machine is all it needs.
    with child(command, log, {**variables, "HF_HUB_OFFLINE": "1"}) as process:
        yield PeerProcess(process, port, log)


def _free_port() -> int:
    """A port that nobody listens on now; the server cannot be asked to choose one."""
    with socket.socket() as probe:
        probe.bind((_HOST, 0))
        return int(probe.getsockname()[1])
