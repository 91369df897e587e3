"""Chains that conversations make long are joined when there is nothing else to do."""

from __future__ import annotations

import queue

import pytest

from engine.cache.compaction import MOST_TAKEN_OVER
from engine.cache.prefix_cache import PrefixCache
from engine.cache.row import Row
from engine.commands import Command, Stop
from engine.loop import WORTH_TAKING_OVER
from tests.support.cache import compute, make_cache, run
from tests.support.engine import request
from tests.support.fake_runner import (
    BYTES_PER_TOKEN,
    LAYERS,
    FakeStorage,
    check_restorable,
    check_states,
    expected_answer,
)
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


def test_who_runs_alone_goes_on_in_the_part_it_stands_on() -> None:
    """It reads one piece then. When somebody else needs the part, it is one that both stand on
    again, and nothing is copied."""
    cache = make_cache(step=1)
    first = list(range(1, 21))
    run(cache, first)
    row = cache.open_row([*first, 30, 31, 32])
    compute(cache, row)
    (below,) = {view.part for view in row.hold.views}
    used = cache.used_bytes
    assert cache.take_over(row, 10_000)
    cache.check_integrity()
    assert row.tail is below
    assert not row.hold.views
    assert cache.parts == {below}
    assert cache.used_bytes == cache.open_bytes == used
    row.tokens.append(33)
    compute(cache, row)
    check_restorable(row)
    assert below.end == 24

    other = cache.open_row([*first, 40])
    compute(cache, other)
    cache.check_integrity()
    assert other.num_cached == 20
    assert [view.part for view in row.hold.views] == [view.part for view in other.hold.views]
    check_states(row.hold.views, [*first, 30, 31, 32, 33])
    check_states(other.hold.views, first)
    cache.close_row(other)
    cache.close_row(row)
    assert cache.match([*first, 30, 31, 32, 33]).num_tokens == 24


def test_what_others_need_is_not_taken_over() -> None:
    cache = make_cache()
    first = list(range(1, 21))
    run(cache, first)

    def row_on(tokens: list[int]) -> Row:
        row = cache.open_row([*tokens, 30])
        compute(cache, row)
        return row

    pin = cache.hold(cache.match(first), "pin")
    row = row_on(first)
    assert not cache.take_over(row, 10_000), "a pin holds it"
    cache.release(pin)
    other = row_on([*first[:10], 50])
    assert not cache.take_over(row, 10_000), "another row stands on its beginning"
    assert not cache.take_over(other, 10_000), "it stands in the middle"
    cache.close_row(other)
    assert not cache.take_over(row, 10_000), "what the other computed stands on it"
    cache.reclaim(BYTES_PER_TOKEN)
    needed = (20 + 1) * BYTES_PER_TOKEN // LAYERS
    assert not cache.take_over(row, needed - 1)
    assert cache.take_over(row, needed)
    assert not cache.take_over(row, 10_000), "there is nothing before it"
    cache.close_row(row)


def test_long_parts_and_those_that_end_at_checkpoints_stay() -> None:
    tokens = [1 + n % 3 for n in range(MOST_TAKEN_OVER)]
    for num_tokens, taken in ((MOST_TAKEN_OVER - 1, True), (MOST_TAKEN_OVER, False)):
        cache = make_cache()
        run(cache, tokens[:num_tokens])
        row = cache.open_row([*tokens[:num_tokens], 9])
        compute(cache, row)
        assert cache.take_over(row, 1_000_000) is taken
        cache.close_row(row)
    cache = make_cache(recurrent=True)
    run(cache, tokens[:40])
    row = cache.open_row([*tokens[:40], 9])
    compute(cache, row)
    assert row.num_cached == 40
    assert not cache.take_over(row, 1_000_000)
    cache.close_row(row)


def test_an_answer_stays_an_answer() -> None:
    """Where only prompts are found again, what an answer computed is not taken over: what comes
    after it would count as one, too."""
    cache = make_cache(prefilled_only=True)
    first = cache.open_row([1, 2, 3, 4, 5, 6])
    compute(cache, first)
    first.tokens.append(7)
    compute(cache, first)
    cache.close_row(first)
    row = cache.open_row([1, 2, 3, 4, 5, 6, 9, 9])
    compute(cache, row)
    assert row.num_cached == 6
    assert not cache.take_over(row, 10_000)
    cache.close_row(row)


def test_the_loop_lets_whoever_is_alone_go_on_in_its_part() -> None:
    """From its second token on, if it has some way to go and nobody waits."""
    loop = SteppedLoop()
    tokens = list(range(1, 41))
    loop.serve(request("first", tokens, 1))
    alone = request("alone", [*tokens, 50], 40)
    loop.submit(alone)
    loop.step()
    row = loop.scheduler.get("alone").row
    assert row is not None
    assert len(row.hold.views) == 1
    loop.step()
    assert not row.hold.views
    loop.submit(request("other", [*tokens, 60], 40))
    loop.step()
    assert len(row.hold.views) == 1
    loop.finish_all()
    assert loop.tokens("alone") == expected_answer(alone.prompt.tokens, 40)


@pytest.mark.parametrize(("num_answer", "taken"), [(WORTH_TAKING_OVER, False), (40, True)])
def test_a_short_answer_is_not_worth_a_copy(num_answer: int, taken: bool) -> None:
    loop = SteppedLoop()
    tokens = list(range(1, 41))
    loop.serve(request("first", tokens, 1))
    loop.submit(request("then", [*tokens, 50], num_answer))
    loop.step()
    loop.step()
    row = loop.scheduler.get("then").row
    assert row is not None
    assert row.hold.views == [] if taken else len(row.hold.views) == 1


def test_what_was_hot_stays_hot_after_somebody_went_on_in_it() -> None:
    """A hot prefix and a cold answer are one part then: what is given up of it is the answer."""
    for reclaim in (
        lambda cache: cache.keep_hot(10.0),
        lambda cache: cache.reclaim(BYTES_PER_TOKEN),
    ):
        cache = make_cache()
        prefix = [1 + n % 7 for n in range(400)]
        run(cache, prefix)
        for n in range(3):
            run(cache, [*prefix, 50 + n])
        cache.reclaim(3 * BYTES_PER_TOKEN)
        row = cache.open_row([*prefix, *range(100, 140)])
        compute(cache, row)
        assert cache.take_over(row, 1_000_000)
        cache.close_row(row)
        assert len(cache.parts) == 1
        reclaim(cache)
        cache.check_integrity()
        assert cache.match([*prefix, 9]).num_tokens == 400


def test_a_tail_that_is_lost_takes_along_what_it_took_over() -> None:
    cache = make_cache()
    prefix = list(range(1, 21))
    run(cache, prefix)
    row = cache.open_row([*prefix, 30, 31])
    compute(cache, row)
    assert cache.take_over(row, 10_000)
    before, used = cache.given_back, cache.used_bytes
    cache.abandon_row(row)
    cache.check_integrity()
    assert cache.match(prefix).num_tokens == 0
    assert cache.used_bytes == 0
    assert cache.given_back - before == used, (
        "who looks whether a prefix is still there looks again"
    )


def test_what_cannot_be_joined_goes_on_in_pieces(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Alone or idle, joining is a favour: where the memory for it is not there, nothing is lost,
    and nobody tries again in every step."""
    tried = 0

    def fail(self: FakeStorage, other: FakeStorage) -> None:
        nonlocal tried
        tried += 1
        raise MemoryError

    monkeypatch.setattr(FakeStorage, "absorb", fail)
    loop = SteppedLoop()
    tokens = list(range(1, 41))
    loop.serve(request("first", tokens, 1))
    alone = request("alone", [*tokens, 50], 40)
    loop.serve(alone)
    assert tried == 1
    assert "Request alone goes on with its KV in two pieces." in caplog.text
    assert loop.tokens("alone") == expected_answer(alone.prompt.tokens, 40)
    for turn in range(9):
        tokens += [turn + 1] * 12
        loop.serve(request(f"turn {turn}", tokens, 1))
    parts, used = len(loop.cache.parts), loop.cache.used_bytes
    tried = 0
    loop.loop._tidy(queue.SimpleQueue())
    assert tried == 1
    loop.cache.check_integrity()
    assert (len(loop.cache.parts), loop.cache.used_bytes) == (parts, used)
