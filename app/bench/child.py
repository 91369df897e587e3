"""Child processes that end with the bench, however it ends."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import app

END_LIMIT_S = 30.0

_LOG_TAIL_LINES = 12
# Children import this very Ondol, and nothing from the folder the bench happens to be started in.
_SOURCE = str(Path(app.__file__).parent.parent)


def python_command(module: str, *arguments: str) -> list[str]:
    """The command that runs a module of Ondol."""
    return [sys.executable, "-P", "-m", module, *arguments]


@contextlib.contextmanager
def child(
    command: Sequence[str],
    log: Path,
    variables: Mapping[str, str],
    *,
    piped: bool = False,
    end_limit_s: float = END_LIMIT_S,
) -> Iterator[subprocess.Popen[str]]:
    """A running process; at the end of the block it gets SIGTERM, and SIGKILL if it stays.

    Its output goes to `log`; `piped`, its stdin and stdout are pipes and only stderr goes there.
    """
    search_path = [_SOURCE, *filter(None, [os.environ.get("PYTHONPATH")])]
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE if piped else subprocess.DEVNULL,
            stdout=subprocess.PIPE if piped else output,
            stderr=output,
            text=True,
            env={**os.environ, **variables, "PYTHONPATH": os.pathsep.join(search_path)},
            # Ctrl-C reaches the bench alone, which ends its children in order.
            start_new_session=True,
        )
    try:
        yield process
    finally:
        _end(process, end_limit_s)


def log_tail(log: Path) -> str:
    """The last lines a child wrote, or nothing."""
    try:
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    return "\n".join(lines[-_LOG_TAIL_LINES:])


def _end(process: subprocess.Popen[str], limit_s: float) -> None:
    process.terminate()
    try:
        process.wait(limit_s)
    except BaseException as error:
        # Too slow, or a second Ctrl-C: no child outlives the bench, nor do children of its own.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        if not isinstance(error, subprocess.TimeoutExpired):
            raise
    finally:
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                # What is still buffered for a dead process cannot be flushed.
                with contextlib.suppress(OSError):
                    pipe.close()
