"""Figures of `ondol bench flights` from known times, and its way through JSON."""

from __future__ import annotations

import json
from dataclasses import asdict

import pytest

from app.bench import flights_plan
from app.bench.flights import (
    POLICIES,
    Case,
    CaseResult,
    FlightsResults,
    Kind,
    Measured,
    Plan,
    Scheduling,
    Served,
    Server,
    Side,
    followers_ttft_s,
    mean_ttft_s,
    slowest_s,
)
from app.bench.stats import nearest_rank
from engine.config import Publication, Release, WaitOrCompute

SIDES = (Side.ONDOL, Side.WAIT, Side.COMPUTE)
CASE = Case(Kind.OVERLAP, 3, 100, 75, 8, SIDES, stagger_s=0.5)


def measured(*ttft_s: float, scale: float = 1.0) -> Measured:
    """Requests of 100 tokens that answer 4 s after their first token; followers restore 75."""
    times = tuple(scale * one for one in ttft_s)
    return Measured(
        (100,) * len(times),
        times,
        tuple(one + 4.0 for one in times),
        (0, *(75,) * (len(times) - 1)),
        Scheduling(10, schedule_s=0.01, step_s=1.0),
    )


def result(*scales: float) -> CaseResult:
    """One round a scale; computing takes twice as long as waiting, the choice 10 % longer."""
    return CaseResult(
        CASE,
        {
            Side.ONDOL: tuple(measured(1.1, 2.2, 3.3, scale=scale) for scale in scales),
            Side.WAIT: tuple(measured(1.0, 2.0, 3.0, scale=scale) for scale in scales),
            Side.COMPUTE: tuple(measured(2.0, 4.0, 6.0, scale=scale) for scale in scales),
        },
    )


def test_one_measurement() -> None:
    one = measured(1.0, 2.0, 6.0)
    assert one.mean_ttft_s == pytest.approx(3.0)
    assert one.followers_ttft_s == pytest.approx(4.0)
    assert one.slowest_s == pytest.approx(10.0)
    assert one.computed_tokens == 150


def test_figures_of_a_case() -> None:
    found = result(1.0, 2.0, 3.0)
    assert found.middle(Side.WAIT, mean_ttft_s) == pytest.approx(4.0)
    assert found.middle(Side.WAIT, followers_ttft_s) == pytest.approx(5.0)
    assert found.middle(Side.COMPUTE, slowest_s) == pytest.approx(16.0)
    assert found.p95_ttft_s(Side.WAIT) == pytest.approx(9.0)
    assert found.computed_tokens(Side.ONDOL) == 150
    assert found.restored_tokens(Side.ONDOL) == 75
    share = found.scheduling_share
    assert share is not None
    assert (share.median, share.n) == (pytest.approx(0.01), 3)


def test_ratios_are_taken_within_a_round() -> None:
    slow, fast = measured(4.0), measured(2.0)
    case = Case(Kind.IDENTICAL, 1, 100, 100, 8, (Side.ONDOL, Side.INDEPENDENT))
    found = CaseResult(case, {Side.ONDOL: (slow, fast), Side.INDEPENDENT: (slow, fast)})
    ratio = found.ratio(Side.ONDOL, Side.INDEPENDENT, mean_ttft_s)
    assert (ratio.low, ratio.median, ratio.high, ratio.n) == (1.0, 1.0, 1.0, 2)


def test_one_request_alone_has_no_follower() -> None:
    case = Case(Kind.IDENTICAL, 1, 100, 100, 8)
    found = CaseResult(case, {Side.ONDOL: (Measured((100,), (1.0,), (2.0,), (0,)),)})
    assert found.restored_tokens(Side.ONDOL) is None
    assert found.scheduling_share is None


@pytest.mark.parametrize(
    ("count", "share", "rank"), [(1, 0.95, 1), (20, 0.95, 19), (100, 0.95, 95), (3, 0.5, 2)]
)
def test_nearest_rank(count: int, share: float, rank: int) -> None:
    assert nearest_rank(list(range(count, 0, -1)), share) == rank


def test_everything_comes_back_from_json() -> None:
    found = result(1.0, 2.0)
    assert CaseResult.from_json(json.loads(json.dumps(found.to_json()))) == found
    plan = Plan((CASE, Case(Kind.LATE, 2, 100, 100, 8)), rounds=3)
    assert Plan.from_json(json.loads(json.dumps(asdict(plan)))) == plan


def test_results_are_found_by_kind() -> None:
    alone = Case(Kind.IDENTICAL, 1, 100, 100, 8)
    single = CaseResult(alone, {Side.ONDOL: (measured(1.0),)})
    burst = {Server.ONDOL: measured(1.0), Server.MLX_LM: measured(5.0)}
    found = FlightsResults((result(1.0), single), (Served(Kind.IDENTICAL, burst),))
    assert found.of_kind(Kind.OVERLAP) == (result(1.0),)
    assert found.single(Kind.IDENTICAL) is single
    assert found.single(Kind.DOCUMENT) is None
    assert found.served_of(Kind.IDENTICAL)[Server.MLX_LM] == (measured(5.0),)
    assert found.served_of(Kind.DOCUMENT)[Server.MLX_LM] == ()


def test_every_policy_has_settings() -> None:
    assert set(POLICIES) == set(Side)
    ours = POLICIES[Side.ONDOL]
    assert ours.publication is Publication.INCREMENTAL
    assert ours.release is Release.BOUNDARY_PUBLISHED
    assert ours.wait_or_compute is WaitOrCompute.CHOOSE
    assert len({*POLICIES.values()}) == len(Side)


def test_the_full_plan_has_every_case_that_a_bar_speaks_of() -> None:
    plan = flights_plan.full()
    assert plan.rounds == 5
    assert plan.sides == tuple(Side)
    assert plan.longest_tokens <= 8_192, "the starter model's window"
    of_kind = {kind: [case for case in plan.cases if case.kind is kind] for kind in Kind}
    assert sorted(case.requests for case in of_kind[Kind.IDENTICAL]) == [1, 2, 4, 8]
    assert [case.requests for case in of_kind[Kind.DOCUMENT]] == [1, 8]
    assert all(case.shared_tokens >= 1_000 for case in of_kind[Kind.DOCUMENT])
    (source,) = of_kind[Kind.SOURCE]
    assert (source.requests, source.prompt_tokens, source.answer_tokens) == (8, 532, 128)
    assert [case.requests for case in of_kind[Kind.LATE]] == [2, 4, 8]
    pairs = {
        (round(100 * case.overlap), case.stagger_s)
        for case in of_kind[Kind.OVERLAP]
        if case.requests == 2
    }
    assert pairs == {(o, s) for o in (25, 50, 75, 95) for s in (0.0, 0.5, 1.0, 2.0)}
    assert {case.sides for case in of_kind[Kind.OVERLAP]} == {SIDES}


def test_a_quick_run_has_one_round_of_every_kind_but_the_articles() -> None:
    plan = flights_plan.quick()
    assert plan.rounds == 1
    assert {case.kind for case in plan.cases} == {*Kind} - {Kind.SOURCE}
    assert [case.requests for case in flights_plan.served(quick=True)] == [8]
    assert [case.kind for case in flights_plan.served(quick=False)] == [
        Kind.IDENTICAL,
        Kind.DOCUMENT,
    ]
