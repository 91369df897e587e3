"""What goes first when memory is short, and what never goes.

The oracle rows B1, B3, B4, A3, A5, A7, I4 order a queue of free blocks. Here there is no such
queue: KV that nobody uses stays where it lies until its memory is wanted. What those rows are for
is the order in which memory is given back: first what nobody can find, then the least recently
used, ends before beginnings.
"""

from __future__ import annotations

import pytest

from engine.cache.cost import KVCost
from engine.cache.eviction import Group, Loss, Rank
from engine.cache.kept import Kept
from engine.cache.page import Page
from engine.cache.prefix_cache import PrefixCache
from tests.support.cache import IDENTITY, compute, make_cache, run
from tests.support.fake_runner import BYTES_PER_TOKEN, FakeStorage, check_states

PROMPT = list(range(1, 65))  # four pages


def reclaim(cache: PrefixCache, num_tokens: int) -> tuple[int, int]:
    """Tokens and pages that were given back."""
    given = cache.reclaim(num_tokens * BYTES_PER_TOKEN)
    cache.check_integrity()
    assert given.num_bytes % BYTES_PER_TOKEN == 0
    return given.num_bytes // BYTES_PER_TOKEN, given.num_pages


def hit(cache: PrefixCache, tokens: list[int]) -> int:
    match = cache.match(tokens)
    check_states(match.views, tokens[: match.num_tokens])
    return match.num_tokens


def test_the_end_of_a_prefix_goes_before_its_beginning_I4() -> None:
    cache = make_cache(match_unit=16)
    run(cache, PROMPT)
    left = []
    for _ in range(4):
        assert reclaim(cache, 16) == (16, 1)
        left.append(hit(cache, PROMPT))
    assert left == [48, 32, 16, 0]
    assert (cache.parts, cache.roots) == (set(), {})


def test_the_least_recently_used_prefix_goes_first_A3_A5() -> None:
    cache = make_cache()
    prompts = {
        name: [base + n for n in range(40)] for name, base in (("a", 100), ("b", 200), ("c", 300))
    }
    for name in "abca":  # "a" is used again: it is the youngest now
        run(cache, prompts[name])
    order = []
    while cache.num_pages:
        reclaim(cache, 40)
        order.append("".join(name for name in "abc" if hit(cache, prompts[name])))
    assert order == ["ac", "a", ""]


def test_what_nobody_can_find_goes_before_anything_findable_B1_B3() -> None:
    """With hits on whole pages only, the tokens after a row's last full page serve nobody."""
    cache = make_cache(match_unit=16)
    old, young = list(range(100, 116)), [*range(200, 216), 1, 2, 3]
    run(cache, old)
    run(cache, young)
    assert reclaim(cache, 3) == (3, 0)
    assert (hit(cache, old), hit(cache, young)) == (16, 16)
    assert reclaim(cache, 1) == (16, 1)
    assert (hit(cache, old), hit(cache, young)) == (0, 16)


def test_empty_memory_of_sealed_parts_goes_before_anything_findable_B4() -> None:
    """Storages grow by 256 tokens; ended requests of a few tokens leave most of theirs empty."""
    cache = make_cache(step=256)
    run(cache, PROMPT)
    asked = [[*PROMPT, 900 + n, *range(10)] for n in range(8)]
    for tokens in asked:
        run(cache, tokens)
    filled = 64 + 8 * 11
    assert cache.used_bytes == 9 * 256 * BYTES_PER_TOKEN
    given, pages = reclaim(cache, 1000)
    assert (given >= 1000, pages) == (True, 0)
    given, pages = reclaim(cache, cache.used_bytes // BYTES_PER_TOKEN - filled)
    assert (cache.used_bytes, pages) == (filled * BYTES_PER_TOKEN, 0)
    assert [hit(cache, tokens) for tokens in asked] == [75] * 8


def test_no_more_than_asked_is_given_from_pages_that_are_worth_more_than_others() -> None:
    cache = make_cache(match_unit=16)
    run(cache, PROMPT)
    younger = [n + 1000 for n in PROMPT]
    run(cache, younger)
    assert reclaim(cache, 17) == (32, 2), "whole pages"
    assert (hit(cache, PROMPT), hit(cache, younger)) == (32, 64)


def test_a_large_part_is_cut_a_quarter_at_a_time_because_a_cut_copies_the_rest() -> None:
    cache = make_cache(match_unit=16)
    long = list(range(1, 1 + 64 * 16))
    run(cache, long)
    assert reclaim(cache, 16) == (256, 16)
    assert hit(cache, long) == 48 * 16


def test_a_branch_goes_before_what_it_stands_on() -> None:
    """The trunk is older than its branches and goes last: nothing outlives what it stands on."""
    cache = make_cache()
    run(cache, PROMPT)
    branches = [[*PROMPT[:50], 900 + n, *range(700, 720)] for n in range(3)]
    for branch in branches:
        run(cache, branch)
    left = []
    while cache.num_pages:
        reclaim(cache, 1)
        left.append([hit(cache, tokens) for tokens in (PROMPT, *branches)])
    assert left == [
        [64, 64, 71, 71],
        [64, 50, 71, 71],
        [64, 50, 64, 71],
        [64, 50, 50, 71],
        [50, 50, 50, 71],  # the trunk's own end was last used by the third branch
        [50, 50, 50, 64],
        [50, 50, 50, 50],
        [32, 32, 32, 32],
        [16, 16, 16, 16],
        [0, 0, 0, 0],
    ]
    assert cache.parts == set()


def test_what_is_held_stays_to_the_token() -> None:
    cache = make_cache()
    run(cache, PROMPT)
    hold = cache.hold(cache.match(PROMPT[:37]), "pin")
    assert reclaim(cache, 10_000) == (27, 2)
    assert (hit(cache, PROMPT), cache.used_bytes, cache.held_bytes()) == (37, 370, 370)
    assert reclaim(cache, 1) == (0, 0)
    cache.release(hold)
    assert reclaim(cache, 10_000) == (37, 3)


def test_whole_pages_only_leave_the_held_tokens_of_a_broken_page_in_place() -> None:
    cache = make_cache(match_unit=16)
    row = cache.open_row(PROMPT)
    compute(cache, row, 20)
    follower = cache.open_row(PROMPT)
    assert (follower.num_cached, row.tail.base) == (16, 20)
    cache.close_row(follower)
    assert reclaim(cache, 10_000) == (0, 0), "the row itself stands on its first 20 tokens"
    compute(cache, row)
    assert hit(cache, PROMPT) == 64


def test_giving_back_stops_when_there_is_nothing_left() -> None:
    cache = make_cache()
    run(cache, PROMPT)
    assert reclaim(cache, 65) == (64, 4)
    assert reclaim(cache, 1) == (0, 0)


def test_reset_is_refused_while_a_row_runs_and_spares_what_is_held() -> None:
    cache = make_cache()
    run(cache, PROMPT)
    row = cache.open_row([1, 2, 3])
    assert not cache.clear()
    assert hit(cache, PROMPT) == 64
    cache.close_row(row)
    pin = cache.hold(cache.match(PROMPT[:20]), "pin")
    assert cache.clear()
    assert (hit(cache, PROMPT), cache.used_bytes) == (20, 200)
    cache.release(pin)
    assert cache.clear()
    assert (cache.used_bytes, cache.num_pages, cache.roots) == (0, 0, {})


class FavourEven:
    """A policy of another kind: pages whose first token is even are worth more."""

    def price(self, loss: Loss) -> float:
        return 0.0

    def rank(self, kept: Kept, price: float, *, over_share: bool) -> Rank:
        assert isinstance(kept, Page)
        return Rank(Group.FAIR, kept.key[0] % 2 == 0)


def test_another_policy_may_rank_otherwise() -> None:
    cache = PrefixCache(
        IDENTITY,
        lambda: FakeStorage(1),
        cost=KVCost(BYTES_PER_TOKEN),
        page_tokens=4,
        policy=FavourEven(),
    )
    even, odd = [2, 4, 6, 8], [1, 3, 5, 7]
    run(cache, even)
    run(cache, odd)
    assert reclaim(cache, 1) == (4, 1)
    assert (hit(cache, even), hit(cache, odd)) == (4, 0)


# What a cut must not leave behind


def test_a_cut_keeps_all_of_a_page_that_stays() -> None:
    """Two pages of one part may begin at the same token; a cut between them spares the one kept."""
    cache = make_cache(page_tokens=4)
    trunk = list(range(1, 16))
    run(cache, trunk)
    child = cache.open_row([*trunk[:13], 90])
    compute(cache, child)
    quiet = cache.open_row(trunk[:14], limit=13)
    cache.close_row(child)
    cache.close_row(quiet)
    reclaim(cache, 2)
    assert 12 <= hit(cache, trunk) <= 13


@pytest.mark.parametrize("step", [1, 8])
def test_a_cut_leaves_no_tokens_that_nobody_can_find(step: int) -> None:
    """A part whose remaining pages belong to another copy of the same tokens goes as a whole."""
    cache = make_cache(page_tokens=4, match_unit=4, step=step)
    first, copy = cache.open_row([1, 2, 3, 4]), cache.open_row([1, 2, 3, 4, 5, 6, 7, 8])
    compute(cache, first)
    compute(cache, copy)
    cache.close_row(copy)
    cache.close_row(first)
    reclaim(cache, 4)
    assert hit(cache, [1, 2, 3, 4]) == 4


def test_giving_back_reaches_all_that_a_dropped_part_stood_on() -> None:
    """A part that only carried another goes with it; what both stood on is free to go then, too."""
    cache = make_cache(page_tokens=4)
    tokens = list(range(1, 13))
    twin = cache.open_row([*tokens[:8], 50, 51, 52, 53])
    run(cache, tokens[:6])
    carrier = cache.open_row(tokens[:7])
    compute(cache, carrier)
    cache.publish_partial(carrier)
    last = cache.open_row(tokens)
    assert last.num_cached == 7
    for row in (last, twin):
        compute(cache, row)
    for row in (carrier, last, twin):
        cache.close_row(row)
    assert reclaim(cache, 10_000)[0] == 24
    assert (cache.parts, cache.num_pages) == (set(), 0)


def test_what_is_held_stays_findable_when_another_copy_of_it_is_cut() -> None:
    """Two parts hold the same first token; the one in use must stay in the index."""
    cache = make_cache(page_tokens=4)
    run(cache, [1, 2])
    cache.hold(cache.match([1]), "pin")
    twin = cache.open_row([1, 1, 3, 2], limit=0)
    compute(cache, twin)
    reclaim(cache, 1)
    cache.close_row(twin)
    run(cache, [1, 2])
    reclaim(cache, 5)
    assert hit(cache, [1]) == 1


def test_what_is_held_stays_findable_when_its_page_moved_to_another_copy() -> None:
    cache = make_cache(page_tokens=4)
    tokens = list(range(1, 11))
    longer, first = cache.open_row(tokens), cache.open_row(tokens[:9])
    compute(cache, first)
    cache.close_row(first)
    compute(cache, longer)
    cache.close_row(longer)
    cache.hold(cache.match(tokens[:6]), "pin")
    reclaim(cache, 10_000)
    assert hit(cache, tokens[:6]) == 6
