"""The options of `ondol bench churn`, and whole runs on small prompts."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.bench.churn import Plan
from app.bench.churn_command import PLAN, QUICK_PLAN, ChurnOptions, run
from app.bench.command import main
from app.bench.errors import BenchError
from app.bench.model_setup import Setup
from engine.model import machine

CORES = machine.usable_cores()
ALONE = ChurnOptions(Plan(4, 100, 250, 2), None, Setup(1))


@pytest.mark.parametrize(
    ("words", "engine_plan", "model"),
    [
        ("", None, None),
        ("--quick", None, None),
        ("--model", replace(PLAN, cycles=2), None),
        ("--model --quick", QUICK_PLAN, None),
        ("--model m", replace(PLAN, cycles=2), Path("m")),
    ],
)
def test_what_is_measured(
    asked: list[Any], words: str, engine_plan: Plan | None, model: Path | None
) -> None:
    assert main(["churn", *words.split()]) == 0
    assert asked == [ChurnOptions(PLAN, engine_plan, Setup(CORES, model))]


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ("--threads 0", "at least 1"),
        ("--cycles 3", "--cycles"),
    ],
)
def test_what_makes_no_sense_ends_with_2(
    refused: Callable[[str], str], words: str, complaint: str
) -> None:
    assert complaint in refused(f"churn {words}")


def test_the_cache_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "churn.json"
    results = run(replace(ALONE, setup=Setup(1, json_file=file)))
    assert results.engine is None
    assert "4 prompts of 100 tokens in turn, 400 a cycle" in capsys.readouterr().out
    assert json.loads(file.read_text())["alone"]["asked_tokens"] == 400


def test_a_whole_run(tiny_model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The engine with a small model: its tails are allocated in steps, so a little less stays."""
    plan = Plan(prompts=6, prompt_tokens=96, pool_tokens=400, cycles=2)
    results = run(replace(ALONE, engine_plan=plan, setup=Setup(1, tiny_model)))
    assert results.engine is not None
    lru, worth = results.engine.sides
    assert [cycle.restored_tokens for cycle in lru.cycles] == [0, 0]
    assert all(len(cycle.ttft_s) == 6 and min(cycle.ttft_s) > 0 for cycle in worth.cycles)
    said = capsys.readouterr().out
    assert "worth, cycle 2: " in said
    assert "mean TTFT in cycle, ms" in said


def test_prompts_beyond_the_window_are_told_before_anything_is_measured(tiny_model: Path) -> None:
    plan = Plan(prompts=2, prompt_tokens=128, pool_tokens=400, cycles=2)
    with pytest.raises(BenchError, match=r"Prompts of 128 tokens do not fit .* window of 128"):
        run(replace(ALONE, engine_plan=plan, setup=Setup(1, tiny_model)))
