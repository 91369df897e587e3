"""The frame of a child process that loads a model: JSON lines on stdout, and an orderly end."""

from __future__ import annotations

import gc
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import TextIO

from app.bench.errors import BenchError
from app.bench.memory import Peak
from engine.assembly import leave_thread
from engine.errors import EngineError
from engine.model import device


class Replies:
    """What the child has to say to the bench: the facts first, then one JSON object a line."""

    def __init__(self, lines: TextIO) -> None:
        self._lines = lines

    def send(self, reply: Mapping[str, object]) -> None:
        self._lines.write(json.dumps(reply) + "\n")
        self._lines.flush()

    def facts(self, dtype: str, context_window: int) -> None:
        """What `app.bench.facts.WorkerFacts` is made of."""
        self.send(
            {
                "device": asdict(device.describe()),
                "prefill_chunk": device.default_prefill_chunk(),
                "context_window": context_window,
                "dtype": dtype,
            }
        )

    def say(self, line: str) -> None:
        """A line of progress."""
        self.send({"say": line})

    def results(self, results: object, peak: Peak) -> None:
        """What was measured, as plain data, and what the child took of memory for it."""
        self.send({"results": results, "peak": asdict(peak)})


def run(work: Callable[[Replies], None]) -> int:
    """Have the work done; a BenchError or EngineError that it raises becomes {"error"} with the
    message, the last reply. Returns the exit code."""
    replies = Replies(_take_stdout())
    try:
        work(replies)
    except (BenchError, EngineError) as error:
        replies.send({"error": str(error)})
        return 1
    finally:
        gc.collect()  # modules of a model refer to each other, and no array may outlive its thread
        leave_thread()
    return 0


def _take_stdout() -> TextIO:
    """Keep stdout for replies alone: what a library prints goes to stderr."""
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return replies
