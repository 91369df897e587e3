"""The options of `ondol bench lookup`, and one whole run on small prompts."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import app.bench.lookup
import app.bench.lookup_command
from app.bench.command import main
from app.bench.lookup import NUM_OTHERS, Lookup, Plan, Tree
from app.bench.lookup_command import SIZES, LookupOptions, run


@pytest.mark.parametrize(
    ("words", "sizes"),
    [
        ("", SIZES),
        ("--quick", (1_000, 10_000, 100_000)),
        ("--sizes 5000,64,5000", (64, 5_000)),
    ],
)
def test_what_is_measured(asked: list[Any], words: str, sizes: tuple[int, ...]) -> None:
    assert main(["lookup", *words.split()]) == 0
    assert asked == [LookupOptions(Plan(sizes, 25, NUM_OTHERS), None)]


def test_where_the_samples_go(asked: list[Any], tmp_path: Path) -> None:
    assert main(["lookup", "--json", str(tmp_path / "lookup.json")]) == 0
    assert asked[0].json_file == tmp_path / "lookup.json"


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ("--quick --sizes 1000", "leave out --sizes"),
        ("--sizes 1000,63", "at least 64 tokens"),
        ("--sizes x", "'x'"),
        ("--model m", "--model"),
    ],
)
def test_what_makes_no_sense_ends_with_2(
    refused: Callable[[str], str], words: str, complaint: str
) -> None:
    assert complaint in refused(f"lookup {words}")


def test_a_whole_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(app.bench.lookup, "_COLD_BYTES", 1024)
    file = tmp_path / "lookup.json"
    others = {Tree.ALONE: 0, Tree.SHARED_HALF: 3, Tree.SHARED_PAGE: 2}
    (size,) = run(LookupOptions(Plan((1_000,), 15, others), file))
    assert size.trees[Tree.SHARED_PAGE].found[Lookup.AGAIN].num_tokens == 999
    said = capsys.readouterr().out
    assert "1,000 tokens, others: 3 with the same half: same prompt " in said
    assert "Times are medians of 15." in said
    data = json.loads(file.read_text())
    assert data["conditions"]["repeats"] == 15
    assert data["sizes"][0]["trees"]["shared_page"]["lookups"]["near_miss"]["found_tokens"] == 996
