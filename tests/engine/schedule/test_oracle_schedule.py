"""Rows of sections E, G and K that are about who runs, who waits and who makes way."""

from __future__ import annotations

import pytest

from engine.config import AdmissionMode
from engine.request import Priority, Started
from engine.schedule.job import Phase
from tests.support.answers import answer_to
from tests.support.engine import request
from tests.support.fake_runner import BYTES_PER_TOKEN
from tests.support.stepping import SteppedLoop


def prompt(number: int, num_tokens: int) -> list[int]:
    return [(number * 37 + 7 * n) % 500 + 1 for n in range(num_tokens)]


def two_classes(low_tokens: int, pages: int, low_answer: int) -> SteppedLoop:
    """A background request runs, then an interactive one of 32 tokens comes; pages of 16 tokens,
    and prompts alone decide who starts."""
    loop = SteppedLoop(
        budget_tokens=pages * 16, storage_step=1, admission=AdmissionMode.MAX_THROUGHPUT
    )
    loop.admission.slack_tokens = 1
    low = request("low", prompt(1, low_tokens), low_answer, priority=Priority.BACKGROUND)
    loop.submit(low)
    loop.step()
    loop.submit(request("high", prompt(2, 32), 30))
    return loop


def test_the_one_of_the_lower_class_makes_way_E9() -> None:
    loop = two_classes(32, pages=6, low_answer=40)
    loop.run_until(lambda: loop.counters.preemptions > 0)
    assert [job.request.id for job in loop.scheduler.running] == ["high"]
    assert loop.scheduler.get("low").phase is Phase.WAITING


def test_it_goes_on_from_where_it_stood_E10() -> None:
    loop = two_classes(30, pages=5, low_answer=40)
    loop.run_until(lambda: loop.counters.preemptions > 0)
    low = loop.scheduler.get("low")
    decoded = low.num_generated
    assert len(low.tokens) == 30 + decoded
    assert list(low.tokens) == [*prompt(1, 30), *answer_to(prompt(1, 30), decoded)]
    loop.run_until(lambda: bool(loop.ends("high")))
    loop.run_until(lambda: low.row is not None)
    loop.finish_all()
    assert loop.tokens("high") == answer_to(prompt(2, 32), 30)
    assert loop.tokens("low") == answer_to(prompt(1, 30), 40)


def test_looking_at_the_queue_again_counts_nothing_E11() -> None:
    loop = SteppedLoop(max_running=1)
    loop.submit(request("runs", prompt(1, 40), 10))
    loop.step()
    loop.submit(request("waits", prompt(2, 50), 1))
    for _ in range(3):
        loop.scheduler.memory_freed()
        loop.step()
    assert (loop.counters.requests, loop.counters.prompt_tokens) == (1, 40)
    loop.finish_all()
    assert (loop.counters.requests, loop.counters.prompt_tokens) == (2, 90)


def test_going_on_is_no_second_request_and_no_hit_E13() -> None:
    loop = two_classes(32, pages=6, low_answer=40)
    loop.finish_all()
    assert loop.counters.preemptions >= 1
    assert (loop.counters.requests, loop.counters.hits) == (2, 0)
    assert (loop.counters.prompt_tokens, loop.counters.cached_tokens) == (64, 0)
    assert loop.kinds("low").count(Started) == 1
    (record,) = [record for record in loop.records if record.id == "low"]
    assert (record.num_preemptions, record.usage.cached_tokens) == (loop.counters.preemptions, 0)


def test_without_caching_nothing_is_counted_as_found_E14() -> None:
    loop = SteppedLoop()
    loop.cache.enabled = False
    for name in ("first", "second"):
        loop.serve(request(name, prompt(1, 100), 2))
    assert (loop.counters.hits, loop.counters.cached_tokens) == (0, 0)
    assert (loop.cache.num_pages, loop.cache.used_bytes) == (0, 0)
    assert loop.tokens("second") == answer_to(prompt(1, 100), 2)


@pytest.mark.parametrize("recurrent", [False, True])
def test_whoever_is_sent_back_answers_as_if_undisturbed_E16(recurrent: bool) -> None:
    """Four prompts, one of them twenty times another; at the tenth step all but one make way."""
    prompts = [prompt(1, 20), prompt(2, 20), prompt(3, 20), prompt(4, 400)]
    loop = SteppedLoop(prefill_chunk=64, recurrent=recurrent)
    loop.submit(*(request(f"r{n}", tokens, 16) for n, tokens in enumerate(prompts)))
    for _ in range(10):
        loop.step()
    while (victim := loop.scheduler.make_way(loop.clock())) is not None:
        assert victim.row is None
    assert len(loop.scheduler.running) == 1
    loop.scheduler.memory_freed()
    loop.finish_all()
    for n, tokens in enumerate(prompts):
        assert loop.tokens(f"r{n}") == answer_to(tokens, 16)
    assert loop.cache.held_bytes() == 0


def test_the_one_with_the_longer_match_goes_first_G18() -> None:
    """A came a little before B, and of B four tokens are known."""
    loop = SteppedLoop(max_running=1)
    loop.serve(request("before", prompt(1, 400), 1))
    loop.submit(request("runs", prompt(9, 40), 3))
    loop.step()
    a, b = prompt(2, 100), [*prompt(1, 4), *prompt(3, 96)]
    loop.submit(request("A", a, 1), request("B", b, 1))
    loop.finish_all()
    assert [record.id for record in loop.records] == ["before", "runs", "B", "A"]


def test_of_two_that_share_the_second_waits_for_the_first_G19() -> None:
    shared = prompt(1, 64)
    loop = SteppedLoop(prefill_chunk=64, storage_step=1)
    loop.submit(
        request("first", [*shared, *prompt(2, 200)], 1),
        request("second", [*shared, *prompt(3, 200)], 1),
    )
    loop.step()
    assert (len(loop.scheduler.running), loop.scheduler.num_parked) == (1, 1)
    loop.finish_all()
    assert loop.started("second").cached_tokens == 64
    assert loop.cache.used_bytes <= (64 + 200 + 200 + 32) * BYTES_PER_TOKEN
