"""What is read from the points of a sweep, and the plans that go to another process and back."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from app.bench.batch import (
    Knee,
    Point,
    SimulatedPlan,
    Sweep,
    SweepPlan,
    article_example,
    sweep_of,
)
from app.bench.batch_plan import FULL, QUICK
from engine.config import AdmissionMode

POINT = Point(
    clients=8,
    requests=100,
    hit_rate=0.6,
    ttft_p50_s=0.1,
    ttft_p99_s=0.5,
    gap_p50_s=0.02,
    gap_p99_s=0.1,
    longest_gap_s=2.0,
    tokens_per_s=500.0,
    preemptions=0,
    most_preempted=0,
    recomputed_tokens=0,
    evicted_pages=30,
    most_running=40,
    mean_running=7.5,
    running_share=0.2,
)
KNEE = Knee(32, 64)


def sweep(**rates: float) -> Sweep:
    """`c32=0.5`: with 32 clients half is found, and twice as many tokens a second as clients."""
    return Sweep(
        AdmissionMode.MAX_THROUGHPUT,
        tuple(
            replace(POINT, clients=int(name[1:]), hit_rate=rate, tokens_per_s=2.0 * int(name[1:]))
            for name, rate in rates.items()
        ),
    )


def test_what_is_lost_across_the_knee_is_counted_in_points() -> None:
    assert sweep(c8=0.65, c32=0.6, c64=0.31, c128=0.18).fall(KNEE) == pytest.approx(29)


def test_the_gain_is_that_of_the_throughput_across_the_knee() -> None:
    assert sweep(c8=0.65, c32=0.6, c64=0.31, c128=0.18).gain(KNEE) == 2.0


def test_what_is_kept_is_told_by_the_worst_point() -> None:
    assert sweep(c8=0.6, c32=0.45, c64=0.54).kept_share == pytest.approx(0.75)


def test_preemptions_add_up() -> None:
    point = replace(POINT, preemptions=3)
    assert Sweep(AdmissionMode.BALANCED, (point, POINT, point)).preemptions == 6


def test_points_are_found_by_their_clients() -> None:
    found = sweep(c8=0.6, c32=0.5)
    assert found.at(32).hit_rate == 0.5
    with pytest.raises(KeyError):
        found.at(16)


def test_sweeps_are_found_by_their_mode() -> None:
    found = sweep(c8=0.6)
    assert sweep_of((found,), AdmissionMode.MAX_THROUGHPUT) is found
    assert sweep_of((found,), AdmissionMode.PROTECT_CACHE) is None


@pytest.mark.parametrize(("mean_tokens", "most"), [(2_048, 188), (8_192, 47)])
def test_the_articles_example_S3_5(mean_tokens: int, most: int) -> None:
    assert article_example(mean_tokens) == most


PLANS = [each for plan in (FULL, QUICK) for each in (plan.simulated.sweep, plan.measured)]


@pytest.mark.parametrize("plan", PLANS)
def test_plans_survive_a_pipe(plan: SweepPlan) -> None:
    assert SweepPlan.from_json(json.loads(json.dumps(plan.to_json()))) == plan


def test_sweeps_survive_a_pipe() -> None:
    found = sweep(c8=0.6, c32=0.5)
    assert Sweep.from_json(json.loads(json.dumps(found.to_json()))) == found


def test_enough_requests_for_every_client() -> None:
    plan = replace(FULL.measured, requests=40, rounds=3, lead_rounds=2)
    assert [plan.lead_in(clients) for clients in (1, 16)] == [2, 32]
    assert [plan.num_requests(clients) for clients in (1, 16)] == [42, 80]


@pytest.mark.parametrize("plan", PLANS)
def test_clients_become_more(plan: SweepPlan) -> None:
    assert plan.clients == tuple(sorted(plan.clients))


@pytest.mark.parametrize("plan", [FULL.simulated, QUICK.simulated])
def test_the_knee_lies_within_what_is_swept(plan: SimulatedPlan) -> None:
    assert {plan.knee.before, plan.knee.after} <= {*plan.sweep.clients}
