"""What a run of `ondol bench shared` says, from known figures."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from app.bench.conditions import Conditions
from app.bench.shared import (
    CapacityResult,
    Change,
    ClientsResult,
    Follow,
    Plan,
    PrefixResult,
    Regroup,
    SharedResults,
    Side,
    WarmOne,
)
from app.bench.shared_report import render, to_json, verdicts

PLAN = Plan((4_096,), (1, 8), 9, blocks=15, block_steps=4, group=8, repeats=15, capacity=None)


def results(*, step_s: float = 0.15, kv_tokens: int = 4_593, rows: int = 12) -> SharedResults:
    """8 clients on 4,096 tokens: 0.2 s a step on copies, KV of 10 bytes a token; and one client."""
    one = ClientsResult(
        1,
        Side(43_520, (0.05,), (0.03,) * 15),
        Side(43_520, (0.08,), (0.032,) * 15),
        alone_step_s=(0.03,) * 15,
    )
    eight = ClientsResult(
        8,
        Side(10 * kv_tokens, tuple(0.1 + 0.01 * at for at in range(8)), (step_s,) * 15),
        Side(348_160, (1.5,) * 8, (0.2,) * 15),
    )
    prefix = PrefixResult(
        4_096,
        9,
        bytes_per_token=10,
        group=8,
        clients=(one, eight),
        regroups=(Regroup(0.04, Change(0.044, 0.001), Change(1.1, 0.12)),) * 15,
        follows=(Follow(0.3, 0.5, 1.0, 4.0), *(Follow(0.3, 0.5, 1.0, None),) * 14),
        warm=(WarmOne(0.044, 0.04),) * 15,
    )
    return SharedResults((prefix,), CapacityResult(0.8, 3, 38_400, rows, 38_000, 1_024))


def test_every_bar_is_judged() -> None:
    judged = verdicts(results(), on_cpu=True)
    assert [(each.what, each.bar, each.unit, each.met) for each in judged] == [
        ("KV of 1 client / one copy and suffixes", 1.1, "", True),
        ("KV of 8 clients / one copy and suffixes", 1.1, "", True),
        ("a step of 1 client / copies", 1.0, "", True),
        ("a step of 8 clients / copies", 0.769, "", True),
        ("joining beyond the suffix", 5.0, "ms", True),
        ("first tokens of 7, together / one by one on copies", 0.4, "", True),
        ("warm / limit", 1.15, "", True),
        ("a step of one client / plain mlx-lm", 1.03, "", True),
        ("rows in the same bytes, 80 % shared / copies", 3.0, "", True),
    ]
    assert [each.value.median for each in judged] == pytest.approx(
        [43_520 / 41_060, 4_593 / 4_176, 0.9375, 0.75, 4.0, 0.3, 1.1, 1.0, 4.0]
    )
    assert {each.prompt_tokens for each in judged} == {4_096, 1_024}


def test_the_gain_at_4096_tokens_is_asked_of_a_cpu_only() -> None:
    slower = results(step_s=0.16)
    on_cpu, elsewhere = (verdicts(slower, on_cpu=cpu)[3] for cpu in (True, False))
    assert (on_cpu.bar, on_cpu.met) == (0.769, False)
    assert (elsewhere.bar, elsewhere.met) == (1.0, True)


def test_missed_bars_are_told(conditions: Conditions) -> None:
    text = render(results(step_s=0.21, kv_tokens=4_598, rows=8), conditions, PLAN)
    assert (
        "  MISSED  4,096 tokens  KV of 8 clients / one copy and suffixes 1.101 (bar ≤ 1.1)"
    ) in text
    assert "  MISSED  4,096 tokens  a step of 8 clients / copies 1.050 (bar ≤ 0.769)" in text
    assert (
        "  MISSED  1,024 tokens  rows in the same bytes, 80 % shared / copies 2.667 (bar ≥ 3)"
    ) in text
    assert "6 of 9 bars met, 3 missed." in text


def test_the_tables(conditions: Conditions) -> None:
    lines = [line.split() for line in render(results(), conditions, PLAN).splitlines()]
    assert [
        *("4,096", "8", "0.0", "0.3", "1.10", "150.0", "200.0", "0.75"),
        *("135.0", "170.0", "1,500.0", "1,500.0"),
    ] in lines
    assert ["4,096", "40.0", "44.0", "1,100.0", "1.0", "120.0"] in lines
    assert ["4,096", "300.0", "1,000.0", "0.30", "500.0", "4,000.0"] in lines
    assert ["4,096", "44.0", "40.0", "1.10", "30.0", "30.0", "1.00"] in lines


def test_copies_that_did_not_fit_leave_gaps(conditions: Conditions) -> None:
    (prefix,) = results().prefixes
    (_, eight) = prefix.clients
    without = replace(
        prefix,
        clients=(replace(eight, copies=None),),
        regroups=(Regroup(0.04, Change(0.044, 0.001), None),),
        follows=(Follow(0.3, 0.5, 1.0, None),),
    )
    found = SharedResults((without,), None)
    lines = [line.split() for line in render(found, conditions, PLAN).splitlines()]
    assert [
        *("4,096", "8", "0.0", "-", "1.10", "150.0", "-", "-"),
        *("135.0", "170.0", "-", "-"),
    ] in lines
    assert ["4,096", "40.0", "44.0", "-", "1.0", "-"] in lines
    assert ["4,096", "300.0", "1,000.0", "0.30", "500.0", "-"] in lines
    assert ["4,096", "44.0", "40.0", "1.10", "-", "-", "-"] in lines
    assert [each.what for each in verdicts(found, on_cpu=True)] == [
        "KV of 8 clients / one copy and suffixes",
        "joining beyond the suffix",
        "first tokens of 7, together / one by one on copies",
        "warm / limit",
    ]


def test_the_json_has_every_sample(conditions: Conditions) -> None:
    data = json.loads(json.dumps(to_json(results(), conditions, PLAN)))
    assert (data["schema"], data["schema_version"]) == ("ondol-bench-shared", 1)
    (prefix,) = data["prefixes"]
    assert prefix["clients"][1]["shared"]["step_s"] == [0.15] * 15
    assert prefix["clients"][1]["over_copies"]["median"] == pytest.approx(0.75)
    assert prefix["clients"][1]["needed_bytes"] == (4_096 + 8 * 10) * 10
    assert prefix["clients"][1]["over_alone"] is None
    assert prefix["together_over_one_by_one"]["n"] == 15
    assert len(prefix["regroups"]) == len(prefix["follows"]) == len(prefix["warm"]) == 15
    assert data["capacity"]["shared_rows"] == 12
    assert data["plan"]["group"] == 8
    assert [each["met"] for each in data["verdicts"]].count(False) == 0
