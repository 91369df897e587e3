"""The options of `ondol bench partial`, and one whole run on a very small hybrid."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.bench.command import main
from app.bench.errors import BenchError
from app.bench.hybrid_model import HybridShape
from app.bench.model_setup import Setup
from app.bench.partial import Plan
from app.bench.partial_command import BLOCKS, SIGHTED_TOKENS, PartialOptions, run
from engine.errors import ModelError
from engine.model import machine

CORES = machine.usable_cores()
TINY = PartialOptions(
    Plan(400, 20, (16, 64, 1_024), pairs=1, sighted_tokens=(160,), sightings=1),
    Setup(1),
    shape=HybridShape(
        hidden=32, layers=2, attention_interval=2, heads=2, head_dim=16, vocabulary=64,
        context_window=512,
    ),
)  # fmt: skip


@pytest.mark.parametrize(
    ("words", "pairs", "sightings"), [("", 5, 5), ("--quick", 2, 3), ("--pairs 15", 15, 5)]
)
def test_what_is_measured(asked: list[Any], words: str, pairs: int, sightings: int) -> None:
    assert main(["partial", *words.split()]) == 0
    plan = Plan(10_000, 200, BLOCKS, pairs, SIGHTED_TOKENS, sightings)
    assert asked == [PartialOptions(plan, Setup(CORES))]


def test_where_things_are(asked: list[Any], tmp_path: Path) -> None:
    file = tmp_path / "partial.json"
    words = f"--threads 1 --model ~/m --json {file}"
    assert main(["partial", *words.split()]) == 0
    (found,) = asked
    assert found.setup == Setup(1, Path.home() / "m", json_file=file)


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ("--quick --pairs 15", "leave out --pairs"),
        ("--pairs 0", "at least 1"),
        ("--data-dir d", "--data-dir"),
    ],
)
def test_what_makes_no_sense_ends_with_2(
    refused: Callable[[str], str], words: str, complaint: str
) -> None:
    assert complaint in refused(f"partial {words}")


def test_a_folder_that_is_no_model_is_told(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"config\.json"):
        run(replace(TINY, setup=Setup(1, tmp_path)))


def test_prompts_beyond_the_window_are_told_before_anything_is_measured() -> None:
    with pytest.raises(BenchError, match=r"Prompts of 1,020 tokens do not fit .* window of 512"):
        run(replace(TINY, plan=replace(TINY.plan, prompt_tokens=1_000)))


def test_a_whole_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "partial.json"
    results = run(replace(TINY, setup=Setup(1, json_file=file)))
    (cold,) = results.cold.pairs
    assert min(cold.ondol_s, cold.no_cache_s, cold.plain_s) > 0
    assert [(block.known_tokens, block.partial_found) for block in results.blocks] == [
        (400, 400),
        (384, 400),
        (0, 400),
    ]
    (sighting,) = results.sightings
    assert sighting.found_tokens == 159
    said = capsys.readouterr().out
    assert "pair 1 of 1, cold " in said
    assert "layers    1 recurrent, 1 full attention" in said
    data = json.loads(file.read_text())
    assert data["conditions"]["model"] == "small-hybrid"
    assert data["conditions"]["device"]["kind"]
    assert [each["bar"] for each in data["verdicts"]] == [1.07, 1.07, 28.5, 90]
