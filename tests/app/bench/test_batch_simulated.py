"""A small sweep through the simulator, with real admission, eviction and preemption."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.bench.batch import ChunkPlan, Knee, SimulatedPlan, SimulatedResults, SweepPlan, sweep_of
from app.bench.batch_simulated import point, simulate
from app.bench.batch_traffic import Traffic
from app.bench.simulation.model import A100_8B
from engine.config import AdmissionMode, EngineConfig

SWEEP = SweepPlan(
    Traffic(6, 640, (60, 100), one_off_share=0.2),
    pool_tokens=6_000,
    clients=(2, 12),
    modes=(AdmissionMode.MAX_THROUGHPUT, AdmissionMode.PROTECT_CACHE),
    requests=20,
    rounds=1,
)
FEW = replace(SWEEP, clients=(2,))
CHUNKED = ChunkPlan(Traffic(2, 2_048, (20, 40), one_off_share=0.5), 16_000, 4, (256,), 12)
PLAN = SimulatedPlan(A100_8B, SWEEP, Knee(2, 12), FEW, CHUNKED, seeds=(1, 2))


@pytest.fixture(scope="module")
def said() -> list[str]:
    return []


@pytest.fixture(scope="module")
def results(said: list[str]) -> SimulatedResults:
    return simulate(PLAN, said.append)


def test_a_whole_simulation(results: SimulatedResults, said: list[str]) -> None:
    assert [sweep.mode for sweep in results.sweeps] == list(SWEEP.modes)
    for sweep in results.sweeps:
        few, many = sweep.points
        assert (few.clients, many.clients) == (2, 12)
        assert (few.requests, many.requests) == (20, 20)
        assert few.ttft_p50_s <= few.ttft_p99_s
        assert many.tokens_per_s > few.tokens_per_s
        assert 0 < few.running_share < many.running_share <= 1
        assert few.mean_running <= 2
        assert many.most_running < 24, "the memory decides how many run"
    assert len(said) == 4 + 1 + 2


def test_other_requests_are_drawn_across_the_knee(results: SimulatedResults) -> None:
    first, (again,) = results.sweeps[0], results.redrawn
    assert results.unprotected == (first, again)
    assert again.mode is AdmissionMode.MAX_THROUGHPUT
    assert [each.clients for each in again.points] == [2, 12]
    assert again.points != first.points


def test_a_protected_cache_stays_warm_without_preemptions(results: SimulatedResults) -> None:
    protected = sweep_of(results.sweeps, AdmissionMode.PROTECT_CACHE)
    assert protected is not None
    assert protected.preemptions == 0
    assert protected.kept_share > 0.9


def test_prompts_that_share_nothing_take_longer(results: SimulatedResults) -> None:
    distinct, few = results.few_distinct, results.few
    assert distinct.clients == few.clients
    assert distinct.hit_rate < 0.05
    assert distinct.ttft_p50_s > few.ttft_p50_s


def test_shorter_chunks_hold_answers_up_for_less_long(results: SimulatedResults) -> None:
    chunked, whole = results.chunks
    assert (chunked.chunk, whole.chunk) == (256, None)
    # 256 tokens take 26 ms, 2,048 take 215 ms.
    assert chunked.point.gap_p99_s < 0.06
    assert whole.point.longest_gap_s > 0.15


def test_the_same_plan_has_the_same_figures(results: SimulatedResults) -> None:
    config = EngineConfig(admission=AdmissionMode.PROTECT_CACHE)
    assert point(A100_8B, SWEEP, 12, config, seed=1) == results.sweeps[1].at(12)
