"""The real loop on a virtual clock: exact times, every answer ends once, nothing is chance."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace

import pytest

from app.bench.errors import BenchError
from app.bench.simulation.arrivals import Arrival, Client, Workload
from app.bench.simulation.engine import SimulatedEngine
from app.bench.simulation.model import A100_8B, STARTER, SimulatedModel
from app.bench.simulation.outcome import Outcome
from app.bench.simulation.runner import answer
from app.bench.simulation.workloads import (
    Chat,
    Turns,
    burst,
    chat,
    cyclic,
    document,
    sweep_beside_conversation,
)
from engine.config import AdmissionMode, EngineConfig, Publication, Release
from engine.request import FinishReason, Prompt, Request

Ask = Callable[..., Request]

SMALL_CHAT = Chat(prompt_tokens=200, turns=Turns(3, 20, 8), start_within_s=0.5)


def test_one_request_takes_its_prompt_and_its_steps(toy: SimulatedModel, ask: Ask) -> None:
    engine = SimulatedEngine(toy)
    engine.submit(Arrival(2.0, ask("a", 100, 3)))
    (outcome,) = engine.run().outcomes
    assert outcome.submitted_at == pytest.approx(1.0 + 2.0), "the clock starts at 1"
    assert outcome.first_token_at == pytest.approx(3.0 + 100 * 0.01)
    # Two more tokens: a step for one row that reads 100 tokens, and one that reads 101.
    assert outcome.ended_at == pytest.approx(4.0 + 0.210 + 0.211)
    assert outcome.ttft_s == pytest.approx(1.0)
    assert (outcome.reason, outcome.usage.completion_tokens) == (FinishReason.LENGTH, 3)


def test_what_rows_share_is_read_once(toy: SimulatedModel, ask: Ask) -> None:
    engine = SimulatedEngine(toy)
    engine.submit(Arrival(0.0, ask("first", 100, 1)))
    engine.run()
    began = engine.clock()
    engine.submit(Arrival(0.0, ask("b", 100, 2)), Arrival(0.0, ask("c", 100, 2)))
    simulated = engine.run()
    for name in "bc":
        outcome = simulated.outcome(name)
        assert outcome.usage.cached_tokens == 99
        assert outcome.first_token_at == pytest.approx(began + 0.1 + 2 * 0.01 + 0.099)
        # By then each has one token of its own.
        assert outcome.ended_at == pytest.approx(began + 0.219 + 0.1 + 2 * 0.01 + 0.101)


def test_a_long_prompt_is_cut_beside_a_decoding_row(toy: SimulatedModel, ask: Ask) -> None:
    """At 100 to 200 tokens a second, 0.5 s has room for 64 tokens of the grid."""
    engine = SimulatedEngine(toy, EngineConfig(step_target_s=0.5))
    began = engine.clock()
    engine.submit(
        Arrival(0.0, ask("talks", 64, 3, first=2_000)),
        Arrival(0.1, ask("long", 320, 1, first=4_000)),
    )
    simulated = engine.run()
    talks, long = simulated.outcome("talks"), simulated.outcome("long")
    assert talks.first_token_at == pytest.approx(began + 0.64)
    # Two steps of the one who talks, each with a chunk beside it, and then the rest at once.
    steps = (0.11 + 0.064) + 0.64 + (0.11 + 0.065) + 0.64
    assert talks.ended_at == pytest.approx(began + 0.64 + steps)
    assert long.first_token_at == pytest.approx(began + 0.64 + steps + (320 - 2 * 64) * 0.01)


def test_clients_send_their_next_request_when_the_last_has_ended(
    toy: SimulatedModel, ask: Ask
) -> None:
    requests = iter([ask("one", 50, 2), ask("two", 50, 2, first=500)])
    engine = SimulatedEngine(toy)
    engine.serve(Client(requests, starts_at_s=1.0, think_s=0.25))
    one, two = engine.run().outcomes
    assert one.submitted_at == pytest.approx(2.0)
    assert two.submitted_at == pytest.approx(one.ended_at + 0.25)


def test_eight_identical_requests_compute_one_prompt() -> None:
    simulated = SimulatedEngine(STARTER).run(burst(8, 532, 16))
    assert 532 <= simulated.computed_tokens <= 532 + 7 * 16
    alone = SimulatedEngine(STARTER).run(burst(1, 532, 16))
    assert simulated.mean_ttft_s <= 1.3 * alone.mean_ttft_s


def test_distinct_requests_compute_every_prompt() -> None:
    simulated = SimulatedEngine(STARTER).run(burst(8, 532, 16, distinct=True))
    assert simulated.computed_tokens == 8 * 532
    assert simulated.hit_rate == 0


def test_a_document_is_computed_once() -> None:
    simulated = SimulatedEngine(STARTER).run(document(8, 1_000, 20, 4))
    assert simulated.computed_tokens <= 1_020 + 7 * (20 + 16)


def test_settings_reach_the_engine() -> None:
    alone = EngineConfig(release=Release.INDEPENDENT, publication=Publication.ON_COMPLETION)
    simulated = SimulatedEngine(STARTER, alone).run(burst(4, 200, 2))
    assert simulated.computed_tokens == 4 * 200
    one_by_one = SimulatedEngine(STARTER, EngineConfig(max_running=1)).run(burst(4, 200, 2))
    ends = [outcome.ended_at for outcome in one_by_one.outcomes]
    assert len(set(ends)) == 4
    assert one_by_one.budget_bytes == STARTER.kv_budget_bytes
    small = SimulatedEngine(STARTER, EngineConfig(kv_budget_bytes=50_000_000))
    assert small.run(burst(1, 20, 1)).budget_bytes == 50_000_000


def test_prompts_that_fit_are_found_again() -> None:
    engine = SimulatedEngine(STARTER, EngineConfig(kv_budget_bytes=20_000 * 46_080))
    simulated = engine.run(cyclic())
    assert simulated.totals.cached_tokens == 8 * 974, "all but the last token of each"
    assert simulated.totals.evicted_pages == 0


def test_a_pool_that_is_too_small_evicts() -> None:
    engine = SimulatedEngine(STARTER, EngineConfig(kv_budget_bytes=5_456 * 46_080))
    simulated = engine.run(cyclic())
    assert simulated.totals.evicted_pages > 0
    assert simulated.totals.cached_tokens < 8 * 974
    assert all(
        sample.running_bytes + sample.cached_bytes <= simulated.budget_bytes
        for sample in simulated.pool
    )


@pytest.mark.parametrize("after_s", [0.0, 0.5, 3.0])
def test_cancelled_requests_end_at_once(toy: SimulatedModel, ask: Ask, after_s: float) -> None:
    """While it waits, while it is computed, while it answers."""
    engine = SimulatedEngine(toy)
    engine.submit(Arrival(0.0, ask("a", 200, 500)), Arrival(0.0, ask("b", 200, 2, first=900)))
    engine.cancel("a", after_s)
    engine.cancel("unknown", after_s)
    simulated = engine.run()
    cancelled = simulated.outcome("a")
    assert cancelled.reason is FinishReason.ABORT
    assert after_s <= cancelled.ended_at - 1.0 <= after_s + 2.5, "within the step of that time"
    assert simulated.outcome("b").reason is FinishReason.LENGTH
    assert set(engine.num_ends.values()) == {1}


def test_who_makes_way_goes_on_later(toy: SimulatedModel, ask: Ask) -> None:
    """Answers of 500 tokens that nobody reserved for, in a pool that holds three of them; then the
    conversation goes on from a whole answer."""
    config = EngineConfig(admission=AdmissionMode.MAX_THROUGHPUT, kv_budget_bytes=10 * 2_000)
    engine = SimulatedEngine(toy, config)
    requests = [ask(f"r{number}", 100, 500, first=1_000 * number + 100) for number in range(5)]
    engine.submit(*(Arrival(0.0, request) for request in requests))
    simulated = engine.run()
    assert simulated.totals.preemptions > 0
    assert [outcome.usage.completion_tokens for outcome in simulated.outcomes] == [500] * 5
    assert set(engine.num_ends.values()) == {1}
    last = next(each for each in requests if each.id == simulated.outcomes[-1].request_id)
    tokens = (*last.prompt.tokens, *answer(500), 77)
    engine.submit(Arrival(0.0, Request("next", Prompt(tokens), 1)))
    assert engine.run().outcome("next").usage.cached_tokens == 599, "all that was computed"


def test_what_can_never_fit_fails(toy: SimulatedModel, ask: Ask) -> None:
    engine = SimulatedEngine(toy, EngineConfig(kv_budget_bytes=10 * 500))
    engine.submit(Arrival(0.0, ask("a", 600, 2)), Arrival(0.0, ask("b", 60, 2)))
    simulated = engine.run()
    assert simulated.outcome("a").reason is FinishReason.ERROR
    assert simulated.outcome("a").error
    assert simulated.outcome("b").reason is FinishReason.LENGTH


def test_a_name_is_used_once(toy: SimulatedModel, ask: Ask) -> None:
    engine = SimulatedEngine(toy)
    engine.submit(Arrival(0.0, ask("a", 10, 1)))
    with pytest.raises(BenchError, match="request a already"):
        engine.submit(Arrival(1.0, ask("a", 10, 1)))


def test_the_same_requests_have_the_same_outcomes() -> None:
    pool = EngineConfig(kv_budget_bytes=3_000 * A100_8B.bytes_per_token)
    first, second = (SimulatedEngine(A100_8B, pool).run(chat(SMALL_CHAT, 6)) for _ in range(2))
    assert first == second
    other = SimulatedEngine(A100_8B, pool).run(chat(SMALL_CHAT, 6, seed=2))
    assert other.outcomes != first.outcomes


def test_every_request_of_a_crowd_ends_once_and_time_runs_forwards() -> None:
    """2,000 requests: 8 questions each about 250 documents, more than the pool holds."""
    config = EngineConfig(max_running=12, kv_budget_bytes=6_000 * A100_8B.bytes_per_token)
    engine = SimulatedEngine(A100_8B, config)
    for number in range(250):
        for asked in document(8, 60, 40, 4, seed=number).arrivals:
            request = replace(asked.request, id=f"{number}-{asked.request.id}")
            engine.submit(Arrival(0.4 * number, request))
    simulated = engine.run()
    assert len(simulated.outcomes) == 2_000
    assert set(engine.num_ends.values()) == {1}
    assert all(_in_order(outcome) for outcome in simulated.outcomes)
    ends = [outcome.ended_at for outcome in simulated.outcomes]
    assert ends == sorted(ends)
    times = [sample.at for sample in simulated.pool]
    assert all(earlier < later for earlier, later in itertools.pairwise(times))
    usages = [outcome.usage for outcome in simulated.outcomes]
    assert simulated.totals.requests == 2_000
    assert simulated.totals.cached_tokens == sum(usage.cached_tokens for usage in usages)
    assert simulated.totals.completion_tokens == 2_000 * 4


def test_a_sweep_in_the_background_does_not_hold_up_a_conversation() -> None:
    workload = sweep_beside_conversation(
        Turns(4, 20, 8), opening_tokens=500, num_swept=12, swept_tokens=300, think_s=5.0
    )
    simulated = SimulatedEngine(STARTER).run(workload)
    turns = [o for o in simulated.outcomes if o.request_id.startswith("conversation")]
    swept = [o for o in simulated.outcomes if o.request_id.startswith("sweep")]
    assert (len(turns), len(swept)) == (4, 12)
    # The first prompt is cold; each later turn goes on from what the one before it left.
    for turn in turns[1:]:
        assert turn.usage.computed_tokens <= 20 + 1
        assert turn.ttft_s < turns[0].ttft_s


def test_the_pool_is_told_over_time(toy: SimulatedModel, ask: Ask) -> None:
    engine = SimulatedEngine(toy, EngineConfig(kv_budget_bytes=10_000))
    simulated = engine.run(
        Workload((Arrival(0.0, ask("a", 100, 30)), Arrival(60.0, ask("b", 100, 30, first=700))))
    )
    first = simulated.pool[0]
    assert (first.running_bytes, first.cached_bytes) == (0, 0)
    assert any(sample.cached_bytes >= 1_290 for sample in simulated.pool), "what the first left"
    assert 0 < simulated.running_share < 0.3
    assert 0 < simulated.cached_share < 0.3


def _in_order(outcome: Outcome) -> bool:
    first = outcome.first_token_at
    return first is not None and outcome.submitted_at < first <= outcome.ended_at
