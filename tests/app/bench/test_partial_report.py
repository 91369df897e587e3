"""What a run of `ondol bench partial` says, from known figures."""

from __future__ import annotations

import json

import pytest

from app.bench.conditions import Conditions
from app.bench.partial import (
    BlockResult,
    Cold,
    ColdResult,
    Followed,
    PartialResults,
    Sighting,
    SightingResult,
)
from app.bench.partial_report import PartialConditions, render, to_json, verdicts


def results(
    *, ondol_s: float = 10.2, partial_s: float = 0.2, found: int = 159, pairs: int = 15
) -> PartialResults:
    """10 s cold without a cache, 1 s with blocks of 1,024."""
    return PartialResults(
        ColdResult(10_000, (Cold(ondol_s, 10.0, 10.0),) * pairs),
        (
            BlockResult((32, 64), 10_200, 9_984, (Followed(0.21, 10_000, partial_s),) * pairs),
            BlockResult((1_024,), 10_200, 9_216, (Followed(1.0, 10_000, partial_s),) * pairs),
        ),
        (SightingResult(160, (Sighting(0.11, 0.1, 0.01, 159), Sighting(0.11, 0.1, 0.01, found))),),
    )


@pytest.fixture
def partial_conditions(conditions: Conditions) -> PartialConditions:
    return PartialConditions(conditions, "3 recurrent, 1 full attention", 200)


def test_every_bar_is_judged() -> None:
    judged = verdicts(results())
    assert [(each.what, each.bar, each.unit, each.met) for each in judged] == [
        ("cold / cache off", 1.07, "", True),
        ("cold / plain mlx-lm", 1.07, "", True),
        ("saved by partial hits, blocks of 1,024", 28.5, "%", True),
        ("second sighting, found", 90, "%", True),
    ]
    assert [each.value.median for each in judged] == pytest.approx([1.02, 1.02, 80.0, 99.375])


def test_missed_bars_are_told(partial_conditions: PartialConditions) -> None:
    text = render(results(ondol_s=10.71, partial_s=0.716, found=143), partial_conditions)
    assert "  MISSED  10,000 tokens  cold / cache off 1.071 (bar ≤ 1.07)" in text
    assert "  MISSED  10,000 tokens  cold / plain mlx-lm 1.071 (bar ≤ 1.07)" in text
    assert (
        "  MISSED  10,200 tokens  saved by partial hits, blocks of 1,024 28.4 % (bar ≥ 28.5 %)"
    ) in text
    assert "  MISSED    160 tokens  second sighting, found 89.4 % (bar ≥ 90 %)" in text
    assert "0 of 4 bars met, 4 missed." in text


def test_few_pairs_do_not_judge_a_close_bar(partial_conditions: PartialConditions) -> None:
    text = render(results(pairs=2), partial_conditions)
    assert (
        "cold / cache off 1.020 (bar ≤ 1.07); too near for 2 pairs: judge with --pairs 15" in text
    )


def test_without_the_judged_block_its_bar_is_left_out() -> None:
    full = results()
    without = PartialResults(full.cold, full.blocks[:1], full.sightings)
    assert len(verdicts(without)) == 3


def test_the_tables_are_aligned(partial_conditions: PartialConditions) -> None:
    lines = render(results(), partial_conditions).splitlines()
    for title, rows in (("cold prompt", 1), ("block", 2), ("prompt", 1)):
        at = next(i for i, line in enumerate(lines) if line.strip().startswith(f"{title}  "))
        found = lines[at : at + 2 + rows]
        assert len({len(line) for line in found}) == 1
    assert any(
        line.split() == ["10,000", "10,200", "10,000", "10,000", "1.020", "1.020"] for line in lines
    )
    assert any(
        line.split() == ["1,024", "9,216", "984", "1,000", "10,000", "200", "200", "80.0", "%"]
        for line in lines
    )
    assert any(
        line.split() == ["160", "110", "100", "1.10", "159", "99.4", "%", "10"] for line in lines
    )
    assert "layers    3 recurrent, 1 full attention" in lines


def test_the_json_has_every_sample(partial_conditions: PartialConditions) -> None:
    data = json.loads(json.dumps(to_json(results(found=150), partial_conditions)))
    assert (data["schema"], data["schema_version"]) == ("ondol-bench-partial", 1)
    assert data["conditions"]["layers"] == "3 recurrent, 1 full attention"
    assert (data["conditions"]["added_tokens"], data["conditions"]["threads"]) == (200, 2)
    assert len(data["cold"]["pairs"]) == data["cold"]["over_plain"]["n"] == 15
    smaller, judged = data["blocks"]
    assert smaller["blocks"] == [32, 64]
    assert (judged["known_tokens"], judged["partial_found_tokens"]) == (9_216, 10_000)
    assert judged["pairs"][0] == {"blocks_s": 1.0, "partial_found": 10_000, "partial_s": 0.2}
    assert data["sightings"][0]["found_tokens"] == 150
    assert [one["found_tokens"] for one in data["sightings"][0]["sightings"]] == [159, 150]
    assert [each["met"] for each in data["verdicts"]] == [True, True, True, True]
