"""Small sweeps: what is compared, and what is timed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.bench.errors import BenchError
from app.bench.simulation import chat_sweep, overhead, wait_sweep
from app.bench.simulation.chat_sweep import ChatPlan, ChatResult, knee
from app.bench.simulation.model import A100_8B, STARTER
from app.bench.simulation.overhead import Crowd, OverheadPlan
from app.bench.simulation.scenarios import SCENARIOS, play
from app.bench.simulation.wait_sweep import PairResult, WaitPlan
from app.bench.simulation.workloads import Chat, Turns
from engine.config import EngineConfig, WaitOrCompute

CROWD = OverheadPlan(A100_8B, 4, 12, 6, prompt_tokens=100, answer_tokens=(4, 8))


def result(concurrency: int, hit_rate: float) -> ChatResult:
    return ChatResult(concurrency, 8, hit_rate, 0.1, 0.2, 100.0, 0, 0.5, 0.3)


def test_more_clients_find_less_in_a_pool_of_the_same_size() -> None:
    said: list[str] = []
    plan = ChatPlan(
        A100_8B, Chat(400, 0.5, Turns(3, 20, 30), start_within_s=0.2), (2, 16), pool_tokens=4_000
    )
    few, many = chat_sweep.sweep(plan, EngineConfig(), said.append)
    assert (few.num_requests, many.num_requests) == (2 * 2 * 3, 16 * 2 * 3)
    assert few.hit_rate > many.hit_rate + 0.05
    assert few.ttft_p50_s < many.ttft_p50_s <= many.ttft_p99_s
    assert many.tokens_per_s > few.tokens_per_s
    assert 0 < few.running_share < many.running_share < 1
    assert len(said) == 2


def test_the_knee_lies_before_the_largest_fall() -> None:
    rates = {4: 0.9, 8: 0.88, 16: 0.6, 32: 0.5}
    assert knee([result(*each) for each in rates.items()]).concurrency == 8


def test_scenarios_count_what_they_are_about() -> None:
    played = {scenario.name: play(scenario, STARTER, EngineConfig()) for scenario in SCENARIOS}
    identical, distinct = played["8 identical prompts"], played["8 distinct prompts"]
    assert identical.prompt_tokens == distinct.prompt_tokens == distinct.computed_tokens == 8 * 532
    assert identical.computed_tokens <= 532 + 7 * 16
    assert identical.mean_ttft_s < distinct.mean_ttft_s / 2
    assert played["8 prompts in turn, twice"].num_requests == 16
    talk = played["a conversation beside a sweep"]
    assert talk.num_requests == 6, "of the sweep nothing is counted"
    assert 1_040 <= talk.computed_tokens < talk.prompt_tokens


def test_waiting_is_compared_with_computing() -> None:
    said: list[str] = []
    plan = WaitPlan(STARTER, (0.5,), (0.0,), prompt_tokens=320, answer_tokens=2)
    found = wait_sweep.sweep(plan, EngineConfig(), said.append)
    (pair,) = found.pairs
    assert pair.waiting_wins
    assert pair.better_s == pair.ttft_s[WaitOrCompute.WAIT]
    # Both are computed at once: half of the second prompt need not be.
    saved_s = (pair.ttft_s[WaitOrCompute.COMPUTE] - pair.ttft_s[WaitOrCompute.WAIT]) * 2
    assert saved_s > 0
    share = found.break_even[0.0]
    assert share is not None
    assert 0.01 <= share <= 0.5
    assert len(said) == 1


def test_without_anything_in_common_waiting_never_wins() -> None:
    plan = WaitPlan(STARTER, (0.0,), (60.0,), prompt_tokens=100, answer_tokens=2)
    found = wait_sweep.sweep(plan, EngineConfig(), lambda line: None)
    assert not found.pairs[0].waiting_wins
    assert found.break_even == {60.0: None}, "the first is done by then"


def test_a_choice_is_held_against_the_better_one() -> None:
    ttft_s = {WaitOrCompute.WAIT: 2.0, WaitOrCompute.COMPUTE: 1.0, WaitOrCompute.CHOOSE: 1.2}
    pair = PairResult(0.5, 0.0, ttft_s)
    assert (pair.better_s, pair.over_better, pair.waiting_wins) == (1.0, 1.2, False)


@pytest.mark.parametrize("crowd", list(Crowd))
def test_steps_with_the_whole_crowd_are_timed(crowd: Crowd) -> None:
    said: list[str] = []
    timed = overhead.measure(CROWD, crowd, EngineConfig(max_running=4), said.append)
    assert timed.crowd is crowd
    assert len(timed.seconds) >= 2
    assert min(timed.seconds) > 0
    assert timed.quantile_s(0.5) <= timed.quantile_s(1.0) == max(timed.seconds)
    assert min(timed.seconds) <= timed.mean_s <= max(timed.seconds)
    assert timed.filling_s > 0
    assert len(said) == 1


def test_a_crowd_that_never_came_is_an_error() -> None:
    few = replace(CROWD, running=8)
    with pytest.raises(BenchError, match="8 requests that ran while 12 waited"):
        overhead.measure(few, Crowd.DISTINCT, EngineConfig(max_running=4), lambda line: None)
