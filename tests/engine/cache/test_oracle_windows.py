"""The oracle's rows of section C that need no loop: full attention beside sliding windows.

The rows speak of a list of window blocks with holes. Here a part keeps, of each group of sliding
layers, the last tokens before its own end: at least the `reach` = window - 1 tokens that the next
token sees. So a window can be whole at the end of a part, and hardly ever elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import mlx.core as mx
import pytest

from engine.cache.convergence import join_runs, window_hit
from engine.cache.prefix_cache import PrefixCache
from engine.cache.row import Row
from engine.model import window as window_module
from engine.model.window import JoinedWindow, WindowKV
from engine.request import Prompt
from engine.schedule.checkpoints import checkpoint_positions
from tests.support.cache import compute, make_cache
from tests.support.fake_runner import BYTES_PER_TOKEN, WINDOW_BYTES, WINDOW_SLACK

COMMON = [0] * 16 + [1] * 16 + [2] * 16
TWO_GROUPS = (32, 32)


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


def window_blocks(cache: PrefixCache, block: int, group: int = 0) -> set[int]:
    """Blocks of which some token is kept for a group of sliding layers."""
    return {
        token // block
        for part in cache.parts
        for token in range(part.end - part.storage.window_tokens(group), part.end)
    }


def test_every_group_keeps_its_own_and_a_page_has_one_name_C1() -> None:
    cache = make_cache(16, 16, windows=TWO_GROUPS)
    row = prefill(cache, [*COMMON, *[3] * 7], stops=[48])
    (sealed,) = {view.part for view in row.hold.views}
    assert (sealed.base, sealed.end, row.tail.end) == (0, 48, 55)
    assert [sealed.storage.window_tokens(group) for group in (0, 1)] == [31, 31]
    assert [row.tail.storage.window_tokens(group) for group in (0, 1)] == [7, 7]
    assert cache.num_pages == 3
    assert cache.used_bytes == 55 * BYTES_PER_TOKEN + 2 * (31 + 7) * WINDOW_BYTES


def test_a_second_request_shares_all_groups_of_a_running_one_C2() -> None:
    cache = make_cache(16, 16, windows=TWO_GROUPS)
    r0 = prefill(cache, [*COMMON, *[3] * 7], stops=[48])
    before = cache.used_bytes
    r1 = prefill(cache, [*COMMON, *[3] * 5])
    (shared,) = {view.part for view in r1.hold.views}
    assert (r1.num_cached, r1.tail.base, r1.tail.end) == (48, 48, 53)
    assert set(shared.holds) == {r0.hold, r1.hold}
    assert cache.used_bytes - before == 5 * (BYTES_PER_TOKEN + 2 * WINDOW_BYTES)
    cache.check_integrity()


def test_windows_outside_the_reach_of_a_hit_do_not_matter_C3() -> None:
    """They are also the first to go: nobody has asked for a hit that ends there."""
    cache = make_cache(16, 16, windows=TWO_GROUPS)
    serve(cache, COMMON, stops=[16])
    assert window_blocks(cache, 16) == {0, 1, 2}
    given = cache.reclaim(1)
    assert (given.num_bytes, given.num_pages) == (2 * 16 * WINDOW_BYTES, 0)
    assert window_blocks(cache, 16) == window_blocks(cache, 16, group=1) == {1, 2}
    assert cache.match(COMMON).num_tokens == 48
    assert serve(cache, [*COMMON, 3]) == 48


def test_windows_inside_the_reach_of_a_hit_do_matter() -> None:
    """The control of C3, and why windows do not go one by one: with one of a hit gone the others
    would serve nobody."""
    for group in (0, 1):
        cache = make_cache(16, 16, windows=TWO_GROUPS)
        serve(cache, COMMON, stops=[16])
        (last,) = (part for part in cache.parts if part.end == 48)
        last.storage.drop_window(group)
        assert cache.match(COMMON).num_tokens == 16


def test_full_attention_is_needed_from_the_first_token_C4() -> None:
    """Windows alone carry no hit: what gives up its full KV gives up its windows with it."""
    cache = make_cache(16, 16, windows=TWO_GROUPS)
    serve(cache, COMMON)
    cache.reclaim(1)
    cache.check_integrity()
    assert cache.match(COMMON).num_tokens == 0
    assert cache.checkpoint_bytes == 0


@pytest.mark.parametrize(
    ("row", "window", "block", "unit", "num_tokens", "spacing", "junction", "kept", "replayed"),
    [
        ("C12", 8, 8, 32, 64, 32, 0, {3, 7}, 32),
        ("C14", 8, 8, 32, 128, 64, 0, {7, 11, 15}, 96),
        ("C15", 8, 8, 32, 128, 1000, 0, {11, 15}, 96),
        ("C18, every 64", 16, 16, 16, 256, 64, 0, {3, 7, 11, 14, 15}, 240),
        ("C18, the latest", 16, 16, 16, 256, 1000, 0, {14, 15}, 240),
        ("C18, dense", 16, 16, 16, 256, 16, 0, set(range(16)), 240),
        ("C19, window 48", 48, 16, 16, 256, 1000, 96, {3, 4, 5, 12, 13, 14, 15}, 240),
        ("C19, window 16", 16, 16, 16, 256, 1000, 96, {5, 14, 15}, 240),
        ("C19, every 64", 16, 16, 16, 256, 64, 96, {3, 5, 7, 11, 14, 15}, 240),
    ],
)
def test_windows_are_kept_where_a_hit_can_end_C12_C14_C15_C18_C19(
    row: str,
    window: int,
    block: int,
    unit: int,
    num_tokens: int,
    spacing: int,
    junction: int,
    kept: set[int],
    replayed: int,
) -> None:
    """The rows' kept blocks, and always the end, from which the next turn goes on."""
    cache = make_cache(block, block, windows=(window,))
    tokens = list(range(num_tokens))
    stops = checkpoint_positions(
        Prompt(tuple(tokens)), num_cached=0, num_shared=junction, unit=unit, spacing=spacing
    )
    assert serve(cache, tokens, stops) == 0, row
    assert window_blocks(cache, block) == kept, row
    for part in cache.parts:
        least = min(window - 1, part.storage.num_tokens)
        assert least <= part.storage.window_tokens(0) <= window - 1 + WINDOW_SLACK
    assert serve(cache, tokens) == replayed, row


def test_a_prompt_that_ends_before_the_only_window_finds_nothing_C15() -> None:
    cache = make_cache(8, 1, windows=(8,))
    serve(cache, list(range(128)), stops=[96])
    assert cache.match(list(range(96)), limit=95).num_tokens == 0
    assert cache.match(list(range(97)), limit=96).num_tokens == 96


def test_what_no_hit_needs_is_not_kept_C20() -> None:
    """There is nothing to order: windows that serve no hit were shed while the row ran."""
    cache = make_cache(8, 1, windows=(8,))
    serve(cache, list(range(128)), stops=[32, 64, 96])
    assert cache.checkpoint_bytes == 4 * 7 * WINDOW_BYTES
    assert cache.used_bytes == 128 * BYTES_PER_TOKEN + cache.checkpoint_bytes
    hits = [cache.match(list(range(n))).num_tokens for n in (128, 127, 96, 95, 64, 33, 31)]
    assert hits == [128, 96, 96, 64, 64, 32, 0]


def test_what_can_serve_no_hit_goes_before_what_can_C20() -> None:
    cache = make_cache(16, 1, windows=TWO_GROUPS)
    serve(cache, COMMON, stops=[16])
    cache.reclaim(1)  # the windows at 16
    cache.reclaim(1)  # all that stood on them: [0, 16) is left, and no hit can end there
    assert cache.match(COMMON).num_tokens == 0
    useful = list(range(500, 540))
    serve(cache, useful)
    serve(cache, [*COMMON[:16], 7, 7])  # passes the tokens by, and refreshes their page
    cache.reclaim(1)
    assert cache.match(useful).num_tokens == 40


FLAGS = [
    ("C22", "F" * 10, 0),
    ("C23", "T", 1),
    ("C24", "TF", 1),
    ("C25", "TT", 2),
    ("C26", "TTF", 2),
    ("C27", "TTT", 3),
    ("C28", "TTTF", 3),
    ("C29", "TTFTFFTTFTTT", 12),
    ("C30", "TTFTFFTTFFF", 8),
    ("C31", "TTFTFFTTFFFT", 8),
]


@pytest.mark.parametrize(("row", "flags", "blocks"), FLAGS)
def test_window_hit_C22_C23_C24_C25_C26_C27_C28_C29_C30_C31(
    row: str, flags: str, blocks: int
) -> None:
    """Blocks of 2 tokens, a window of 4: the 3 tokens before a hit, or all down to the first."""
    runs = join_runs((2 * n, 2 * n + 2) for n, flag in enumerate(flags) if flag == "T")
    assert window_hit(runs, 3, 2, 2 * len(flags)) == 2 * blocks, row


def numbered(first: int, num_tokens: int) -> mx.array:
    """Keys or values of one head that tell their own position, [1, 1, tokens, 1]."""
    return mx.arange(first, first + num_tokens, dtype=mx.float32)[None, None, :, None]


def positions(array: mx.array) -> list[int]:
    return [int(n) for n in array.flatten().tolist()]  # type: ignore[union-attr, arg-type]


def test_what_lies_before_the_window_is_shed_C32(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of 2, window 4. With no slack, to the block what the row says."""
    monkeypatch.setattr(window_module, "WINDOW_SLACK_TOKENS", 0)
    kv = WindowKV(4)
    shed = []
    steps = [0, 4, 5, 6, 7, 11]
    for before, now in pairwise(steps):
        kv.update_and_fetch(numbered(before, now - before), numbered(-before, now - before))
        assert kv.shed()
        shed.append((now - kv.num_tokens) // 2)
        assert positions(kv.read(0, 3)[0]) == [now - 3, now - 2, now - 1]
    assert shed == [0, 1, 1, 2, 4]


def test_shedding_waits_until_it_is_worth_a_copy_C32() -> None:
    kv = WindowKV(4)
    kv.update_and_fetch(numbered(0, 259), numbered(0, 259))
    assert (kv.shed(), kv.num_tokens) == (False, 259)
    before = kv.nbytes
    kv.update_and_fetch(numbered(259, 1), numbered(259, 1))
    assert (kv.shed(), kv.num_tokens) == (True, 3)
    assert [positions(array) for array in kv.read(0, 3)] == [[257, 258, 259]] * 2
    assert kv.nbytes == 2 * 3 * 4 < before


def test_a_chunk_of_any_length_sees_the_window_in_order_J15() -> None:
    """Window 4, past the point at which a ring would wrap: three tokens before each chunk, then the
    chunk, and no stale slot after a part was ended and taken up again."""
    kv = WindowKV(4)
    joined = JoinedWindow(0, (), kv)
    at = 0
    for num_tokens in (3, 1, 1, 1, 1, 5, 300, 2):
        keys, values = joined.update_and_fetch(numbered(at, num_tokens), numbered(at, num_tokens))
        seen = list(range(max(0, at - 3), at + num_tokens))
        assert positions(keys) == positions(values) == seen
        kv.shed()
        at += num_tokens

    held = kv.num_tokens
    prefix = kv.read(held - 3, held)
    follower = JoinedWindow(at, [prefix], WindowKV(4))
    for step, num_tokens in enumerate((2, 1, 4)):
        keys, _ = follower.update_and_fetch(numbered(at, num_tokens), numbered(at, num_tokens))
        assert positions(keys) == list(range(at - 3, at + num_tokens)), step
        at += num_tokens


def test_only_windows_within_reach_are_paid_for_C35() -> None:
    """A hit of 10 pages that nobody holds costs all of its full KV, and of the windows those that
    it sees, which are in the price of a row; of a held one nothing."""
    cache = make_cache(16, 16, windows=(32,))
    tokens = list(range(320))
    serve(cache, tokens[:160], stops=[80])
    assert [part.storage.window_tokens(0) for part in cache.parts] == [31, 31]
    match = cache.match(tokens)
    assert match.num_tokens == 160
    assert cache.newly_held_bytes(match) == 160 * BYTES_PER_TOKEN
    held = cache.held_bytes()
    hold = cache.hold(match, "pin")
    assert cache.held_bytes() - held == 160 * BYTES_PER_TOKEN + 31 * WINDOW_BYTES
    assert cache.newly_held_bytes(cache.match(tokens)) == 0
    cache.release(hold)


def test_a_prefix_shorter_than_what_is_asked_is_taken_C39() -> None:
    """Windows are restored and not computed again, so no hit is too short to be worth it."""
    cache = make_cache(16, 16, windows=(32,))
    serve(cache, list(range(32)))
    assert serve(cache, list(range(100))) == 32
