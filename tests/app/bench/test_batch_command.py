"""The options of `ondol bench batch`, and one whole run with a very small model."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.bench.batch import BatchPlan, ChunkPlan, Knee, SimulatedPlan, SweepPlan
from app.bench.batch_command import BatchOptions, run
from app.bench.batch_plan import FULL, QUICK
from app.bench.batch_traffic import Traffic
from app.bench.command import main
from app.bench.errors import BenchError
from app.bench.model_setup import Setup
from app.bench.simulation.model import A100_8B
from engine.config import AdmissionMode
from engine.errors import ModelError
from engine.model import machine

CORES = machine.usable_cores()
MODES = (AdmissionMode.MAX_THROUGHPUT, AdmissionMode.PROTECT_CACHE)
MEASURED = SweepPlan(Traffic(2, 60, (2, 4)), 1_000, (1, 3), MODES, 6, 1)
PLAN = BatchPlan(
    SimulatedPlan(
        A100_8B,
        SweepPlan(Traffic(3, 160, (4, 8)), 2_000, (1, 4), MODES, 8, 1),
        Knee(1, 4),
        SweepPlan(Traffic(3, 160, (4, 8)), 2_000, (1,), MODES, 8, 1),
        ChunkPlan(Traffic(2, 512, (4, 8)), 4_000, 2, (256,), 4),
    ),
    MEASURED,
)


@pytest.mark.parametrize(("words", "plan"), [("", FULL), ("--quick", QUICK)])
def test_what_is_measured(asked: list[Any], words: str, plan: BatchPlan) -> None:
    assert main(["batch", *words.split()]) == 0
    assert asked == [BatchOptions(plan, Setup(CORES))]


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ("--pairs 3", "unrecognized arguments"),
    ],
)
def test_what_makes_no_sense_ends_with_2(
    refused: Callable[[str], str], words: str, complaint: str
) -> None:
    assert complaint in refused(f"batch {words}")


def test_a_folder_that_is_no_model_is_told(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"config\.json"):
        run(BatchOptions(PLAN, Setup(1, tmp_path)))


def test_prompts_beyond_the_window_are_told_before_anything_is_measured(roomy_model: Path) -> None:
    measured = replace(MEASURED, traffic=Traffic(2, 2_045, (2, 4)))
    with pytest.raises(BenchError, match=r"of 2,049 tokens do not fit .* window of 2,048"):
        run(BatchOptions(replace(PLAN, measured=measured), Setup(1, roomy_model)))


def test_a_whole_run(roomy_model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "batch.json"
    results = run(BatchOptions(PLAN, Setup(1, roomy_model, json_file=file)))
    for sweep in results.measured:
        assert [point.requests for point in sweep.points] == [6, 6]
        assert all(0.75 < point.hit_rate < 1 for point in sweep.points)
        assert all(point.tokens_per_s > 0 for point in sweep.points)
    assert [len(sweep.points) for sweep in results.simulated.sweeps] == [2, 2]
    said = capsys.readouterr().out
    assert "measured, protect-cache, 3 clients: " in said
    assert "Against the bars" in said
    data = json.loads(file.read_text())
    assert data["conditions"]["model"] == "Tiny-1B"
    assert [each["mode"] for each in data["measured"]["sweeps"]] == [mode.value for mode in MODES]


def test_a_hybrid_model_is_refused(hybrid_model: Path) -> None:
    with pytest.raises(BenchError, match="has 1 recurrent, 1 full attention"):
        run(BatchOptions(PLAN, Setup(1, hybrid_model)))
