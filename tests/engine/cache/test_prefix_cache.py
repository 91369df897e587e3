"""The prefix cache, rule by rule: what is found, when, by whom, and what it costs."""

from __future__ import annotations

import pytest

from engine.cache.page import Page
from engine.cache.part import Part
from engine.cache.prefix_cache import PrefixCache, tokens_of
from engine.cache.row import Row
from engine.errors import ConfigError
from tests.support.cache import compute, make_cache, run
from tests.support.fake_runner import BYTES_PER_TOKEN, FakeStorage, check_states

PROMPT = list(range(1, 41))  # two pages of 16 and 8 tokens more


def tokens_used(cache: PrefixCache) -> int:
    return cache.used_bytes // BYTES_PER_TOKEN


def hit(cache: PrefixCache, tokens: list[int], salt: str = "") -> int:
    return cache.match(tokens, salt=salt).num_tokens


def chain_of(page: Page) -> list[Page]:
    """Pages from the first to this one."""
    pages: list[Page] = []
    while page.parent is not None:
        pages.append(page)
        page = page.parent
    return pages[::-1]


def spans(cache: PrefixCache) -> list[tuple[int, int]]:
    return sorted((part.base, part.end) for part in cache.parts)


# Finding


@pytest.mark.parametrize(("unit", "found"), [(1, 39), (2, 38), (4, 36), (8, 32), (16, 32)])
def test_a_hit_ends_on_a_multiple_of_the_match_unit(unit: int, found: int) -> None:
    cache = make_cache(16, unit)
    run(cache, PROMPT)
    match = cache.match(PROMPT, limit=39)
    assert match.num_tokens == found
    assert match.node.end == 32
    check_states(match.views, PROMPT[:found])


@pytest.mark.parametrize(("page", "unit"), [(0, 1), (-1, 1), (16, 0), (16, -1), (16, 3), (8, 16)])
def test_pages_and_units_that_cannot_work_are_refused(page: int, unit: int) -> None:
    with pytest.raises(ConfigError, match=f"match unit of {unit} does not divide pages of {page}"):
        make_cache(page, unit)


@pytest.mark.parametrize("limit", [0, 1, 15, 16, 17, 31, 32, 40, 99])
def test_a_hit_never_passes_its_limit(limit: int) -> None:
    cache = make_cache()
    run(cache, PROMPT)
    match = cache.match(PROMPT, limit=limit)
    assert match.num_tokens == min(limit, 40)
    check_states(match.views, PROMPT[: match.num_tokens])


def test_matching_changes_nothing() -> None:
    cache = make_cache()
    row = cache.open_row(PROMPT)
    compute(cache, row)
    pages = chain_of(row.node)
    before = [(page.last_used, page.hits) for page in pages]
    assert cache.match(PROMPT).num_tokens == 32
    assert cache.match(PROMPT, salt="never seen").num_tokens == 0
    assert [(page.last_used, page.hits) for page in pages] == before
    assert (len(cache.roots), row.tail.open) == (1, True)


def test_a_hit_ends_where_the_tokens_part_inside_a_page() -> None:
    cache = make_cache()
    run(cache, PROMPT)
    for same in (1, 15, 16, 17, 30, 33, 39):
        other = [*PROMPT[:same], 999, *PROMPT[same + 1 :]]
        match = cache.match(other)
        assert match.num_tokens == same
        check_states(match.views, other[:same])


def test_among_siblings_the_one_that_agrees_longest_is_taken() -> None:
    cache = make_cache(page_tokens=8)
    for tail in ([5, 5, 5], [5, 5, 6], [5, 7, 7]):
        run(cache, [1, 2, 3, 4, 5, *tail])
    assert hit(cache, [1, 2, 3, 4, 5, 5, 6, 9]) == 6
    assert hit(cache, [1, 2, 3, 4, 5, 5, 5, 9]) == 7
    assert hit(cache, [1, 2, 3, 4, 5, 5, 7, 9]) == 7
    assert hit(cache, [1, 2, 3, 4, 9]) == 4


def test_a_disabled_cache_finds_nothing_and_keeps_nothing() -> None:
    cache = make_cache(enabled=False)
    row = cache.open_row(PROMPT)
    compute(cache, row)
    assert (cache.num_pages, tokens_used(cache)) == (0, 40)
    other = cache.open_row(PROMPT)
    assert other.num_cached == 0
    for open_row in (row, other):
        cache.close_row(open_row)
    assert (tokens_used(cache), cache.parts, cache.roots) == (0, set(), {})


# Publishing


def test_a_page_is_findable_from_the_step_that_computed_its_last_token() -> None:
    cache = make_cache()
    row = cache.open_row(PROMPT)
    found = []
    for num_tokens in (10, 5, 1, 16, 8):
        compute(cache, row, num_tokens)
        found.append(hit(cache, PROMPT))
    assert found == [0, 0, 16, 32, 32]
    cache.publish_partial(row)
    assert hit(cache, PROMPT) == 40


def test_computed_but_unpublished_tokens_are_not_found() -> None:
    """A step that fails after writing KV publishes nothing (S0-5)."""
    cache = make_cache()
    row = cache.open_row(PROMPT)
    assert isinstance(row.tail.storage, FakeStorage)
    row.tail.storage.append(range(40))
    assert hit(cache, PROMPT) == 0
    assert cache.num_pages == 0


def test_full_pages_have_digests_partly_filled_ones_have_none() -> None:
    cache = make_cache()
    row = cache.open_row(PROMPT)
    compute(cache, row)
    last = cache.publish_partial(row)
    pages = chain_of(last)
    assert [(page.start, page.end, page.digest is not None) for page in pages] == [
        (0, 16, True),
        (16, 32, True),
        (32, 40, False),
    ]
    assert list(tokens_of(pages)) == PROMPT


def test_a_partly_filled_page_gives_way_to_the_longer_one_of_the_same_owner() -> None:
    cache = make_cache()
    row = cache.open_row(PROMPT)
    compute(cache, row, 34)
    cache.publish_partial(row)
    assert (cache.num_pages, hit(cache, PROMPT)) == (3, 34)
    compute(cache, row)
    cache.publish_partial(row)
    assert (cache.num_pages, hit(cache, PROMPT)) == (3, 40)
    row.tokens.extend(range(41, 49))
    compute(cache, row)
    assert (cache.num_pages, hit(cache, list(range(1, 49)))) == (3, 48)
    assert [page.digest is not None for page in chain_of(row.node)] == [True] * 3


def test_publishing_again_changes_nothing() -> None:
    cache = make_cache()
    row = cache.open_row(PROMPT)
    compute(cache, row)
    last = cache.publish_partial(row)
    assert cache.publish_partial(row) is last
    cache.publish(row)
    assert cache.num_pages == 3


def test_two_cold_rows_of_the_same_tokens_make_one_index_and_the_copy_goes_with_its_row() -> None:
    cache = make_cache()
    first, second = cache.open_row(PROMPT), cache.open_row(PROMPT)
    for row in (first, second):
        compute(cache, row)
    assert (first.num_cached, second.num_cached) == (0, 0)
    assert (cache.num_pages, tokens_used(cache)) == (2, 80)
    assert second.node is first.node
    for row in (first, second):
        cache.close_row(row)
    assert (cache.num_pages, tokens_used(cache)) == (3, 40)


def test_a_row_whose_pages_were_evicted_from_the_copy_of_another_finds_its_own_place_again() -> (
    None
):
    cache = make_cache()
    first, second = cache.open_row(PROMPT), cache.open_row(PROMPT)
    compute(cache, first)
    cache.close_row(first)
    compute(cache, second, 32)
    assert second.node.part is not second.tail
    assert cache.reclaim(10_000).num_pages == 3
    assert (cache.num_pages, hit(cache, PROMPT)) == (0, 0)
    compute(cache, second)
    cache.publish_partial(second)
    assert (cache.num_pages, hit(cache, PROMPT)) == (3, 40)
    check_states(cache.match(PROMPT).views, PROMPT)


# Sharing


def test_a_follower_seals_the_leaders_tail_and_copies_nothing() -> None:
    cache = make_cache()
    leader = cache.open_row(PROMPT)
    compute(cache, leader, 36)
    sealed = leader.tail
    before = tokens_used(cache)
    follower = cache.open_row([*PROMPT[:20], 900, 901])
    assert (follower.num_cached, tokens_used(cache)) == (20, before)
    assert isinstance(sealed.storage, FakeStorage)
    assert (sealed.open, sealed.storage.sealed) == (False, True)
    assert (leader.tail.base, follower.tail.base) == (36, 20)
    assert leader.num_computed == 36
    assert {hold.views[0].end for hold in sealed.holds} == {20, 36}
    compute(cache, leader)
    compute(cache, follower)
    check_states([*leader.hold.views, *leader.tail.chain(40)[1:]], PROMPT)
    assert tokens_used(cache) == 36 + 4 + 2


def test_a_hit_on_sealed_parts_seals_nobody() -> None:
    cache = make_cache()
    run(cache, PROMPT)
    rows = [cache.open_row(PROMPT, limit=39) for _ in range(5)]
    assert [row.num_cached for row in rows] == [39] * 5
    assert spans(cache) == [(0, 40), *[(39, 39)] * 5]
    assert tokens_used(cache) == 40


def test_holding_a_match_costs_what_was_foretold() -> None:
    cache = make_cache()
    run(cache, PROMPT)
    run(cache, [*PROMPT[:20], 900, 901, 902])
    expected = [("short", 10, 10), ("long", 30, 20), ("same again", 30, 0), ("shorter", 5, 0)]
    for owner, num_tokens, new in expected:
        match = cache.match(PROMPT[:num_tokens])
        held = cache.held_bytes()
        assert cache.newly_held_bytes(match) == new * BYTES_PER_TOKEN, owner
        cache.hold(match, owner)
        assert cache.held_bytes() == held + new * BYTES_PER_TOKEN
    branch = cache.match([*PROMPT[:20], 900, 901])
    assert [(view.part.base, view.end) for view in branch.views] == [(0, 20), (20, 22)]
    assert cache.newly_held_bytes(branch) == 2 * BYTES_PER_TOKEN


def test_held_bytes_counts_open_tails_as_allocated_and_sealed_tokens_as_used() -> None:
    cache = make_cache(step=8)
    row = cache.open_row(PROMPT)
    compute(cache, row, 17)
    assert (cache.held_bytes(), cache.open_bytes) == (240, 240)
    pin = cache.hold(cache.match(PROMPT), "pin")
    assert (cache.used_bytes, cache.held_bytes(), cache.open_bytes) == (240, 170, 0)
    mine = cache.bytes_held_by([pin])
    assert mine == 160


def test_a_hit_counts_for_every_page_it_used() -> None:
    cache = make_cache()
    run(cache, PROMPT)
    run(cache, [*PROMPT[:20], 900])
    run(cache, [*PROMPT[:35], 900])
    pages = chain_of(cache.match(PROMPT).last)
    assert [page.hits for page in pages] == [2, 2, 1]


# Ending


def test_what_a_row_computed_stays_findable_after_it() -> None:
    cache = make_cache()
    assert run(cache, PROMPT, answer=[70, 71, 72]) == 0
    assert hit(cache, [*PROMPT, 70, 71, 72]) == 42, "the last token is never computed"
    assert cache.held_bytes() == 0
    assert tokens_used(cache) == 42


def test_a_row_that_computed_nothing_leaves_nothing() -> None:
    cache = make_cache()
    row = cache.open_row(PROMPT, salt="guest")
    assert len(cache.roots) == 1
    cache.close_row(row)
    assert (cache.roots, cache.parts, cache.rows) == ({}, set(), {})


def test_a_released_hold_lets_go_of_nothing_that_is_findable() -> None:
    cache = make_cache()
    run(cache, PROMPT)
    hold = cache.hold(cache.match(PROMPT), "pin")
    assert cache.held_bytes() == 40 * BYTES_PER_TOKEN
    cache.release(hold)
    assert (cache.held_bytes(), tokens_used(cache), hit(cache, PROMPT)) == (0, 40, 40)


@pytest.mark.parametrize("salts", [("a", "b"), ("", "a")])
def test_salts_share_nothing_and_leave_no_root_behind(salts: tuple[str, str]) -> None:
    cache = make_cache()
    for salt in salts:
        assert run(cache, PROMPT, salt=salt) == 0
    assert [hit(cache, PROMPT, salt) for salt in (*salts, "c")] == [40, 40, 0]
    assert tokens_used(cache) == 80
    assert cache.clear()
    assert (cache.roots, cache.num_pages, tokens_used(cache)) == ({}, 0, 0)


# Integrity of use


def test_rows_run_on_while_everything_around_them_is_evicted() -> None:
    cache = make_cache(step=8)
    run(cache, PROMPT)
    row: Row = cache.open_row([*PROMPT[:30], *range(500, 530)])
    stands_on: Part = row.hold.views[0].part
    for _ in range(6):
        compute(cache, row, 5)
        cache.reclaim(10_000)
        check_states(
            [*row.hold.views, *row.tail.chain(row.num_computed)[1:]],
            list(row.tokens)[: row.num_computed],
        )
    assert (stands_on.end, cache.used_bytes) == (30, cache.held_bytes())


def test_a_page_taken_from_an_answer_is_not_taken_for_a_prompts() -> None:
    """With `prefilled_only`: another prompt computed a page that an answer had, and is evicted;
    what is left of it is the answer's again."""
    cache = make_cache(prefilled_only=True)
    tokens = list(range(1, 81))
    answering = cache.open_row(tokens[:32])
    compute(cache, answering)
    for token in tokens[32:]:
        answering.tokens.append(token)
        compute(cache, answering)
    assert cache.match(tokens).num_tokens == 32
    asking = cache.open_row(tokens[:48], limit=47)
    assert asking.num_cached == 32
    compute(cache, asking)
    cache.close_row(asking)
    assert cache.match(tokens).num_tokens == 48
    cache.reclaim(16 * BYTES_PER_TOKEN)
    cache.check_integrity()
    assert cache.match(tokens).num_tokens == 32
