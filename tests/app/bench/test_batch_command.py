"""The options of `ondol bench batch`, and one whole run with a very small model."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

import app.bench.batch_command
from app.bench import lock
from app.bench.batch import BatchPlan, ChunkPlan, Knee, SimulatedPlan, SweepPlan
from app.bench.batch_command import BatchOptions, run
from app.bench.batch_plan import FULL, QUICK
from app.bench.batch_traffic import Traffic
from app.bench.command import main
from app.bench.errors import BenchError
from app.bench.hybrid_model import HybridShape, write
from app.bench.simulation.model import A100_8B
from engine.config import AdmissionMode
from engine.errors import ModelError
from engine.model import machine
from engine.model.gguf import WeightForm, import_gguf
from tests.support.tiny_gguf import TinyGguf

CORES = machine.usable_cores()
MODES = (AdmissionMode.MAX_THROUGHPUT, AdmissionMode.PROTECT_CACHE)
MEASURED = SweepPlan(Traffic(2, 60, (2, 4)), 1_000, (1, 3), Knee(1, 3), MODES, 6, 1)
PLAN = BatchPlan(
    SimulatedPlan(
        A100_8B,
        SweepPlan(Traffic(3, 160, (4, 8)), 2_000, (1, 4), Knee(1, 4), MODES, 8, 1),
        ChunkPlan(Traffic(2, 512, (4, 8)), 4_000, 2, (256,), 4),
    ),
    MEASURED,
)
OPTIONS = BatchOptions(PLAN, 1, None, None, None)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model folder of some hundred kilobytes."""
    folder = tmp_path_factory.mktemp("models")
    source = TinyGguf(keys={"llama.context_length": 2_048}).write(folder / "tiny.gguf")
    return import_gguf(source, folder / "Tiny-1B", WeightForm.FLOAT32)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[BatchOptions]:
    """What the command line asks for; nothing is measured."""
    calls: list[BatchOptions] = []
    monkeypatch.setattr(lock, "LOCK_FILE", tmp_path / "lock")
    monkeypatch.setattr(app.bench.batch_command, "run", calls.append)
    return calls


@pytest.mark.parametrize(("words", "plan"), [("", FULL), ("--quick", QUICK)])
def test_what_is_measured(asked: list[BatchOptions], words: str, plan: BatchPlan) -> None:
    assert main(["batch", *words.split()]) == 0
    assert asked == [BatchOptions(plan, CORES, None, None, None)]


def test_where_things_are(asked: list[BatchOptions], tmp_path: Path) -> None:
    file = tmp_path / "batch.json"
    words = f"--quick --threads 1 --model ~/m --data-dir ~/d --json {file}"
    assert main(["batch", *words.split()]) == 0
    home = Path.home()
    assert asked == [BatchOptions(QUICK, 1, home / "m", home / "d", file)]


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ("--json /nowhere/batch.json", "there is no folder /nowhere"),
        ("--pairs 3", "unrecognized arguments"),
    ],
)
def test_what_makes_no_sense_ends_with_2(
    asked: list[BatchOptions], capsys: pytest.CaptureFixture[str], words: str, complaint: str
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["batch", *words.split()])
    assert caught.value.code == 2
    assert asked == []
    assert complaint in capsys.readouterr().err


def test_a_folder_that_is_no_model_is_told(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"config\.json"):
        run(replace(OPTIONS, model=tmp_path))


def test_prompts_beyond_the_window_are_told_before_anything_is_measured(model: Path) -> None:
    measured = replace(MEASURED, traffic=Traffic(2, 2_045, (2, 4)))
    with pytest.raises(BenchError, match=r"of 2,049 tokens do not fit .* window of 2,048"):
        run(replace(OPTIONS, model=model, plan=replace(PLAN, measured=measured)))


def test_a_whole_run(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "batch.json"
    results = run(replace(OPTIONS, model=model, json_file=file))
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


def test_a_hybrid_model_is_refused(tmp_path: Path) -> None:
    shape = HybridShape(
        hidden=32, layers=2, attention_interval=2, heads=2, head_dim=16, vocabulary=64,
        context_window=2_048,
    )  # fmt: skip
    model = write(tmp_path / "hybrid", shape)
    with pytest.raises(BenchError, match="has 1 recurrent, 1 full attention"):
        run(replace(OPTIONS, model=model))
