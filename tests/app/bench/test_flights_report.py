"""What a run of `ondol bench flights` says, from known figures."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from app.bench.conditions import Conditions
from app.bench.flights import (
    Case,
    CaseResult,
    FlightsResults,
    Kind,
    Measured,
    Scheduling,
    Served,
    Server,
    Side,
)
from app.bench.flights_report import render, to_json
from app.bench.flights_verdicts import choice_over_better, verdicts

PAIRS = 15


def of(
    case: Case, waited: tuple[bool, ...] = (), **sides: tuple[float, float, float, int]
) -> CaseResult:
    """Fifteen equal rounds. Of each side the first token of the first and of each other request,
    the answers' seconds after it, and what each follower restored; who `waited`, on Ondol's."""
    rounds = {}
    for name, (first_s, follower_s, answer_s, restored) in sides.items():
        followers = case.requests - 1
        ttft_s = (first_s, *(follower_s,) * followers)
        one = Measured(
            (case.prompt_tokens,) * case.requests,
            ttft_s,
            tuple(first_s + answer_s for first_s in ttft_s),
            (0, *(restored,) * followers),
            Scheduling(10, 0.001, 1.0),
        )
        if name == Side.ONDOL:
            one = replace(one, waited=waited)
        rounds[Side(name)] = (one,) * PAIRS
    return CaseResult(replace(case, sides=tuple(rounds)), rounds)


def results(
    *, follower_s: float = 3.5, restored: int = 528, late_s: float = 0.1, chosen_s: float = 4.0
) -> FlightsResults:
    identical = Case(Kind.IDENTICAL, 8, 532, 532, 16)
    late = Case(Kind.LATE, 2, 493, 493, 128)
    single = of(replace(identical, requests=1), ondol=(3.0, 0.0, 1.0, 0))
    eight = of(identical, ondol=(3.0, follower_s, 2.0, restored), independent=(3.0, 15.0, 2.0, 0))
    two = of(
        replace(identical, requests=2),
        ondol=(3.0, 3.0, 1.0, restored),
        independent=(3.0, 6.0, 1.0, 0),
    )
    document = Case(Kind.DOCUMENT, 1, 1_028, 1_008, 16)
    burst = {
        Server.ONDOL: eight.rounds[Side.ONDOL][0],
        Server.MLX_LM: eight.rounds[Side.INDEPENDENT][0],
    }
    return FlightsResults(
        (
            single,
            eight,
            two,
            of(document, ondol=(6.0, 0.0, 1.0, 0)),
            of(replace(document, requests=8), ondol=(6.0, 8.0, 2.0, 1_008)),
            of(
                late,
                ondol=(3.0, late_s, 6.0, 492),
                on_completion=(3.0, 3.0, 6.0, 0),
                leader_finished=(3.0, 6.0, 5.0, 480),
            ),
            of(
                Case(Kind.DISTINCT, 4, 532, 0, 16),
                ondol=(3.0, 9.0, 1.0, 0),
                independent=(3.0, 9.0, 1.0, 0),
            ),
            of(
                Case(Kind.OVERLAP, 2, 532, 266, 16, stagger_s=0.5),
                waited=(True, False),
                ondol=(3.0, chosen_s, 1.0, 256),
                wait=(3.0, 4.0, 1.0, 256),
                compute=(3.0, 6.0, 1.0, 0),
            ),
        ),
        (Served(Kind.IDENTICAL, burst),) * PAIRS,
    )


def test_every_bar_is_judged() -> None:
    judged = verdicts(results())
    assert [(each.what, each.bar, each.unit, each.met) for each in judged] == [
        ("8 identical, prompt tokens computed", 644, "tokens", True),
        ("8 identical / a single one", 1.3, "", True),
        ("2 identical, prompt tokens computed", 548, "tokens", True),
        ("2 identical / independent", 1.0, "", True),
        ("8 identical / mlx_lm.server", 0.25, "", False),
        ("8 questions on a document / a single one", 1.6, "", True),
        ("2 identical, late, restored by each follower", 480, "tokens", True),
        ("2 identical, late, saved beside publication on completion", 48, "%", True),
        ("2 identical, late / leader_finished", 0.28, "", True),
        ("2 identical, late, slowest completion / leader_finished", 1.14, "", True),
        ("4 distinct, slowest completion / independent", 1.03, "", True),
        ("50 % the same x 2, 0.5 s apart: choice / the better", 1.05, "", True),
        ("scheduling of 8 rows that decode, of a step", 2, "%", True),
    ]
    by_name = {each.what: each.value.median for each in judged}
    assert by_name["8 identical, prompt tokens computed"] == 532 + 7 * 4
    # 3.4375 s on average, of 3 s for one alone.
    assert round(by_name["8 identical / a single one"], 3) == 1.146
    assert round(by_name["8 identical / mlx_lm.server"], 3) == 0.255
    assert round(by_name["2 identical, late, saved beside publication on completion"], 1) == 96.7
    assert round(by_name["scheduling of 8 rows that decode, of a step"], 3) == 0.1


def test_bars_are_missed() -> None:
    judged = verdicts(results(follower_s=6.0, restored=500, late_s=2.0, chosen_s=5.0))
    assert [each.what for each in judged if not each.met] == [
        "8 identical, prompt tokens computed",
        "8 identical / a single one",
        "2 identical, prompt tokens computed",
        "8 identical / mlx_lm.server",
        "2 identical, late, saved beside publication on completion",
        "2 identical, late / leader_finished",
        "50 % the same x 2, 0.5 s apart: choice / the better",
    ]


def test_the_choice_is_held_against_the_better_of_both() -> None:
    case = Case(Kind.OVERLAP, 2, 532, 133, 16)
    waiting = {"wait": (3.0, 5.0, 1.0, 128), "compute": (3.0, 9.0, 1.0, 0)}
    computing = {"wait": (3.0, 9.0, 1.0, 128), "compute": (3.0, 5.0, 1.0, 0)}
    for others in (waiting, computing):
        found = of(case, (True, False), ondol=(3.0, 7.0, 1.0, 128), **others)
        assert found.chosen is None
        assert choice_over_better(found).median == 1.25


@pytest.mark.parametrize(
    ("waited", "wait_s", "compute_s", "chosen", "ratio"),
    [
        ((True, True), 5.0, 9.0, Side.WAIT, 1.0),
        ((True, True), 9.0, 5.0, Side.WAIT, 5.5 / 4.0),  # the mean of 5 as chosen and 6 as forced
        ((False, False), 5.0, 9.0, Side.COMPUTE, 5.5 / 4.0),
        ((False, False), 9.0, 5.0, Side.COMPUTE, 1.0),
        ((), 5.0, 9.0, None, 1.0),  # nobody could wait
    ],
)
def test_a_choice_that_is_always_the_same_is_one_of_both(
    waited: tuple[bool, ...],
    wait_s: float,
    compute_s: float,
    chosen: Side | None,
    ratio: float,
) -> None:
    """The first of two has its first token after 3 s; means are compared."""
    case = Case(Kind.OVERLAP, 2, 532, 133, 16)
    found = of(
        case,
        waited,
        ondol=(3.0, 7.0, 1.0, 128),
        wait=(3.0, wait_s, 1.0, 128),
        compute=(3.0, compute_s, 1.0, 0),
    )
    assert found.chosen is chosen
    assert choice_over_better(found).median == pytest.approx(ratio)


def test_the_tables(conditions: Conditions) -> None:
    text = render(results(), replace(conditions, rounds=PAIRS))
    lines = [line.split() for line in text.splitlines()]
    # Prompts, at once, tokens (prompt, same, answer), policy, first token (mean, followers, p95),
    # slowest, computed, restored.
    assert [
        *("identical", "8", "532", "532", "16", "ondol"),
        *("3,438", "3,500", "3,500", "5,500", "560", "528"),
    ] in lines
    assert ["independent", "13,500", "15,000", "15,000", "17,000", "4,256", "0"] in lines
    assert [
        *("identical", "1", "532", "532", "16", "ondol"),
        *("3,000", "-", "3,000", "4,000", "532", "-"),
    ] in lines
    assert ["leader_finished", "4,500", "6,000", "6,000", "11,000", "506", "480"] in lines
    assert ["50", "%", "2", "0.5", "3,500", "4,500", "3,500", "15/30", "1.000"] in lines
    assert [
        *("identical", "8", "532", "mlx_lm.server"),
        *("13,500", "15,000", "17,000", "4,256"),
    ] in lines
    assert "12 of 13 bars met, 1 missed." in text
    assert "95 % interval" not in text, "all rounds are the same"


def test_without_another_server_or_overlaps_there_are_no_such_tables(
    conditions: Conditions,
) -> None:
    found = results()
    few = FlightsResults(found.cases[:2])
    text = render(few, conditions)
    assert "Wait or compute" not in text
    assert "Over HTTP" not in text
    assert [each.what for each in verdicts(few)] == [
        "8 identical, prompt tokens computed",
        "8 identical / a single one",
        "scheduling of 8 rows that decode, of a step",
    ]


def test_overlaps_alone_are_told(conditions: Conditions) -> None:
    """As `--only overlap` measures them: nothing stands in the first table."""
    overlaps = results().of_kind(Kind.OVERLAP)
    lines = render(FlightsResults(tuple(overlaps)), conditions).splitlines()
    at = next(i for i, line in enumerate(lines) if line.lstrip().startswith("prompts"))
    assert set(lines[at + 2].split()) == {"-"}
    assert "Wait or compute" in lines


def test_json_has_everything(conditions: Conditions) -> None:
    data = json.loads(json.dumps(to_json(results(), conditions)))
    assert (data["schema"], data["schema_version"]) == ("ondol-bench-flights", 1)
    eight = data["cases"][1]
    assert eight["case"]["requests"] == 8
    assert len(eight["rounds"]["ondol"]) == PAIRS
    assert eight["sides"]["ondol"] == {
        "mean_ttft_s": 3.4375,
        "followers_ttft_s": 3.5,
        "p95_ttft_s": 3.5,
        "slowest_s": 5.5,
        "computed_tokens": 560,
        "restored_tokens": 528,
    }
    assert eight["scheduling_share"]["median"] == 0.001
    assert data["served"][0]["measured"]["mlx_lm.server"]["ttft_s"] == [3.0, *[15.0] * 7]
    assert [each["met"] for each in data["verdicts"]].count(False) == 1
