"""The frame of a worker: what reaches the bench, and how it ends."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from app.bench.child import child, log_tail
from app.bench.memory import Peak

PEAK = asdict(Peak("it", 5, 1, 2, 3))
NOISY = """
    print("noise of a library")
    replies.say("half way")
    replies.results([1, 2], Peak("it", 5, 1, 2, 3))
"""


def run(work: str, folder: Path) -> tuple[int, list[Any], str]:
    """A worker's exit code, its replies and its log. `work` is the body of what it does."""
    code = (
        "import sys\n"
        "from app.bench import worker\n"
        "from app.bench.errors import BenchError\n"
        "from app.bench.memory import Peak\n"
        "from engine.errors import ModelError\n"
        f"def work(replies):{work}\n"
        "sys.exit(worker.run(work))\n"
    )
    log = folder / "log"
    with child([sys.executable, "-P", "-c", code], log, {}, piped=True) as process:
        assert process.stdout is not None
        replies = [json.loads(line) for line in process.stdout]
        return process.wait(20), replies, log_tail(log)


def test_stdout_is_for_replies_alone(tmp_path: Path) -> None:
    code, replies, log = run(NOISY, tmp_path)
    assert code == 0
    assert replies == [{"say": "half way"}, {"results": [1, 2], "peak": PEAK}]
    assert log == "noise of a library"


@pytest.mark.parametrize("error", ["BenchError", "ModelError"])
def test_an_error_that_is_meant_for_people_is_the_last_reply(tmp_path: Path, error: str) -> None:
    code, replies, log = run(f" raise {error}('It is too small.')", tmp_path)
    assert code == 1
    assert replies == [{"error": "It is too small."}]
    assert log == ""


def test_any_other_error_is_in_the_log(tmp_path: Path) -> None:
    code, replies, log = run(" raise ValueError('odd')", tmp_path)
    assert code == 1
    assert replies == []
    assert log.endswith("ValueError: odd")


def test_the_facts_say_what_it_runs_on(tmp_path: Path) -> None:
    code, (facts,), _ = run(" replies.facts('float32', 128)", tmp_path)
    assert code == 0
    assert (facts["dtype"], facts["context_window"]) == ("float32", 128)
    assert facts["prefill_chunk"] > 0
    assert facts["device"]["kind"] in ("cpu", "gpu")
