"""Chains that conversations make long are joined when there is nothing else to do."""

from __future__ import annotations

import queue

from engine.cache.prefix_cache import PrefixCache
from engine.commands import Command, Stop
from tests.support.cache import compute, make_cache, run
from tests.support.engine import request
from tests.support.fake_runner import BYTES_PER_TOKEN, LAYERS, check_restorable, check_states
from tests.support.stepping import SteppedLoop


def conversation(cache: PrefixCache, turns: int, tokens: list[int] | None = None) -> list[int]:
    """A conversation of turns of growing length, each on the parts of those before."""
    tokens = list(tokens or [])
    for turn in range(turns):
        tokens += [turn + 1] * (10 + turn)
        assert run(cache, tokens) == len(tokens) - 10 - turn
    return tokens


def lengths(cache: PrefixCache) -> list[int]:
    return sorted(part.storage.num_tokens for part in cache.parts)


def test_the_smallest_neighbours_are_joined_until_four_are_left() -> None:
    cache = make_cache()
    tokens = conversation(cache, 7)
    assert len(cache.parts) == 7
    assert cache.compact(10_000)
    cache.check_integrity()
    assert lengths(cache) == [12, 13, 14, 15, 16, 10 + 11]
    while cache.compact(10_000):
        cache.check_integrity()
    assert len(cache.parts) == 4
    match = cache.match(tokens)
    assert match.num_tokens == len(tokens)
    check_states(match.views, tokens)


def test_it_takes_no_more_for_a_moment_than_there_is() -> None:
    cache = make_cache()
    conversation(cache, 6)
    smallest = sum(lengths(cache)[:2]) * BYTES_PER_TOKEN // LAYERS
    assert not cache.compact(smallest - 1)
    assert not cache.compact(0)
    assert len(cache.parts) == 6
    assert cache.compact(smallest)


def test_it_stops_at_checkpoints_and_at_open_tails() -> None:
    cache = make_cache(recurrent=True)
    conversation(cache, 7)
    assert len(cache.parts) == cache.num_checkpoints == 7
    assert not cache.compact(10_000), "each turn ends at a checkpoint"
    cache = make_cache()
    tokens = conversation(cache, 4)
    row = cache.open_row([*tokens, 7, 8, 9])
    compute(cache, row)
    assert len(cache.parts) == 5
    assert cache.compact(10_000)
    cache.check_integrity()
    check_states(row.hold.views, tokens)
    compute(cache, row)
    cache.close_row(row)


def test_rows_and_pins_stand_where_they_stood() -> None:
    cache = make_cache()
    tokens = conversation(cache, 8)
    pin = cache.hold(cache.match(tokens[:25]), "pin")
    row = cache.open_row([*tokens[:40], 500, 501])
    compute(cache, row)
    while cache.compact(10_000):
        cache.check_integrity()
    check_states(pin.views, tokens[:25])
    check_states(row.hold.views, tokens[:40])
    cache.close_row(row)
    cache.reclaim(100_000)
    cache.check_integrity()
    assert cache.match(tokens).num_tokens == 25
    cache.release(pin)
    assert cache.clear()
    assert cache.used_bytes == 0


def test_the_loop_does_it_before_it_sleeps_and_stops_when_asked_for_something() -> None:
    loop = SteppedLoop()
    tokens: list[int] = []
    for turn in range(9):
        tokens += [turn + 1] * 12
        loop.serve(request(f"turn {turn}", tokens, 1))
    inbox: queue.SimpleQueue[Command] = queue.SimpleQueue()
    inbox.put(Stop())
    parts = len(loop.cache.parts)
    loop.loop._tidy(inbox)
    assert len(loop.cache.parts) == parts > 8
    inbox.get()
    loop.loop._tidy(inbox)
    assert len(loop.cache.parts) == 4


def test_a_window_that_somebody_sees_into_is_not_lost_in_a_join() -> None:
    """The lower part is one token long, the upper has shed all but its window: joined, they would
    have no token before it."""
    cache = make_cache(windows=(6,), recurrent=True)
    first = cache.open_row([1])
    compute(cache, first)
    cache.checkpoint(first)
    other = cache.open_row([1, *range(2, 30)])
    compute(cache, other)
    cache.reclaim(1)
    cache.close_row(other)
    while cache.compact(10_000, 1):
        cache.check_integrity()
    check_restorable(first)
    cache.close_row(first)
