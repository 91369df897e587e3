"""What a run of `ondol bench churn` says, from known figures."""

from __future__ import annotations

import json

import pytest

from app.bench.churn import Cycle, Plan, Side
from app.bench.churn_report import (
    Churn,
    ChurnConditions,
    ChurnResults,
    mean_ttft_s,
    render,
    to_json,
    verdicts,
)
from engine.config import Eviction

CONDITIONS = ChurnConditions(
    started_at="2026-01-01T00:00:00+00:00",
    cores=2,
    load_before=0.1,
    versions={"ondol": "0.0", "Python": "3"},
    platform="Test OS",
)
PLAN = Plan(prompts=8, prompt_tokens=975, pool_tokens=5_456, cycles=2)


def churn(lru: int, worth: int, ttft_s: tuple[float, ...] = ()) -> Churn:
    def side(eviction: Eviction, restored: int) -> Side:
        return Side(eviction, (Cycle(0, ttft_s), Cycle(restored, ttft_s)))

    return Churn(PLAN, (side(Eviction.LRU, lru), side(Eviction.WORTH, worth)))


def test_the_table_has_a_line_for_each_policy_and_for_keeping_the_same() -> None:
    lines = render(ChurnResults(churn(0, 4_424)), CONDITIONS).splitlines()
    at = lines.index("8 prompts of 975 tokens in turn, 7,800 a cycle, in a cache of 5,456")
    groups, names, *rows = lines[at + 1 : at + 6]
    assert len({len(line) for line in (groups, names, *rows)}) == 1
    assert [row.split() for row in rows] == [
        ["LRU", "0", "0"],
        ["by", "worth", "0", "4,424"],
        ["keeping", "the", "same", "0", "4,481"],
    ]
    assert not any("TTFT" in line for line in lines)


def test_times_are_told_where_a_model_ran() -> None:
    results = ChurnResults(churn(0, 4_424), churn(0, 4_000, ttft_s=(1.0, 2.0)))
    text = render(results, CONDITIONS)
    assert "mean TTFT in cycle, ms" in text
    assert "1,500" in text
    assert mean_ttft_s(Cycle(0, (1.0, 4.0))) == 2.5


@pytest.mark.parametrize(
    ("lru", "worth", "met"),
    [(0, 4_424, [True, True]), (0, 3_499, [True, False]), (1, 3_500, [False, True])],
)
def test_the_control_restores_nothing_and_the_default_the_bar(
    lru: int, worth: int, met: list[bool]
) -> None:
    judged = verdicts(ChurnResults(churn(lru, worth)))
    assert [verdict.met for verdict in judged] == met
    assert not any(verdict.unsure for verdict in judged)
    assert [verdict.bar for verdict in judged] == [0, 3_500]


def test_every_figure_is_in_the_json() -> None:
    results = ChurnResults(churn(0, 4_424), churn(0, 4_000, ttft_s=(1.0,)))
    data = json.loads(json.dumps(to_json(results, CONDITIONS)))
    assert data["schema"] == "ondol-bench-churn"
    assert data["alone"]["plan"]["pool_tokens"] == 5_456
    assert data["alone"]["same_kept_tokens"] == 4_481
    assert data["alone"]["sides"]["worth"][1] == {"restored_tokens": 4_424, "ttft_s": []}
    assert data["engine"]["sides"]["lru"][1] == {"restored_tokens": 0, "ttft_s": [1.0]}
    assert [verdict["met"] for verdict in data["verdicts"]] == [True] * 4
    assert to_json(ChurnResults(churn(0, 1)), CONDITIONS)["engine"] is None
