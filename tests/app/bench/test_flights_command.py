"""The options of `ondol bench flights`, and one whole run on a very small model."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.bench import flights_plan
from app.bench.command import main
from app.bench.errors import BenchError
from app.bench.flights import Case, Kind, Plan, Server, Side
from app.bench.flights_command import FlightsOptions, run
from app.bench.flights_served import ServedCase
from app.bench.model_setup import Setup
from engine.errors import ModelError
from engine.model import machine

CORES = machine.usable_cores()
BURST = Case(Kind.IDENTICAL, 3, 200, 200, 8, (Side.ONDOL, Side.INDEPENDENT))
PLAN = Plan(
    (
        BURST,
        Case(Kind.LATE, 2, 200, 200, 32, (Side.ONDOL, Side.ON_COMPLETION, Side.LEADER_FINISHED)),
    ),
    rounds=2,
)


@pytest.mark.parametrize(
    ("words", "plan", "served"),
    [
        ("", flights_plan.full(), ()),
        ("--quick", flights_plan.quick(), ()),
        ("--pairs 15", flights_plan.full(15), ()),
        ("--against mlx-lm", flights_plan.full(), flights_plan.served(quick=False)),
        ("--quick --against mlx-lm", flights_plan.quick(), flights_plan.served(quick=True)),
    ],
)
def test_what_is_measured(
    asked: list[Any], words: str, plan: Plan, served: tuple[ServedCase, ...]
) -> None:
    assert main(["flights", *words.split()]) == 0
    assert asked == [FlightsOptions(plan, served, Setup(CORES))]


def test_only_some_kinds(asked: list[Any]) -> None:
    assert main(["flights", "--only", "late, document", "--against", "mlx-lm"]) == 0
    (found,) = asked
    assert {case.kind for case in found.plan.cases} == {Kind.LATE, Kind.DOCUMENT}
    assert [case.kind for case in found.served] == [Kind.DOCUMENT]


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ("--quick --pairs 15", "leave out --pairs"),
        ("--quick --only source", "has no cases of these kinds"),
        ("--only early", "not 'early'"),
        ("--only late --against mlx-lm", "--against has no cases of these kinds"),
        ("--against nobody", "invalid choice"),
    ],
)
def test_what_makes_no_sense_ends_with_2(
    refused: Callable[[str], str], words: str, complaint: str
) -> None:
    assert complaint in refused(f"flights {words}")


def test_a_folder_that_is_no_model_is_told(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"config\.json"):
        run(FlightsOptions(PLAN, (), Setup(1, tmp_path)))


def test_prompts_beyond_the_window_are_told_before_anything_is_measured(roomy_model: Path) -> None:
    plan = Plan((replace(BURST, prompt_tokens=2_045),), 1)
    with pytest.raises(BenchError, match=r"of 2,053 tokens do not fit .* window of 2,048"):
        run(FlightsOptions(plan, (), Setup(1, roomy_model)))


def test_a_whole_run(roomy_model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "flights.json"
    served = (ServedCase(Kind.IDENTICAL, 2, 80, 4),)
    results = run(FlightsOptions(PLAN, served, Setup(1, roomy_model, json_file=file)))
    burst, late = results.cases
    for one in burst.rounds[Side.ONDOL]:
        assert one.computed_tokens <= 200 + 2 * 16
        assert one.restored_tokens[0] == 0
        assert min(one.ttft_s) > 0
        assert one.decoding.steps > 0
    assert [one.computed_tokens for one in burst.rounds[Side.INDEPENDENT]] == [600, 600]
    assert [one.restored_tokens for one in late.rounds[Side.ONDOL]] == [(0, 199)] * 2
    assert [one.restored_tokens for one in late.rounds[Side.ON_COMPLETION]] == [(0, 0)] * 2
    over_http = results.served_of(Kind.IDENTICAL)
    assert [len(rounds) for rounds in over_http.values()] == [2, 2]
    theirs = over_http[Server.MLX_LM][0]
    assert theirs.prompt_tokens == over_http[Server.ONDOL][0].prompt_tokens
    assert min(theirs.ttft_s) > 0
    said = capsys.readouterr().out
    assert "round 2 of 2, late x 2: first tokens after ondol " in said
    assert "round 2 of 2, identical x 2 over HTTP: " in said
    data = json.loads(file.read_text())
    assert data["conditions"]["model"] == "Tiny-1B"
    assert [each["case"]["kind"] for each in data["cases"]] == ["identical", "late"]
    assert len(data["served"]) == 2
