"""The options of `ondol bench house`, and one whole run on a very small model."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.bench.command import main
from app.bench.errors import BenchError
from app.bench.house import OFF, ON, Plan
from app.bench.house_command import HouseOptions, run
from app.bench.house_process import house_server
from app.bench.model_setup import Setup
from engine.config import GIB, MIB
from engine.errors import ModelError
from engine.model import machine

CORES = machine.usable_cores()
FULL = Plan((1, 2, 4), pairs=2, seconds=60, kv_budget_bytes=160 * MIB)
QUICK = Plan((1, 4), pairs=1, seconds=30, kv_budget_bytes=160 * MIB)
PLAN = Plan((1, 2), 1, 1.0, 4 * MIB)


@pytest.mark.parametrize(
    ("words", "plan"),
    [
        ("", FULL),
        ("--quick", QUICK),
        ("--clients 3 --pairs 15 --seconds 10", replace(FULL, clients=(3,), pairs=15, seconds=10)),
        ("--quick --clients 2 --kv-budget 1GiB", replace(QUICK, clients=(2,), kv_budget_bytes=GIB)),
    ],
)
def test_what_is_measured(asked: list[Any], words: str, plan: Plan) -> None:
    assert main(["house", *words.split()]) == 0
    assert asked == [HouseOptions(plan, Setup(CORES))]


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ("--quick --pairs 15", "leave out --pairs"),
        ("--quick --seconds 5", "leave out --pairs and --seconds"),
        ("--clients 0", "at least 1"),
        ("--kv-budget much", "is not a size"),
        ("--kv-budget 1kib", "must be 1.0 MiB or more"),
    ],
)
def test_what_makes_no_sense_ends_with_2(
    refused: Callable[[str], str], words: str, complaint: str
) -> None:
    assert complaint in refused(f"house {words}")


def test_a_folder_that_is_no_model_is_told(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"config\.json"):
        run(HouseOptions(PLAN, Setup(1, tmp_path)))


def test_a_server_without_a_model_is_told(tmp_path: Path) -> None:
    with (
        house_server(tmp_path / "none", tmp_path, {}, ON, MIB) as server,
        pytest.raises(BenchError, match="There is no model folder named none"),
    ):
        server.wait_until_ready(60)


def test_a_whole_run(
    make_model: Callable[[int], Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "house.json"
    setup = Setup(1, make_model(16_384), json_file=file)
    results = run(HouseOptions(PLAN, setup))
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
    assert "2 clients, pair 1 of 1: mean first token of " in capsys.readouterr().out
    data = json.loads(file.read_text())
    assert data["conditions"]["model"] == "Tiny-1B"
    assert [each["clients"] for each in data["cases"]] == [1, 2]
    assert [(each["process"], each["budget_bytes"]) for each in data["memory"]] == [
        ("ondol serve, coordination on", 4 * MIB),
        ("ondol serve, coordination off", 4 * MIB),
    ]
    assert all(each["peak_bytes"] > each["weights_bytes"] > 0 for each in data["memory"])
