"""The bench's end of a worker that measures a plan with a model."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from app.bench.child import child, log_tail, python_command
from app.bench.errors import BenchError
from app.bench.facts import WorkerFacts
from app.bench.memory import Peak


def measure(
    worker: str,
    model: Path,
    plan: Mapping[str, object],
    folder: Path,
    variables: Mapping[str, str],
    say: Callable[[str], None],
) -> tuple[WorkerFacts, Any, Peak]:
    """Have the module `worker` measure in a process that ends with this call. `variables` are
    environment variables for it; its log lies in `folder`. The results are plain data, and come
    with what the process took of memory. Raises BenchError when it fails."""
    log = folder / "worker.log"
    command = python_command(worker, str(model), json.dumps(plan))
    with child(command, log, variables, piped=True) as process:
        assert process.stdout is not None
        replies = _replies(process.stdout, log)
        facts = WorkerFacts(**next(replies))
        for reply in replies:
            if "results" in reply:
                return facts, reply["results"], Peak(**reply["peak"])
            say(reply["say"])
    raise AssertionError("replies have no end but the results")


def _replies(lines: Iterator[str], log: Path) -> Iterator[dict[str, Any]]:
    for line in lines:
        reply: dict[str, Any] = json.loads(line)
        if "error" in reply:
            raise BenchError(reply["error"])
        yield reply
    raise BenchError(f"The measuring process ended: {log_tail(log)}")
