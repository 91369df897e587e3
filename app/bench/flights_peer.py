"""A real `mlx_lm.server` of the bench's own, on loopback, for the same model folder."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator, Mapping
from pathlib import Path

from app.bench.child import child, python_command
from app.bench.flights import Server
from app.bench.server_process import ServerProcess

_HOST = "127.0.0.1"


class PeerProcess(ServerProcess):
    """A started server. Its model may still be on its way when it is ready: the first request waits
    for it."""

    command = Server.MLX_LM


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
        yield PeerProcess(process, log, lambda: (_HOST, port))


def _free_port() -> int:
    """A port that nobody listens on now; the server cannot be asked to choose one."""
    with socket.socket() as probe:
        probe.bind((_HOST, 0))
        return int(probe.getsockname()[1])
