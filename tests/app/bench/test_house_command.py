"""The options of `ondol bench house`, and one whole run on a very small model."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

import app.bench.house_command
from app.bench import lock
from app.bench.command import main
from app.bench.errors import BenchError
from app.bench.house import OFF, ON, Plan
from app.bench.house_command import HouseOptions, run
from app.bench.house_process import house_server
from engine.config import GIB, MIB
from engine.errors import ModelError
from engine.model import machine
from engine.model.gguf import WeightForm, import_gguf
from tests.support.tiny_gguf import TinyGguf

CORES = machine.usable_cores()
FULL = Plan((1, 2, 4), pairs=2, seconds=60, kv_budget_bytes=256 * MIB)
QUICK = Plan((1, 4), pairs=1, seconds=30, kv_budget_bytes=256 * MIB)
OPTIONS = HouseOptions(Plan((1, 2), 1, 1.0, 4 * MIB), 1, None, None, None)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model folder of some hundred kilobytes; every character is a token of it."""
    folder = tmp_path_factory.mktemp("models")
    source = TinyGguf(keys={"llama.context_length": 16_384}).write(folder / "tiny.gguf")
    return import_gguf(source, folder / "Tiny-1B", WeightForm.FLOAT32)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[HouseOptions]:
    """What the command line asks for; nothing is measured."""
    calls: list[HouseOptions] = []
    monkeypatch.setattr(lock, "LOCK_FILE", tmp_path / "lock")
    monkeypatch.setattr(app.bench.house_command, "run", calls.append)
    return calls


@pytest.mark.parametrize(
    ("words", "plan"),
    [
        ("", FULL),
        ("--quick", QUICK),
        ("--clients 3 --pairs 15 --seconds 10", replace(FULL, clients=(3,), pairs=15, seconds=10)),
        ("--quick --clients 2 --kv-budget 1GiB", replace(QUICK, clients=(2,), kv_budget_bytes=GIB)),
    ],
)
def test_what_is_measured(asked: list[HouseOptions], words: str, plan: Plan) -> None:
    assert main(["house", *words.split()]) == 0
    assert asked == [HouseOptions(plan, CORES, None, None, None)]


def test_where_things_are(asked: list[HouseOptions], tmp_path: Path) -> None:
    file = tmp_path / "house.json"
    words = f"--threads 1 --model ~/m --data-dir ~/d --json {file}"
    assert main(["house", *words.split()]) == 0
    (found,) = asked
    home = Path.home()
    assert (found.threads, found.model, found.data_dir) == (1, home / "m", home / "d")
    assert found.json_file == file


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ("--quick --pairs 15", "leave out --pairs"),
        ("--quick --seconds 5", "leave out --pairs and --seconds"),
        ("--clients 0", "at least 1"),
        ("--kv-budget much", "is not a size"),
        ("--kv-budget 1kib", "must be 1.0 MiB or more"),
        ("--json /nowhere/house.json", "there is no folder /nowhere"),
    ],
)
def test_what_makes_no_sense_ends_with_2(
    asked: list[HouseOptions], capsys: pytest.CaptureFixture[str], words: str, complaint: str
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["house", *words.split()])
    assert caught.value.code == 2
    assert asked == []
    assert complaint in capsys.readouterr().err


def test_a_folder_that_is_no_model_is_told(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"config\.json"):
        run(replace(OPTIONS, model=tmp_path))


def test_a_server_without_a_model_is_told(tmp_path: Path) -> None:
    with (
        house_server(tmp_path / "none", tmp_path, {}, ON, MIB) as server,
        pytest.raises(BenchError, match="There is no model folder named none"),
    ):
        server.wait_until_ready(60)


def test_a_whole_run(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "house.json"
    results = run(replace(OPTIONS, model=model, json_file=file))
    one, two = results.cases
    assert (one.clients, two.clients) == (1, 2)
    for case in results.cases:
        (pair,) = case.pairs
        assert len(pair.common) >= case.clients
        for side in (ON, OFF):
            figures = case.figures(side)
            assert figures.requests >= case.clients
            assert 0 <= figures.hit_rate < 1
            assert 0 < figures.ttft_p50_s <= figures.ttft_p95_s
            assert figures.prefill_rate > 0
            assert 0 < figures.most_kv_bytes <= 4 * MIB
    assert results.on_peak.budget_bytes == 4 * MIB
    assert results.on_peak.process_bytes > results.on_peak.weights_bytes > 0
    assert "2 clients, pair 1 of 1: mean first token of " in capsys.readouterr().out
    data = json.loads(file.read_text())
    assert data["conditions"]["model"] == "Tiny-1B"
    assert [each["clients"] for each in data["cases"]] == [1, 2]
