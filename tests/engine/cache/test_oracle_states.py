"""The oracle's rows of sections D, G, J and K that need no loop: full attention beside recurrent
layers, whose state is right at one position only.

The rows speak of state blocks that are copied. Here a state lies at the end of a sealed part, and
whoever goes on from there computes in a part of its own: nothing is ever copied or overwritten.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from engine.cache.convergence import at_states, converge, over_window, state_hit
from engine.cache.page import Page
from engine.cache.prefix_cache import PrefixCache
from engine.cache.row import Row
from tests.support.cache import compute, make_cache, run
from tests.support.fake_runner import (
    BYTES_PER_TOKEN,
    STATE_BYTES,
    FakeStorage,
    check_restorable,
    check_states,
)

SHARED = list(range(1, 33))


def prefill(cache: PrefixCache, tokens: Sequence[int], stops: Sequence[int] = ()) -> Row:
    """A row that computes a whole prompt and leaves checkpoints on the way."""
    row = cache.open_row(tokens, limit=len(tokens) - 1)
    for stop in stops:
        if stop > row.num_computed:
            compute(cache, row, stop - row.num_computed)
            cache.checkpoint(row)
    compute(cache, row)
    return row


def serve(cache: PrefixCache, tokens: Sequence[int], stops: Sequence[int] = ()) -> int:
    """A whole request without an answer. Returns the hit."""
    row = prefill(cache, tokens, stops)
    cache.close_row(row)
    cache.check_integrity()
    return row.num_cached


def found(cache: PrefixCache, prompts: Sequence[Sequence[int]]) -> list[int]:
    return [cache.match(prompt).num_tokens for prompt in prompts]


def states(cache: PrefixCache) -> list[int]:
    """Positions at which a state is kept."""
    return sorted(part.end for part in cache.parts if part.checkpoint is not None)


def last_use(cache: PrefixCache) -> dict[int, int]:
    """When each checkpoint was last used, by its position."""
    return {
        part.end: part.checkpoint.last_used for part in cache.parts if part.checkpoint is not None
    }


# Junctions


@pytest.mark.parametrize(
    ("pressure", "pinned", "third"), [(False, False, 32), (True, False, 0), (True, True, 32)]
)
def test_a_junction_survives_pressure_if_it_is_pinned_D4(
    pressure: bool, pinned: bool, third: int
) -> None:
    cache = make_cache(16, 16, recurrent=True)
    for n in range(2):
        serve(cache, [*SHARED, *[90 + n] * 16], stops=[32])
    if pinned:
        cache.hold(cache.match(SHARED), "pin", keep_checkpoint=True)
    if pressure:
        cache.reclaim(cache.used_bytes)
        cache.check_integrity()
    assert serve(cache, [*SHARED, *[99] * 16]) == third


def test_an_owner_goes_on_undisturbed_when_a_follower_takes_its_state_D13_D14_D17() -> None:
    """Pages of 4, hits on multiples of 2, the state after 6 tokens."""
    cache = make_cache(4, 2, recurrent=True)
    owner = cache.open_row([0, 0, 1, 1, 2, 2])
    compute(cache, owner)
    cache.checkpoint(owner)
    (sealed,) = (view.part for view in owner.hold.views)
    owner.tokens.append(3)

    follower = cache.open_row([0, 0, 1, 1, 2, 2, 4, 4], limit=7)
    assert (follower.num_cached, follower.hold.views[-1].part) == (6, sealed)
    assert owner.tail.pages == follower.tail.pages == {}
    assert states(cache) == [6], "nothing is known of either tail yet"

    before = (sealed.storage.state_bytes, sealed.storage.num_tokens)
    for _ in range(4):
        compute(cache, owner)
        compute(cache, follower)
        owner.tokens.append(5)
        follower.tokens.append(6)
        assert (sealed.storage.state_bytes, sealed.storage.num_tokens) == before
        cache.check_integrity()
    for row in (owner, follower):
        check_restorable(row)
        cache.close_row(row)
    match = cache.match([0, 0, 1, 1, 2, 2, 3, 5, 5, 5])
    check_states(match.views, [0, 0, 1, 1, 2, 2, 3, 5, 5, 5])
    assert cache.match([0, 0, 1, 1, 2, 2, 9, 9]).num_tokens == 6


def test_a_state_beyond_the_shared_tokens_is_no_hit_D20() -> None:
    """The owner has states at 6 and 8; of its tokens the request shares 6, then 7."""
    cache = make_cache(4, 2, recurrent=True)
    serve(cache, [*[7] * 6, 9, 8], stops=[6])
    assert states(cache) == [6, 8]
    for asked in ([*[7] * 6, 5, 5], [*[7] * 6, 9, 9], [*[7] * 6, 9]):
        match = cache.match(asked)
        assert match.num_tokens == 6
        check_states(match.views, asked[:6])


def test_three_kinds_of_layers_agree_on_one_length_D24() -> None:
    """The row's peer switches partial hits off here; the longest prefix on which all kinds of
    layers agree needs no such rule."""
    cache = make_cache(8, 2, windows=(4,), recurrent=True)
    prompt = list(range(1, 13))
    assert serve(cache, prompt) == 0
    assert serve(cache, [*prompt, 20, 21]) == 12


def test_one_kind_of_layers_can_send_another_further_back() -> None:
    """States at 4, 9 and 14; of a window that needs 3 tokens, [0, 5) and [12, 13) are there. 14
    fails the window, which could do 13 or 5; the next state is at 4, which both can do."""
    runs, positions = [(0, 5), (12, 13)], [4, 9, 14]
    groups = [over_window(runs, 3, 1), at_states(positions)]
    assert converge(groups, 20) == converge(reversed(groups), 20) == 4
    assert min(group(20) for group in groups) == 5, "the least of the separate answers is wrong"
    assert [state_hit(positions, n) for n in (3, 4, 13, 14, 99)] == [0, 4, 9, 14, 14]


# Pages and their names


def page_ends(cache: PrefixCache) -> list[int]:
    ends, stack = [], list(cache.roots.values())
    while stack:
        page = stack.pop()
        ends += [page.end] if page.parent else []
        stack.extend(page.children.values())
    return sorted(ends)


def full_pages(cache: PrefixCache) -> list[Page]:
    (root,) = cache.roots.values()
    chain = [root]
    while below := [page for page in chain[-1].children.values() if page.digest]:
        chain.append(below[0])
    return chain[1:]


def test_a_page_has_the_same_name_whatever_the_match_unit_D25() -> None:
    names = []
    for unit in (1, 2, 3, 6):
        cache = make_cache(6, unit)
        serve(cache, list(range(13)))
        names.append([page.digest for page in full_pages(cache)])
    assert len(names[0]) == 2
    assert all(other == names[0] for other in names)


def test_a_longer_partly_filled_page_takes_the_place_of_a_shorter_D26() -> None:
    cache = make_cache(6, 2)
    row = cache.open_row(list(range(10)))
    ends = []
    for _ in range(2):
        compute(cache, row, 8 if not row.num_computed else 2)
        cache.publish_partial(row)
        ends.append(page_ends(cache))
    assert ends == [[6, 8], [6, 10]]
    assert [cache.match(list(range(n))).num_tokens for n in (10, 9, 8)] == [10, 8, 8]


def test_a_hit_is_never_a_part_of_a_unit_D27() -> None:
    cache = make_cache(4, 2)
    serve(cache, [1, 2, 3])
    assert [cache.match([1, 2, 3, *more]).num_tokens for more in ([], [4], [9, 9])] == [2, 2, 2]


def test_a_page_that_fills_is_a_full_one_only_and_reset_forgets_it_D28() -> None:
    cache = make_cache(4, 2)
    row = cache.open_row([1, 2, 3, 4])
    compute(cache, row, 2)
    cache.publish_partial(row)
    assert (page_ends(cache), full_pages(cache)) == ([2], [])
    compute(cache, row)
    assert page_ends(cache) == [page.end for page in full_pages(cache)] == [4]
    cache.close_row(row)
    assert cache.clear()
    assert (cache.num_pages, cache.roots) == (0, {})


# Trees of states


INSERTED = [[1, 2, 3], [1, 2, 3, 4, 5, 6, 7], [10, 11, 12], [1, 2, 3, 4, 5, 60, 70]]
ASKED = [[1, 2, 3, 4, 5], INSERTED[3], INSERTED[1], INSERTED[2]]


def test_a_tree_of_states_has_none_where_its_edges_part_G7() -> None:
    """The row's inserts. [1..5] is known and parts two edges, but the next state is at 3. That one
    is worth most, since two stand on it, and can go while the ends stay."""
    cache = make_cache(1, 1, recurrent=True)
    assert [run(cache, tokens) for tokens in INSERTED] == [0, 3, 0, 3]
    left = [found(cache, ASKED)]
    for _ in range(4):
        cache.reclaim(1)
        cache.check_integrity()
        left.append(found(cache, ASKED))
    assert left == [
        [3, 7, 7, 3],
        [3, 7, 3, 3],
        [3, 7, 3, 0],
        [0, 7, 0, 0],
        [0, 0, 0, 0],
    ]


def test_a_tree_of_windows_G9() -> None:
    """Window 4, the same inserts. A split is found while the 3 tokens before it are there."""
    cache = make_cache(1, 1, windows=(4,))
    assert [run(cache, tokens) for tokens in INSERTED] == [0, 3, 0, 5]
    assert found(cache, ASKED) == [5, 7, 7, 3]
    given = cache.reclaim(1)
    cache.check_integrity()
    assert (given.num_pages, found(cache, ASKED)) == (0, [0, 7, 7, 3])
    match = cache.match(INSERTED[3])
    assert [(view.part.base, view.end) for view in match.views] == [(0, 3), (3, 5), (5, 7)]


def test_conversations_lose_their_ends_before_what_they_share_J5() -> None:
    """Five conversations on one beginning, room for four states; a row runs on the last."""
    cache = make_cache(16, 1, recurrent=True, most_checkpoint_bytes=4 * STATE_BYTES)
    shared = list(range(1, 21))
    prompts = [[*shared, *[100 + n] * 20] for n in range(5)]
    assert [serve(cache, prompt, stops=[20]) for prompt in prompts[:4]] == [0, 20, 20, 20]
    active = prefill(cache, prompts[4], stops=[20, 39])
    assert cache.checkpoint_bytes <= 4 * STATE_BYTES
    assert [view.end for view in active.hold.views] == [20, 39]
    check_restorable(active)
    assert found(cache, [[*shared, 9], *prompts]) == [20, 20, 20, 40, 40, 39]
    cache.close_row(active)
    cache.check_integrity()
    assert cache.match([*shared, 9]).num_tokens == 20


def test_where_several_prompts_part_is_given_up_last_J5() -> None:
    """Two rows run on a beginning that nobody has asked for since; four requests came after it."""
    cache = make_cache(16, 1, recurrent=True, most_checkpoint_bytes=3 * STATE_BYTES)
    shared = list(range(1, 21))
    serve(cache, shared)
    for n in range(2):
        prefill(cache, [*shared, *[100 + n] * 20])
    others = [[200 + n] * 20 for n in range(4)]
    for prompt in others:
        serve(cache, prompt)
    assert found(cache, [[*shared, 9], *others]) == [20, 0, 0, 20, 20]


def test_of_two_shared_beginnings_the_least_recently_used_goes_first_J5() -> None:
    cache = make_cache(1, 1, recurrent=True)
    trunks = [[1] * 20, [2] * 20]
    for trunk in trunks:
        for branch in (50, 51):
            prompt = [*trunk, *[branch] * 20]
            serve(cache, prompt, stops=[20])
            cache.hold(cache.match(prompt), "pin", keep_checkpoint=True)
    cache.release(cache.hold(cache.match(trunks[0]), "used last"))
    cache.reclaim(1)
    assert found(cache, trunks) == [20, 0]


@pytest.mark.parametrize("kinds", [{}, {"windows": (4,)}, {"recurrent": True}])
def test_an_explicit_checkpoint_is_taken_up_by_whoever_comes_by_J6(
    kinds: dict[str, object],
) -> None:
    cache = make_cache(16, 1, **kinds)  # type: ignore[arg-type]
    serve(cache, [1, 2, 3, 4, 5], stops=[4])
    assert cache.match([1, 2, 3, 4, 30, 31]).num_tokens == 4


def test_a_hit_refreshes_the_state_it_takes_and_none_before_it_J10() -> None:
    cache = make_cache(16, 1, recurrent=True)
    prompt = list(range(96))
    serve(cache, prompt, stops=[32, 64])
    before = last_use(cache)
    row = cache.open_row([*prompt[:64], 900, 901], limit=65)
    after = last_use(cache)
    assert row.num_cached == 64
    assert (after[32], after[96]) == (before[32], before[96])
    assert after[64] > max(before.values())
    cache.close_row(row)
    gone, kept = [], states(cache)
    while cache.reclaim(1).num_bytes:
        gone += sorted(set(kept) - set(states(cache)))
        kept = states(cache)
    assert gone == [32, 96, 64]


def test_a_cancelled_prefill_is_taken_up_where_it_stood_J11() -> None:
    """47 tokens in chunks of 9; cancelled after two, then after two more."""
    prompt = list(range(1, 48))
    cache = make_cache(16, 1, recurrent=True)

    def attempt(chunks: int) -> int:
        row = cache.open_row(prompt, limit=46)
        for _ in range(chunks):
            compute(cache, row, 9)
        cache.close_row(row)
        cache.check_integrity()
        return row.num_cached

    assert attempt(2) == 0
    other = [*prompt[:18], 900, 901]
    assert cache.match(prompt[:18], limit=17).num_tokens == 0, "its state is one token further"
    assert serve(cache, other) == 18
    assert [attempt(2), attempt(2), attempt(0)] == [18, 36, 36]


@pytest.mark.parametrize(("stops", "restored"), [([48, 80], 80), ([48], 48), ([], 0)])
def test_the_walk_goes_back_to_the_last_state_J20(stops: list[int], restored: int) -> None:
    """Six pages, A to F; states after C and E."""
    cache = make_cache(16, 16, recurrent=True)
    prompt = list(range(96))
    serve(cache, prompt, stops)
    match = cache.match(prompt, limit=95)
    assert (match.num_tokens, match.num_shared) == (restored, 95)
    check_states(match.views, prompt[:restored])


def test_a_chain_stays_whole_while_it_is_being_stored_J25() -> None:
    """Everything that nobody uses is asked back after each link; the row has to find its own."""
    cache = make_cache(4, 1, windows=(3,), recurrent=True)
    row = cache.open_row(list(range(60)))
    for _ in range(12):
        compute(cache, row, 5)
        cache.checkpoint(row)
        cache.reclaim(cache.used_bytes)
        cache.check_integrity()
        check_restorable(row)
    views = row.hold.views
    assert [view.end for view in views] == list(range(5, 61, 5))
    check_states(views, range(60))
    cache.close_row(row)
    ends = []
    while cache.reclaim(1).num_bytes:
        cache.check_integrity()
        assert all(part.parent is None or part.parent in cache.parts for part in cache.parts)
        ends.append(max((part.end for part in cache.parts), default=0))
    assert ends == sorted(ends, reverse=True), "a leaf goes before its root"
    assert cache.parts == set()


@pytest.mark.parametrize("most", [0, 2, 7])
def test_the_states_of_one_long_prompt_obey_the_limit_D32(most: int) -> None:
    cache = make_cache(16, 1, recurrent=True, most_checkpoint_bytes=most * STATE_BYTES)
    row = cache.open_row(list(range(1000)))
    live = []
    while row.num_uncomputed:
        compute(cache, row, 25)
        cache.checkpoint(row)
        kept = [part for part in cache.parts if part.storage.state_bytes]
        live.append(len(kept))
        assert cache.checkpoint_bytes == len(kept) * STATE_BYTES
    assert live == [min(n, most) for n in range(1, 41)]
    check_restorable(row)
    cache.close_row(row)
    cache.check_integrity()
    assert cache.used_bytes == 1000 * BYTES_PER_TOKEN + cache.checkpoint_bytes


def test_a_state_that_goes_leaves_what_stands_on_it_as_it_is_K22() -> None:
    cache = make_cache(16, 1, recurrent=True)
    prompt = list(range(64))
    serve(cache, prompt, stops=[32])
    before = last_use(cache)
    (middle,) = (part for part in cache.parts if part.end == 32)
    given = cache.reclaim(1)
    assert (given.num_bytes, given.num_pages, given.num_checkpoints) == (STATE_BYTES, 0, 1)
    assert last_use(cache) == {64: before[64]}
    assert cache.match(prompt).num_tokens == 64
    assert isinstance(middle.storage, FakeStorage)
    assert (middle.storage.num_tokens, middle.storage.state) == (32, None)
