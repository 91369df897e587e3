"""The options of `ondol bench shared`, and one whole run on a very small model."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.bench.command import main
from app.bench.errors import BenchError
from app.bench.model_setup import Setup
from app.bench.shared import CapacityPlan, Plan
from app.bench.shared_command import CLIENTS, PREFIXES, SharedOptions, run
from engine.errors import ModelError
from engine.model import machine

CORES = machine.usable_cores()
PLAN = Plan((256,), (1, 3), 5, 2, 2, group=3, repeats=1, capacity=CapacityPlan(960, 240, 2))


@pytest.mark.parametrize(
    ("words", "prefixes", "clients", "blocks", "repeats", "copies"),
    [
        ("", PREFIXES, CLIENTS, 15, 5, 8),
        ("--quick", (512, 2_048), (1, 8), 4, 3, 3),
        ("--quick --prefixes 4096 --clients 8,8", (4_096,), (8,), 4, 3, 3),
        ("--pairs 20 --prefixes 4096,512 --clients 8", (512, 4_096), (8,), 20, 20, 8),
    ],
)
def test_what_is_measured(
    asked: list[Any],
    words: str,
    prefixes: tuple[int, ...],
    clients: tuple[int, ...],
    blocks: int,
    repeats: int,
    copies: int,
) -> None:
    assert main(["shared", *words.split()]) == 0
    capacity = CapacityPlan(960, 240, copies)
    plan = Plan(prefixes, clients, 9, blocks, 4, 8, repeats, capacity)
    assert asked == [SharedOptions(plan, Setup(CORES))]
    assert plan.longest_tokens <= 8_192, "the starter model's window"


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ("--quick --pairs 15", "leave out --pairs"),
        ("--clients 0", "at least 1"),
        ("--prefixes none", "at least 1"),
    ],
)
def test_what_makes_no_sense_ends_with_2(
    refused: Callable[[str], str], words: str, complaint: str
) -> None:
    assert complaint in refused(f"shared {words}")


def test_a_folder_that_is_no_model_is_told(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"config\.json"):
        run(SharedOptions(PLAN, Setup(1, tmp_path)))


def test_a_hybrid_model_is_refused(hybrid_model: Path) -> None:
    with pytest.raises(BenchError, match="has 1 recurrent, 1 full attention"):
        run(SharedOptions(PLAN, Setup(1, hybrid_model)))


def test_rows_beyond_the_window_are_told_before_anything_is_measured(roomy_model: Path) -> None:
    plan = replace(PLAN, prefixes=(2_000,))
    with pytest.raises(BenchError, match=r"Rows of 2,0\d\d tokens do not fit .* window of 2,048"):
        run(SharedOptions(plan, Setup(1, roomy_model)))


def test_a_whole_run(roomy_model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "shared.json"
    results = run(SharedOptions(PLAN, Setup(1, roomy_model, json_file=file)))
    (prefix,) = results.prefixes
    one, three = prefix.clients
    assert three.copies is not None
    assert len(three.shared.ttft_s) == len(three.copies.ttft_s) == 3
    assert min(*three.shared.ttft_s, *three.copies.ttft_s) > 0
    assert min(*three.shared.step_s, *three.copies.step_s, *one.alone_step_s) > 0
    # One copy and three short tails; three copies with a room of 256 tokens each.
    copy = 256 * prefix.bytes_per_token
    assert copy < three.shared.kv_bytes < 1.4 * copy
    assert three.copies.kv_bytes == pytest.approx(6 * copy, rel=0.02)
    (follow,) = prefix.follows
    assert follow.joined_s is not None
    assert min(follow.together_s, follow.one_by_one_s, follow.on_copies_s, follow.joined_s) > 0
    capacity = results.capacity
    assert capacity is not None
    assert (capacity.copies_rows, capacity.shared_rows) == (2, 5)
    assert capacity.shared_bytes <= capacity.copies_bytes
    said = capsys.readouterr().out
    assert "256 tokens, clients: 3, a step " in said
    data = json.loads(file.read_text())
    assert data["conditions"]["model"] == "Tiny-1B"
    assert data["prefixes"][0]["prefix_tokens"] == 256
