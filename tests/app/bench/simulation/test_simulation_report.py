"""What a run of `ondol bench simulate` says, from known figures."""

from __future__ import annotations

import json

import pytest

from app.bench.conditions import Surroundings
from app.bench.simulation.chat_sweep import ChatPlan, ChatResult
from app.bench.simulation.model import A100_8B, STARTER
from app.bench.simulation.overhead import Crowd, OverheadPlan, OverheadResult
from app.bench.simulation.report import (
    SimulatePlan,
    SimulateResults,
    render,
    to_json,
    verdicts,
)
from app.bench.simulation.scenarios import ScenarioResult
from app.bench.simulation.wait_sweep import PairResult, WaitPlan, WaitResult
from app.bench.simulation.workloads import Chat
from engine.config import WaitOrCompute

CONDITIONS = Surroundings("2026-01-01T00:00:00+00:00", 2, 0.1, {"ondol": "0.0"}, "Test OS")
PLAN = SimulatePlan(
    ChatPlan(A100_8B, Chat(), (16, 32), 40_000),
    STARTER,
    (WaitPlan(STARTER, (0.25, 0.95), (0.0, 0.5), 1_000, 32),),
    OverheadPlan(A100_8B, 64, 1_000, 50, 400, (16, 64)),
)


def pair(share: float, stagger_s: float, chosen_s: float) -> PairResult:
    return PairResult(
        share,
        stagger_s,
        {
            WaitOrCompute.WAIT: 8.0,
            WaitOrCompute.COMPUTE: 10.0,
            WaitOrCompute.CHOOSE: chosen_s,
        },
    )


@pytest.fixture
def results() -> SimulateResults:
    return SimulateResults(
        chat=(
            ChatResult(16, 128, 0.925, 0.0462, 1.125, 831.2, 0, 0.31, 0.33),
            ChatResult(32, 256, 0.688, 0.221, 2.689, 828.1, 3, 0.607, 0.297),
        ),
        scenarios=(ScenarioResult("8 identical prompts", 8, 4_256, 560, 3.3845, 3.4),),
        waits=(WaitResult((pair(0.25, 0.0, 8.0), pair(0.95, 0.5, 10.0)), {0.0: 0.05, 0.5: None}),),
        overhead=(
            OverheadResult(Crowd.DISTINCT, (0.001, 0.002), 0.05),
            OverheadResult(Crowd.IDENTICAL, (0.001, 0.005), 0.6),
        ),
    )


def test_the_worst_choice_and_every_crowd_are_judged(results: SimulateResults) -> None:
    choice, distinct, identical = verdicts(results, PLAN)
    assert (choice.value.median, choice.bar, choice.met) == (1.25, 1.05, False)
    assert "95 % the same, 0.5 s later" in choice.what
    assert (distinct.value.median, distinct.bar, distinct.met) == (1.5, 2.0, True)
    assert (identical.value.median, identical.met) == (3.0, False)
    assert [each.unsure for each in (choice, distinct, identical)] == [False, True, True]


def test_the_tables_say_what_was_found(results: SimulateResults) -> None:
    lines = render(results, CONDITIONS, PLAN).splitlines()
    cells = [line.split() for line in lines]
    assert ["16", "128", "92.5", "46", "1,125", "831", "0", "31", "33"] in cells
    assert ["32", "256", "68.8", "221", "2,689", "828", "3", "61", "30"] in cells
    assert ["8", "identical", "prompts", "8", "4,256", "560", "3,384", "3,400"] in cells
    assert "The share that is found falls most beyond 16 clients." in lines
    assert ["25", "0", "8,000", "10,000", "8,000", "1.000"] in cells
    assert ["95", "0.5", "8,000", "10,000", "10,000", "1.250"] in cells
    assert ["0", "5"] in cells
    assert ["0.5", "never"] in cells
    assert ["identical", "prompts", "2", "3.00", "3.00", "4.96", "5.00", "600.0"] in cells
    assert "Chat on 8B on an A100, a pool of 40,000 tokens" in lines
    assert lines[-1] == "1 of 3 bars met, 2 missed."


def test_the_json_has_everything(results: SimulateResults) -> None:
    data = json.loads(json.dumps(to_json(results, CONDITIONS, PLAN)))
    assert (data["schema"], data["schema_version"]) == ("ondol-bench-simulate", 1)
    assert data["plan"]["chat"]["pool_tokens"] == 40_000
    assert data["chat"][1]["num_preemptions"] == 3
    assert data["scenarios"][0]["computed_tokens"] == 560
    (wait,) = data["waits"]
    assert wait["pairs"][1]["ttft_s"] == {"wait": 8.0, "compute": 10.0, "choose": 10.0}
    assert wait["break_even"] == [
        {"stagger_s": 0.0, "share": 0.05},
        {"stagger_s": 0.5, "share": None},
    ]
    assert data["overhead"][1]["crowd"] == "identical"
    assert [verdict["met"] for verdict in data["verdicts"]] == [False, True, False]
