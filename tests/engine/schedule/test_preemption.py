"""Running KV cannot grow: somebody makes way, and goes on later as if nothing had been."""

from __future__ import annotations

import logging

import pytest

from engine.cache.standing import Standing
from engine.config import AdmissionMode
from engine.request import Finished, FinishReason, Priority, Started
from tests.support.answers import answer_to
from tests.support.engine import request
from tests.support.stepping import SteppedLoop


def prompt(number: int, num_tokens: int = 100) -> list[int]:
    return [(number * 31 + 7 * n) % 500 + 1 for n in range(num_tokens)]


def crowded(mode: AdmissionMode, *, recurrent: bool = False, answer: int = 600) -> SteppedLoop:
    """Four that want 700 tokens each in a house of 2,000."""
    loop = SteppedLoop(budget_tokens=2000, storage_step=16, admission=mode, recurrent=recurrent)
    loop.submit(*(request(f"r{n}", prompt(n), answer) for n in range(4)))
    return loop


@pytest.mark.parametrize("recurrent", [False, True])
def test_who_made_way_goes_on_with_the_same_answer(
    recurrent: bool, caplog: pytest.LogCaptureFixture
) -> None:
    loop = crowded(AdmissionMode.MAX_THROUGHPUT, recurrent=recurrent)
    with caplog.at_level(logging.WARNING, "engine.loop"):
        loop.finish_all()
    for n in range(4):
        name = f"r{n}"
        assert loop.tokens(name) == answer_to(prompt(n), 600)
        assert loop.finished(name).reason is FinishReason.LENGTH
        assert loop.kinds(name).count(Started) == 1
        assert loop.kinds(name).count(Finished) == 1
        assert loop.finished(name).usage.cached_tokens == 0, "what was found when it came"
    made_way = sum(record.num_preemptions for record in loop.records)
    assert loop.counters.preemptions == made_way > 0
    lines = [each.getMessage() for each in caplog.records if "made way" in each.getMessage()]
    assert len(lines) == made_way
    assert "3 running, 1 waiting" in lines[0]
    text = loop.metrics.render(loop.loop.snapshot)[0].decode()
    assert f'vllm:num_preemptions_total{{engine="0",model_name="fake"}} {made_way}.0' in text


def test_the_budget_holds_all_the_time() -> None:
    loop = crowded(AdmissionMode.MAX_THROUGHPUT)
    while not loop.idle:
        loop.step()
        assert loop.cache.used_bytes <= loop.budget


def test_the_least_urgent_makes_way_and_then_goes_first() -> None:
    loop = SteppedLoop(budget_tokens=1200, storage_step=16, admission=AdmissionMode.MAX_THROUGHPUT)
    loop.submit(request("batch", prompt(1), 500, priority=Priority.BACKGROUND))
    loop.step()
    loop.submit(request("asked", prompt(2), 700))
    loop.run_until(lambda: loop.counters.preemptions > 0)
    assert [job.request.id for job in loop.scheduler.running] == ["asked"]
    loop.submit(request("batch 2", prompt(3), 10, priority=Priority.BACKGROUND))
    loop.run_until(lambda: bool(loop.ends("asked")))
    loop.step()
    assert next(iter(loop.scheduler.running)).request.id == "batch"
    loop.finish_all()
    assert loop.tokens("batch") == answer_to(prompt(1), 500)


def test_protecting_the_cache_nobody_has_to_make_way() -> None:
    """Steady state: answers are as long as they were before."""
    loop = crowded(AdmissionMode.PROTECT_CACHE)
    loop.finish_all()
    loop.submit(*(request(f"more{n}", prompt(n), 600) for n in range(12)))
    most = 0
    while not loop.idle:
        loop.step()
        most = max(most, len(loop.scheduler.running))
    assert loop.counters.preemptions == 0
    assert most == 2, "two of 700 and their slack fit 2,000"


def test_answers_that_are_known_to_be_short_are_not_reserved_in_full() -> None:
    """Clients that ask for 4,096 tokens and take 20 run side by side."""
    eos = frozenset({answer_to(prompt(0), 20)[-1]})
    loop = SteppedLoop(budget_tokens=6000, storage_step=16, eos_ids=eos)
    for n in range(8):
        loop.serve(request(f"before{n}", prompt(0), 4096))
    assert loop.finished("before0").usage.completion_tokens == 20
    loop.submit(*(request(f"r{n}", prompt(0), 4096) for n in range(4)))
    loop.step()
    assert len(loop.scheduler.running) + loop.scheduler.num_parked == 4
    loop.finish_all()
    assert loop.counters.preemptions == 0


def test_one_alone_ends_where_its_memory_does() -> None:
    """A pin came while it ran and counted on a shorter answer."""
    loop = SteppedLoop(budget_tokens=1000, storage_step=16)
    loop.admission.traffic.started(10, 0)
    for _ in range(8):
        loop.admission.traffic.ended(10)
    loop.submit(request("talks", prompt(1, 50), 600))
    loop.step()
    loop.pin("policy", prompt(2, 400))
    loop.run_until(lambda: loop.pins["policy"].num_bytes > 0 and loop.idle)
    end = loop.finished("talks")
    assert end.reason is FinishReason.LENGTH
    assert end.usage.completion_tokens <= 600
    answer = loop.tokens("talks")
    assert answer == answer_to(prompt(1, 50), len(answer))
    assert loop.cache.used_bytes <= loop.budget


def test_what_was_lost_meanwhile_is_counted() -> None:
    loop = crowded(AdmissionMode.MAX_THROUGHPUT)
    loop.finish_all()
    assert loop.counters.recomputed_tokens > 0
    assert loop.counters.recomputed_tokens < loop.runner.num_computed
    useful = 4 * (100 + 600 - 1)
    assert loop.runner.num_computed == useful + loop.counters.recomputed_tokens


def test_eight_whose_prefix_is_cached_all_run_S0_14() -> None:
    """927 tokens in, 128 out, 341 pages: an uncredited reservation admits five."""
    common = prompt(5, 912)
    loop = SteppedLoop(budget_tokens=341 * 16, storage_step=16)
    loop.serve(request("first", [*common, *[601] * 15], 128))
    loop.submit(*(request(f"r{n}", [*common, *[602 + n] * 15], 128) for n in range(8)))
    loop.step()
    assert len(loop.scheduler.running) == 8
    loop.finish_all()
    assert loop.counters.preemptions == 0
    assert [loop.started(f"r{n}").cached_tokens for n in range(8)] == [912] * 8


def test_going_on_is_no_hit() -> None:
    """What a request finds of itself makes nothing hot, and nobody's conversation of it."""
    loop = SteppedLoop(prefill_chunk=64)
    loop.submit(request("stays", prompt(1), 300), request("goes", prompt(2, 320), 60))
    loop.run_until(lambda: loop.scheduler.get("goes").num_generated > 3)
    for _ in range(3):
        victim = loop.scheduler.make_way(loop.clock())
        assert victim is not None
        assert victim.request.id == "goes"
        loop.scheduler.memory_freed()
        loop.run_until(lambda: loop.scheduler.get("goes").row is not None)
    page = loop.cache.match(prompt(2, 320)).last
    assert (page.hits, page.standing) == (0, Standing.ORDINARY)
    assert loop.cache.hot_bytes(loop.clock()) == 0
    loop.finish_all()
    assert loop.tokens("goes") == answer_to(prompt(2, 320), 60)


def test_waiting_after_it_made_way_counts_as_waiting() -> None:
    loop = SteppedLoop()
    loop.submit(request("stays", prompt(1), 300), request("goes", prompt(2), 60))
    loop.run_until(lambda: loop.scheduler.get("goes").num_generated > 3)
    loop.clock.now += 1.0  # both answer
    assert loop.scheduler.make_way(loop.clock()) is not None
    loop.clock.now += 50.0
    loop.scheduler.memory_freed()
    loop.finish_all()
    (record,) = [record for record in loop.records if record.id == "goes"]
    timings = record.timings
    assert 50 <= timings.queue_s < 50.5
    assert 1 <= timings.decode_s < 2
    assert timings.queue_s + timings.prefill_s + timings.decode_s == pytest.approx(timings.total_s)


def test_who_made_way_and_fits_no_more_ends_with_what_it_has_said() -> None:
    """It started beside another, on the promise of a short answer; a pin has come since."""
    loop = SteppedLoop(budget_tokens=1000, storage_step=16)
    loop.admission.traffic.started(10, 0)
    for _ in range(8):
        loop.admission.traffic.ended(10)
    loop.submit(request("stays", prompt(1, 50), 60), request("talks", prompt(2, 50), 700))
    loop.run_until(lambda: loop.scheduler.get("talks").num_generated > 20)
    victim = loop.scheduler.make_way(loop.clock())
    assert victim is not None
    assert victim.request.id == "talks"
    loop.pin("policy", prompt(3, 400))
    loop.run_until(lambda: loop.idle)
    end = loop.finished("talks")
    assert (end.reason, loop.counters.preemptions) == (FinishReason.LENGTH, 0)
    told = loop.tokens("talks")
    assert told == answer_to(prompt(2, 50), len(told))
    assert len(told) == end.usage.completion_tokens > 20
