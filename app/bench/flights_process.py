"""The bench's end of `app.bench.flights_worker`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from app.bench.child import child, log_tail, python_command
from app.bench.errors import BenchError
from app.bench.flights import CaseResult, Plan
from app.bench.plain import PlainFacts


def measure(
    model: Path,
    plan: Plan,
    folder: Path,
    variables: Mapping[str, str],
    say: Callable[[str], None],
) -> tuple[PlainFacts, tuple[CaseResult, ...]]:
    """Have all sides measured in a process that ends with this call. `variables` are environment
    variables for it. Raises BenchError when it fails."""
    log = folder / "flights.log"
    command = python_command("app.bench.flights_worker", str(model), json.dumps(asdict(plan)))
    with child(command, log, variables, piped=True) as process:
        assert process.stdout is not None
        replies = _replies(process.stdout, log)
        facts = PlainFacts(**next(replies))
        for reply in replies:
            if "cases" in reply:
                return facts, tuple(map(CaseResult.from_json, reply["cases"]))
            say(reply["say"])
    raise AssertionError("replies have no end but the results")


def _replies(lines: Iterator[str], log: Path) -> Iterator[dict[str, Any]]:
    for line in lines:
        reply: dict[str, Any] = json.loads(line)
        if "error" in reply:
            raise BenchError(reply["error"])
        yield reply
    raise BenchError(f"The measuring process ended: {log_tail(log)}")
