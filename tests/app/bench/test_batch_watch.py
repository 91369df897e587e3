"""What is seen of requests while they run. The times of the toy model are round."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from app.bench.batch_watch import WatchedScheduler, most_within
from app.bench.simulation.arrivals import Arrival, Client, Workload
from app.bench.simulation.engine import SimulatedEngine
from app.bench.simulation.model import SimulatedModel
from engine.config import AdmissionMode, EngineConfig
from engine.request import Prompt, Request

# 10 ms for a token of a prompt; for a step 100 ms and 10 ms a row.
TOY = SimulatedModel(
    name="toy",
    bytes_per_token=10,
    prefill_token_s=0.01,
    prefill_depth_s=0.0,
    step_s=0.1,
    row_s=0.01,
    kv_token_s=0.0,
    kv_budget_bytes=1_000_000,
    prefill_chunk=256,
    step_target_s=1.0,
)


def ask(name: str, num_tokens: int, max_tokens: int, first: int = 100) -> Request:
    return Request(name, Prompt(tuple(range(first, first + num_tokens))), max_tokens)


@pytest.fixture
def watch() -> Callable[..., tuple[SimulatedEngine, WatchedScheduler]]:
    def watch(pool_tokens: int = 100_000) -> tuple[SimulatedEngine, WatchedScheduler]:
        config = EngineConfig(
            kv_budget_bytes=10 * pool_tokens, admission=AdmissionMode.MAX_THROUGHPUT
        )
        engine = SimulatedEngine(TOY, config, scheduler_class=WatchedScheduler)
        watched = engine.scheduler
        assert isinstance(watched, WatchedScheduler)
        return engine, watched

    return watch


def test_figures_of_requests_one_after_another(
    watch: Callable[..., tuple[SimulatedEngine, WatchedScheduler]],
) -> None:
    engine, watched = watch()
    watched.start_over(lead_in=1)
    prompts = iter([ask("a", 100, 4), ask("b", 100, 4), ask("c", 100, 4)])
    engine.run(Workload(clients=(Client(prompts),)))
    point = watched.point(1, evicted_pages=7)
    assert (point.clients, point.requests, point.evicted_pages) == (1, 2, 7)
    assert point.hit_rate == pytest.approx(0.99)
    # One token of the prompt and the first of the answer: a step of one row.
    assert (point.ttft_p50_s, point.ttft_p99_s) == pytest.approx((0.11, 0.11))
    assert (point.gap_p50_s, point.longest_gap_s) == pytest.approx((0.11, 0.11))
    # From the arrival of "b" to that of "c": four steps of one token.
    assert point.tokens_per_s == pytest.approx(1 / 0.11, rel=0.01)
    assert (point.preemptions, point.most_preempted, point.recomputed_tokens) == (0, 0, 0)


def test_a_gap_is_as_long_as_the_step_that_a_prompt_makes_long(
    watch: Callable[..., tuple[SimulatedEngine, WatchedScheduler]],
) -> None:
    engine, watched = watch()
    watched.start_over()
    engine.run(
        Workload(
            arrivals=(
                Arrival(0.0, ask("talks", 10, 40)),
                Arrival(0.5, ask("comes", 60, 1, first=500)),
                Arrival(4.0, ask("later", 10, 1, first=900)),
            )
        )
    )
    point = watched.point(2, 0)
    assert point.gap_p50_s == pytest.approx(0.11)
    assert point.longest_gap_s == pytest.approx(0.11 + 0.6)


def test_preemptions_and_what_they_cost_are_seen(
    watch: Callable[..., tuple[SimulatedEngine, WatchedScheduler]],
) -> None:
    engine, watched = watch(pool_tokens=400)
    watched.start_over()
    requests = iter([ask(f"r{number}", 60, 120, first=1_000 * number) for number in range(8)])
    served = engine.run(Workload(clients=(Client(requests),) * 4))
    point = watched.point(4, 0)
    assert 0 < point.preemptions <= served.totals.preemptions
    assert 1 <= point.most_preempted <= point.preemptions
    assert 0 <= point.recomputed_tokens <= served.totals.recomputed_tokens
    assert 0.5 < point.running_share <= 1.0
    assert 1 <= point.mean_running <= 4


@pytest.mark.parametrize(
    ("times", "most"), [([], 0), ([3.0], 1), ([0.0, 0.5, 0.9, 1.0, 5.0], 3), ([0.0, 2.0], 1)]
)
def test_the_most_within_a_second(times: Sequence[float], most: int) -> None:
    assert most_within(times, 1.0) == most
