"""What a run of `ondol bench house` says, from known figures."""

from __future__ import annotations

import json

import pytest

from app.bench.house import CaseResult, HouseResults, Pair, Plan, Segment, Turn
from app.bench.house_report import HouseConditions, render, to_json
from app.bench.house_verdicts import verdicts
from app.bench.server_metrics import Reading
from engine.config import MIB

PAIRS = 15
PLAN = Plan(clients=(1, 4), pairs=PAIRS, seconds=30, kv_budget_bytes=256 * MIB)


def segment(cached: int, ttft_s: float, evicted: int) -> Segment:
    """Ten requests of 500 tokens in 30 seconds."""
    turns = tuple(Turn(0, number, "chat", 500, cached, ttft_s) for number in range(10))
    after = Reading(5_000, 10 * cached, prefill_s=10 * ttft_s, evicted_pages=evicted)
    return Segment(turns, 30.0, Reading(), after, 123_400_000)


def results(*, on_cached: int = 450, on_s: float = 0.4) -> HouseResults:
    off = segment(400, 0.5, evicted=0)
    one = CaseResult(1, (Pair(off, off),) * PAIRS)
    four = CaseResult(4, (Pair(segment(on_cached, on_s, evicted=20), off),) * PAIRS)
    return HouseResults((one, four))


@pytest.fixture
def conditions() -> HouseConditions:
    return HouseConditions(
        started_at="2026-01-01T00:00:00+00:00",
        model="Tiny-1B",
        cores=2,
        threads=2,
        load_before=0.12,
        versions={"ondol": "0.0"},
        platform="Test OS",
    )


def test_every_bar_is_judged() -> None:
    judged = verdicts(results())
    assert [(each.what, round(each.value.median, 3), each.bar, each.met) for each in judged] == [
        ("1 client, prompt tokens not found, on / off", 1.0, 1.0, True),
        ("4 clients, prompt tokens not found, on / off", 0.5, 1.0, True),
        ("1 client, mean first token, on / off", 1.0, 1.05, True),
        ("4 clients, mean first token, on / off", 0.8, 1.05, True),
    ]


def test_bars_are_missed() -> None:
    judged = verdicts(results(on_cached=390, on_s=0.53))
    assert [each.what for each in judged if not each.met] == [
        "4 clients, prompt tokens not found, on / off",
        "4 clients, mean first token, on / off",
    ]


def test_the_table(conditions: HouseConditions) -> None:
    text = render(results(), conditions, PLAN)
    lines = [line.split() for line in text.splitlines()]
    # Clients, side, requests, hit rate, reused, p50, p95, prefill, KV, evictions.
    assert [*("4", "on", "150", "90.0", "%", "67,500"), *("400", "400", "125", "123.4", "40")] in (
        lines
    )
    assert [*("off", "150", "80.0", "%", "60,000"), *("500", "500", "200", "123.4", "0")] in lines
    assert "KV budget 256.0 MiB" in text
    assert "4 of 4 bars met, 0 missed." in text


def test_json_has_everything(conditions: HouseConditions) -> None:
    data = json.loads(json.dumps(to_json(results(), conditions, PLAN)))
    assert (data["schema"], data["schema_version"]) == ("ondol-bench-house", 1)
    assert data["plan"]["kv_budget_bytes"] == 256 * MIB
    four = data["cases"][1]
    assert four["figures"]["on"]["hit_rate"] == 0.9
    assert four["figures"]["off"]["evictions_per_minute"] == 0
    assert four["ttft_ratio"]["n"] == PAIRS
    assert len(four["pairs"][0]["on"]["turns"]) == 10
    assert [each["met"] for each in data["verdicts"]] == [True] * 4
