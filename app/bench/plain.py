"""Plain mlx-lm in a process of its own, driven over pipes: it computes only when it is asked."""

from __future__ import annotations

import contextlib
import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from app.bench.child import child, log_tail, python_command
from app.bench.client import Messages
from app.bench.errors import BenchError
from app.bench.facts import WorkerFacts


class PlainProcess:
    """The driver's end. Every method raises BenchError when the worker fails or is gone."""

    def __init__(self, process: subprocess.Popen[str], log: Path) -> None:
        self._process = process
        self._log = log

    def wait_until_ready(self) -> WorkerFacts:
        """The worker's first words, once the model is loaded. Call it once, before all else."""
        return WorkerFacts(**self._read())

    def encode(self, messages: Messages) -> list[int]:
        """The prompt of a chat, by the same template and tokenizer as the server's."""
        tokens: list[int] = self._ask("encode", messages=list(messages))["tokens"]
        return tokens

    def cold(self, tokens: Sequence[int]) -> float:
        """Seconds to the first token with an empty cache."""
        return float(self._ask("cold", tokens=tokens)["seconds"])

    def place(self, prefix: Sequence[int], suffix: Sequence[int]) -> None:
        """Get the KV of `prefix` into place for `extend`. Not timed."""
        self._ask("place", prefix=prefix, suffix=suffix)

    def extend(self, suffix: Sequence[int]) -> float:
        """Seconds to the first token with all before `suffix` in place."""
        return float(self._ask("extend", suffix=suffix)["seconds"])

    def _ask(self, do: str, **arguments: object) -> dict[str, Any]:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps({"do": do, **arguments}) + "\n")
            self._process.stdin.flush()
        except OSError:
            raise self._gone() from None
        return self._read()

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise self._gone()
        reply: dict[str, Any] = json.loads(line)
        if "error" in reply:
            raise BenchError(f"Plain mlx-lm failed: {reply['error']}")
        return reply

    def _gone(self) -> BenchError:
        return BenchError(f"The process of plain mlx-lm ended: {log_tail(self._log)}")


@contextlib.contextmanager
def plain_process(
    model: Path, folder: Path, variables: Mapping[str, str]
) -> Iterator[PlainProcess]:
    """Starts the worker and ends it with the block."""
    log = folder / "plain.log"
    command = python_command("app.bench.plain_worker", str(model))
    with child(command, log, variables, piped=True) as process:
        yield PlainProcess(process, log)
