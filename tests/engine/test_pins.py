"""Pins: what they cost together, how they come to stand, who goes first, what proves their use."""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import pairwise

import hypothesis.strategies as st
import pytest
from hypothesis import given

from engine.pins import distinct_tokens
from engine.request import FinishReason
from engine.snapshot import PinState
from tests.support.answers import answer_to
from tests.support.effort import effort
from tests.support.engine import request
from tests.support.fake_runner import BYTES_PER_TOKEN, check_states
from tests.support.stepping import SteppedLoop

POLICY = [10 + n % 50 for n in range(300)]


def held(loop: SteppedLoop) -> int:
    """Tokens that pins hold."""
    return loop.pin_keeper.held_bytes // BYTES_PER_TOKEN


def ready(loop: SteppedLoop, name: str) -> Callable[[], bool]:
    return lambda: loop.pins[name].state is PinState.READY


# What pins take together


@pytest.mark.parametrize(
    ("prefixes", "expected"),
    [
        ([], 0),
        ([[]], 0),
        ([[1, 2, 3]], 3),
        ([[1, 2, 3], [1, 2, 3]], 3),
        ([[1, 2, 3], [1, 2]], 3),
        ([[1, 2, 3], [1, 2, 4]], 4),
        ([[1, 2, 3], [2, 2, 3]], 6),
        ([[1, 2, 3], [1, 5], [1, 2, 4, 4], [9]], 3 + 1 + 2 + 1),
    ],
)
def test_shared_beginnings_count_once(prefixes: list[list[int]], expected: int) -> None:
    assert distinct_tokens(prefixes) == distinct_tokens(reversed(prefixes)) == expected


@given(st.lists(st.lists(st.integers(0, 2), max_size=8), max_size=8))
@effort(200)
def test_distinct_tokens_are_the_nodes_of_a_tree(prefixes: list[list[int]]) -> None:
    nodes = {tuple(prefix[:n]) for prefix in prefixes for n in range(1, len(prefix) + 1)}
    assert distinct_tokens(prefixes) == len(nodes)


# From wish to hold


def test_a_pin_is_computed_in_the_background_and_held() -> None:
    loop = SteppedLoop(prefill_chunk=64)
    loop.pin("policy", POLICY)
    assert loop.pins["policy"].state is PinState.QUEUED
    seen = []
    while not loop.idle:
        loop.step()
        pin = loop.pins["policy"]
        seen.append((pin.state, pin.done_tokens))
    assert seen == [
        (PinState.BUILDING, 64),
        (PinState.BUILDING, 128),
        (PinState.BUILDING, 192),
        (PinState.BUILDING, 256),
        (PinState.READY, 300),
    ]
    pin = loop.pins["policy"]
    assert (pin.num_tokens, pin.num_bytes, pin.hits, pin.error) == (300, 3000, 0, "")
    assert held(loop) == 300
    assert loop.cache.held_bytes() == loop.pin_keeper.held_bytes


def test_a_pin_is_no_request() -> None:
    """It is told to nobody, and counts in no total (design D9)."""
    loop = SteppedLoop()
    loop.pin("policy", POLICY)
    loop.finish_all()
    loop.pin("policy", POLICY)
    loop.unpin("policy")
    loop.finish_all()
    assert (loop.batches, loop.records) == ([], [])
    totals = loop.counters.totals()
    assert (totals.requests, totals.prompt_tokens, totals.cached_tokens) == (0, 0, 0)


def test_a_request_finds_a_pin_whatever_came_between() -> None:
    loop = SteppedLoop(budget_tokens=1500)
    loop.pin("policy", POLICY)
    loop.finish_all()
    for n in range(10):
        loop.serve(request(f"flood{n}", [700 + n] * 700, 5))
        assert loop.cache.used_bytes <= loop.budget
    assert loop.counters.evicted_pages > 100
    (end,) = loop.serve(request("asks", [*POLICY, 5, 6], 3))
    assert end.usage.cached_tokens == 300
    assert loop.tokens("asks") == answer_to([*POLICY, 5, 6], 3)
    match = loop.cache.match(POLICY)
    check_states(match.views, POLICY)


def test_a_pin_of_known_tokens_stands_at_once() -> None:
    loop = SteppedLoop()
    loop.serve(request("first", [*POLICY, 5, 6], 3))
    before = loop.runner.num_computed
    loop.pin("policy", POLICY)
    loop.step()
    assert loop.pins["policy"].state is PinState.READY
    assert loop.runner.num_computed == before
    assert held(loop) == 300


def test_pins_share_their_common_beginning() -> None:
    loop = SteppedLoop()
    for n in range(3):
        loop.pin(f"pin{n}", [*POLICY, *[800 + n] * 50])
        loop.finish_all()
    assert held(loop) == 300 + 3 * 50
    loop.unpin("pin1")
    assert held(loop) == 300 + 2 * 50


def test_a_dropped_pin_becomes_ordinary_cache() -> None:
    loop = SteppedLoop()
    loop.pin("policy", POLICY)
    loop.finish_all()
    loop.unpin("policy")
    assert (loop.pins, loop.cache.held_bytes()) == ({}, 0)
    assert loop.cache.match(POLICY).num_tokens == 300
    loop.cache.reclaim(10**6)
    assert loop.cache.match(POLICY).num_tokens == 0
    loop.unpin("policy")
    loop.unpin("never seen")


def test_a_pin_dropped_while_it_is_built_keeps_what_was_computed() -> None:
    loop = SteppedLoop(prefill_chunk=64)
    loop.pin("policy", POLICY)
    for _ in range(2):
        loop.step()
    loop.unpin("policy")
    assert (loop.idle, loop.pins, loop.cache.held_bytes()) == (True, {}, 0)
    assert loop.cache.match(POLICY).num_tokens == 128
    loop.pin("policy", POLICY)
    loop.finish_all()
    assert (loop.pins["policy"].state, loop.runner.num_computed) == (PinState.READY, 300)


def test_a_pin_that_is_cancelled_while_it_is_built_is_dropped() -> None:
    loop = SteppedLoop(prefill_chunk=64)
    loop.pin("policy", POLICY)
    loop.step()
    loop.cancel("pin:policy")
    assert loop.pins == {}
    loop.unpin("policy")
    loop.pin("policy", POLICY)
    loop.finish_all()
    assert loop.pins["policy"].state is PinState.READY


def test_a_pin_of_the_same_name_takes_the_place_of_the_one_before() -> None:
    loop = SteppedLoop(prefill_chunk=64)
    loop.pin("policy", POLICY)
    loop.step()
    loop.pin("policy", [900] * 40)
    loop.finish_all()
    assert (loop.pins["policy"].num_tokens, held(loop)) == (40, 40)
    loop.pin("policy", [901] * 70)
    assert held(loop) == 0, "the old one is let go first"
    loop.finish_all()
    assert (loop.pins["policy"].num_tokens, held(loop)) == (70, 70)


def test_a_pin_that_can_never_fit_says_so() -> None:
    loop = SteppedLoop(budget_tokens=500)
    loop.pin("large", POLICY)
    loop.finish_all()
    pin = loop.pins["large"]
    assert pin.state is PinState.FAILED
    assert "300 tokens > 244 tokens" in pin.error
    assert (loop.batches, loop.records) == ([], [])


# Warmed, not kept


def test_a_prefix_that_is_only_warmed_stands_until_it_is_evicted() -> None:
    loop = SteppedLoop()
    loop.pin("policy", POLICY, keep=False)
    loop.finish_all()
    pin = loop.pins["policy"]
    assert (pin.state, pin.done_tokens, pin.kept, held(loop)) == (PinState.READY, 300, False, 0)
    loop.cache.reclaim(10**6)
    pin = loop.pins["policy"]
    assert (pin.state, pin.done_tokens) == (PinState.ABSENT, 0)


def test_a_warmed_prefix_that_is_used_is_still_there() -> None:
    """Its last page is partly filled; the first request that goes on from it fills the page."""
    loop = SteppedLoop()
    loop.pin("policy", POLICY, keep=False)
    loop.finish_all()
    loop.serve(request("asks", [*POLICY, 900, *range(60)], 5))
    assert loop.cache.match(POLICY).num_tokens == 300
    assert loop.pins["policy"].state is PinState.READY


# Who goes first


def test_requests_go_before_pins() -> None:
    loop = SteppedLoop(prefill_chunk=64)
    loop.pin("policy", POLICY)
    loop.step()
    loop.submit(request("asks", [900] * 640, 3))
    done = []
    while not loop.ends("asks"):
        loop.step()
        done.append(loop.pins["policy"].done_tokens)
    assert done[:-3] == [64] * len(done[:-3]), "the pin stands still until the prompt is computed"
    assert loop.finished("asks").timings.ttft_s < 0.64 + 2 * 0.065
    loop.finish_all()
    assert loop.pins["policy"].state is PinState.READY


def test_pins_that_are_built_take_no_requests_place() -> None:
    """Pins have the lowest priority: a request does not wait until one of them is complete."""
    loop = SteppedLoop(prefill_chunk=64, max_running=2)
    for n in range(2):
        loop.pin(f"pin{n}", [n, *range(200, 1000)])
    loop.step()
    loop.submit(request("asks", POLICY[:60], 2))
    loop.run_until(lambda: bool(loop.ends("asks")))
    assert [pin.state is PinState.READY for pin in loop.pins.values()] == [False, False]


def test_memory_set_aside_for_a_pin_is_there_for_a_request() -> None:
    """The same for memory: what a pin has not computed yet is not kept from a request."""
    loop = SteppedLoop(budget_tokens=1400, prefill_chunk=64)
    loop.pin("large", list(range(1000, 1700)))
    loop.step()
    loop.submit(request("asks", POLICY, 20))
    loop.run_until(lambda: bool(loop.ends("asks")))
    assert loop.finished("asks").reason is FinishReason.LENGTH
    assert loop.pins["large"].state is not PinState.READY


# Proof of use


def test_each_request_that_uses_a_pin_is_one_hit() -> None:
    loop = SteppedLoop()
    loop.pin("policy", POLICY)
    loop.finish_all()
    hits = [loop.pins["policy"].hits]
    assert loop.pins["policy"].last_hit_at == 0.0
    before = time.time()
    for n in range(4):
        loop.serve(request(f"r{n}", [*POLICY, 900 + n, *range(60)], 5))
        hits.append(loop.pins["policy"].hits)
    assert hits == [0, 1, 2, 3, 4]
    assert before <= loop.pins["policy"].last_hit_at <= time.time()


def test_each_request_that_uses_a_pin_of_whole_pages_is_one_hit() -> None:
    loop = SteppedLoop()
    loop.pin("policy", POLICY[:288])
    loop.finish_all()
    hits = [loop.pins["policy"].hits]
    for n in range(4):
        loop.serve(request(f"r{n}", [*POLICY[:288], 900 + n, *range(60)], 5))
        hits.append(loop.pins["policy"].hits)
    assert hits == [0, 1, 2, 3, 4]


def test_a_request_that_ends_before_a_pin_does_is_no_hit() -> None:
    loop = SteppedLoop()
    loop.pin("policy", POLICY)
    loop.finish_all()
    loop.serve(request("a", POLICY[:100], 5), request("b", [*POLICY[:200], 900], 5))
    assert loop.pins["policy"].hits == 0


def test_warming_another_pin_is_no_hit() -> None:
    loop = SteppedLoop()
    loop.pin("policy", POLICY[:288])
    loop.finish_all()
    loop.pin("longer", [*POLICY[:288], *range(800, 900)])
    loop.finish_all()
    assert loop.pins["policy"].hits == 0


@given(
    st.lists(
        st.tuples(st.integers(0, 2), st.integers(1, 90), st.integers(0, 1)), min_size=1, max_size=6
    )
)
@effort(60)
def test_pins_hold_exactly_their_distinct_tokens(
    wanted: list[tuple[int, int, int]],
) -> None:
    loop = SteppedLoop(prefill_chunk=64, page_tokens=4)
    prefixes = {}
    for n, (start, length, kind) in enumerate(wanted):
        prefixes[f"pin{n}"] = [start, *([5] * length if kind else range(10, 10 + length))]
        loop.pin(f"pin{n}", prefixes[f"pin{n}"])
        loop.finish_all()
    assert held(loop) == distinct_tokens(prefixes.values())
    counts = [held(loop)]
    for name in list(prefixes):
        loop.unpin(name)
        del prefixes[name]
        counts.append(held(loop))
        assert counts[-1] == distinct_tokens(prefixes.values())
    assert all(before >= after for before, after in pairwise(counts))
