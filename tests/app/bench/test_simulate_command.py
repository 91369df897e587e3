"""The options of `ondol bench simulate`, and one whole run with few clients."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from app.bench.command import main
from app.bench.simulate_command import FULL, QUICK, SimulateOptions, run
from app.bench.simulation.chat_sweep import ChatPlan
from app.bench.simulation.model import A100_8B, STARTER
from app.bench.simulation.overhead import Crowd, OverheadPlan
from app.bench.simulation.report import SimulatePlan
from app.bench.simulation.scenarios import SCENARIOS
from app.bench.simulation.wait_sweep import WaitPlan
from app.bench.simulation.workloads import Chat, Turns


@pytest.mark.parametrize(("words", "plan"), [("", FULL), ("--quick", QUICK)])
def test_what_is_simulated(asked: list[Any], words: str, plan: SimulatePlan) -> None:
    assert main(["simulate", *words.split()]) == 0
    assert asked == [SimulateOptions(plan, None)]


def test_where_the_figures_go(asked: list[Any], tmp_path: Path) -> None:
    assert main(["simulate", "--json", str(tmp_path / "simulate.json")]) == 0
    assert asked[0].json_file == tmp_path / "simulate.json"


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ("--model m", "--model"),
    ],
)
def test_what_makes_no_sense_ends_with_2(
    refused: Callable[[str], str], words: str, complaint: str
) -> None:
    assert complaint in refused(f"simulate {words}")


def test_a_whole_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "simulate.json"
    plan = SimulatePlan(
        ChatPlan(A100_8B, Chat(200, 0.5, Turns(2, 20, 4)), (1, 2), pool_tokens=4_000),
        STARTER,
        (WaitPlan(STARTER, (0.5,), (0.0,), prompt_tokens=160, answer_tokens=2),),
        OverheadPlan(A100_8B, 2, 6, 4, prompt_tokens=64, answer_tokens=(2, 4)),
    )
    results = run(SimulateOptions(plan, file))
    assert [result.num_requests for result in results.chat] == [4, 8]
    assert [result.name for result in results.scenarios] == [each.name for each in SCENARIOS]
    assert [result.crowd for result in results.overhead] == list(Crowd)
    said = capsys.readouterr().out
    assert "chat, 2 at a time: " in said
    assert "Wait or compute on SmolLM2-135M on two CPU cores" in said
    assert "Against the bars" in said
    data = json.loads(file.read_text())
    assert [each["concurrency"] for each in data["chat"]] == [1, 2]
    assert len(data["verdicts"]) == 4
