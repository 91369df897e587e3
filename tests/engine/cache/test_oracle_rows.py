"""The oracle's rows of sections A, B and I, for one full-attention group, a test a row.

The rows speak of blocks with ids from a pool; here there are pages (index entries), parts (where KV
lies), rows (running requests) and holds. "10 free blocks of 16" is a budget of 160 tokens. Numbers
of whole pages come from a cache whose match unit is the page; token-granular numbers stand beside
them.

ORACLES.md says what became of every row.
"""

from __future__ import annotations

import pytest

from engine.cache.identity import page_digest
from engine.cache.page import Page
from engine.cache.prefix_cache import PrefixCache
from engine.config import Release
from engine.request import Request
from engine.schedule.admission import GROWTH_SLACK_TOKENS, Admission
from engine.schedule.job import Job
from tests.support.cache import compute, make_cache, run
from tests.support.engine import request
from tests.support.fake_runner import BYTES_PER_TOKEN, check_states
from tests.support.stepping import SteppedLoop

COMMON = [0] * 16 + [1] * 16 + [2] * 16
POOL = 160  # tokens
PAGE, TOKEN = 16, 1
BOTH_UNITS = pytest.mark.parametrize("unit", [PAGE, TOKEN])


def used(cache: PrefixCache) -> int:
    return cache.used_bytes // BYTES_PER_TOKEN


def free_pages(cache: PrefixCache) -> int:
    """Whole pages that would still fit the pool if every part took whole pages."""
    return (POOL - sum(-(-part.storage.num_tokens // 16) * 16 for part in cache.parts)) // 16


def pages(cache: PrefixCache) -> list[Page]:
    found, stack = [], list(cache.roots.values())
    while stack:
        page = stack.pop()
        stack.extend(page.children.values())
        found += [page] if page.parent else []
    return sorted(found, key=lambda page: page.end)


def make_room(cache: PrefixCache, num_tokens: int) -> None:
    cache.reclaim(cache.used_bytes + (num_tokens - POOL) * BYTES_PER_TOKEN)


@BOTH_UNITS
def test_a_cold_prompt_makes_full_pages_named_in_a_chain_A1(unit: int) -> None:
    cache = make_cache(16, unit)
    r0 = cache.open_row([*COMMON, *[3] * 7], limit=54)
    compute(cache, r0)
    digest = r0.root.digest
    assert (r0.num_cached, used(cache), cache.num_pages, free_pages(cache)) == (0, 55, 3, 6)
    for page in pages(cache):
        assert digest is not None
        digest = page_digest(digest, page.key)
        assert (page.digest, page.part) == (digest, r0.tail)
    assert (r0.tail.open, r0.tail.holds) == (True, {}), "used by its owner alone"


@pytest.mark.parametrize(("unit", "hit"), [(PAGE, 48), (TOKEN, 52)])
def test_a_second_request_shares_the_pages_of_a_running_one_A2(unit: int, hit: int) -> None:
    cache = make_cache(16, unit)
    r0 = cache.open_row([*COMMON, *[3] * 7], limit=54)
    compute(cache, r0)
    cache.publish_partial(r0)  # as at its first token
    r1 = cache.open_row([*COMMON, *[3] * 5], limit=52)
    compute(cache, r1)
    shared = r1.hold.views[0].part
    assert (r1.num_cached, used(cache)) == (hit, 55 + 53 - hit)
    assert sorted(shared.holds.values()) == [hit, 55], "two rows stand on it"
    assert all(page.part is shared for page in pages(cache) if page.end <= 48)
    assert free_pages(cache) == 5


@pytest.mark.parametrize(("unit", "hit"), [(PAGE, 48), (TOKEN, 53)])
def test_pages_of_ended_requests_are_found_and_used_where_they_lie_A4(unit: int, hit: int) -> None:
    cache = make_cache(16, unit)
    run(cache, [*COMMON, *[3] * 7])
    run(cache, [*COMMON, *[3] * 5])
    before = used(cache)
    r2 = cache.open_row([*COMMON, *[3] * 6], limit=53)
    assert (r2.num_cached, used(cache)) == (hit, before)
    check_states(r2.hold.views, r2.tokens[:hit].tolist())


def test_a_prompt_that_needs_the_whole_pool_gets_it_A5() -> None:
    cache = make_cache()
    run(cache, [*COMMON, *[3] * 6])
    r3 = cache.open_row([99] * 160, limit=159)
    make_room(cache, 160)
    compute(cache, r3)
    assert (r3.num_cached, used(cache)) == (0, 160)
    assert all(page.part is r3.tail for page in pages(cache))
    assert cache.match(COMMON).num_tokens == 0


@BOTH_UNITS
def test_two_cold_prompts_fill_what_they_need_A6_and_are_found_later_A9(unit: int) -> None:
    cache = make_cache(16, unit)
    r0, r1 = (
        cache.open_row(list(range(87)), limit=86),
        cache.open_row(list(range(500, 548)), limit=47),
    )
    for row in (r0, r1):
        compute(cache, row)
    assert (cache.num_pages, used(cache), free_pages(cache)) == (5 + 3, 87 + 48, 1)
    for row in (r0, r1):
        cache.close_row(row)
    r2 = cache.open_row(list(range(35)), limit=34)
    assert r2.num_cached == {PAGE: 32, TOKEN: 34}[unit]
    assert used(cache) == 87 + 48


def test_decoding_adds_no_page_before_one_is_full_A10() -> None:
    cache = make_cache(match_unit=16)
    row = cache.open_row([*COMMON, *[3] * 7], limit=54)
    compute(cache, row)
    named = []
    for token in range(100, 109):
        row.tokens.append(token)
        compute(cache, row)
        named.append((row.num_computed, len(pages(cache))))
    assert named == [
        (56, 3),
        (57, 3),
        (58, 3),
        (59, 3),
        (60, 3),
        (61, 3),
        (62, 3),
        (63, 3),
        (64, 4),
    ]
    assert all(page.digest for page in pages(cache))


def test_recycled_memory_has_no_name_left_A12() -> None:
    cache = make_cache(match_unit=16)
    run(cache, list(range(16)))
    row = cache.open_row(list(range(100, 115)))
    cache.reclaim(15 * BYTES_PER_TOKEN)
    compute(cache, row)
    assert (cache.num_pages, used(cache)) == (0, 15)
    assert cache.match(list(range(16))).num_tokens == 0


def waiting(tokens: list[int]) -> Job:
    asked: Request = request("waiting", tokens, 0)
    return Job(asked, 0.0, 0)


def test_without_caching_nothing_is_shared_and_nothing_stays_A14() -> None:
    cache = make_cache(4, 4, enabled=False)
    admission = Admission(cache, (16 + GROWTH_SLACK_TOKENS) * BYTES_PER_TOKEN)
    tokens = list(range(16))
    assert run(cache, tokens[:10]) == 0
    assert used(cache) == 0
    second = waiting(tokens)
    assert admission.shortfall_bytes(second, []) == 0
    second.row = cache.open_row(tokens, limit=15)
    compute(cache, second.row)
    assert (second.row.num_cached, used(cache)) == (0, 16)
    assert admission.shortfall_bytes(waiting(tokens[:4]), [second]) > 0


def test_reset_waits_for_the_last_row_A16() -> None:
    cache = make_cache()
    rows = [cache.open_row([*COMMON, 3, n], limit=49) for n in range(2)]
    for row in rows:
        compute(cache, row)
    for row in rows:
        assert not cache.clear()
        assert cache.num_pages >= 3
        cache.close_row(row)
    assert cache.clear()
    assert (cache.num_pages, cache.roots, cache.parts) == (0, {}, set())


@pytest.mark.parametrize(("unit", "hit"), [(PAGE, 48), (TOKEN, 58)])
def test_a_salt_separates_A18(unit: int, hit: int) -> None:
    cache = make_cache(16, unit)
    prompt = list(range(59))
    assert run(cache, prompt, salt="s1") == 0
    assert [run(cache, prompt, salt=salt) for salt in ("s1", "s2", "")] == [hit, 0, 0]


def test_client_and_request_are_no_identity_A19() -> None:
    loop = SteppedLoop(page_tokens=4, match_unit=4)
    loop.serve(request("a", list(range(1, 10)), 1))
    (second,) = loop.serve(request("b", list(range(1, 10)), 1))
    assert second.usage.cached_tokens == 8


def test_no_queries_and_no_hits_look_different_B11() -> None:
    loop = SteppedLoop()
    rates = [(loop.counters.requests, loop.counters.hits)]
    loop.serve(request("cold", [1, 2, 3], 1))
    rates.append((loop.counters.requests, loop.counters.hits))
    loop.serve(request("warm", [1, 2, 3], 1))
    rates.append((loop.counters.requests, loop.counters.hits))
    assert rates == [(0, 0), (1, 0), (2, 1)]


def test_the_last_prompt_token_is_always_computed_I2() -> None:
    for unit, hits in ((PAGE, [0, 0, 16]), (TOKEN, [14, 15, 16])):
        cache = make_cache(16, unit)
        run(cache, list(range(40)))
        assert [run(cache, list(range(n))) for n in (15, 16, 17)] == hits


def test_two_cold_requests_of_one_step_do_not_share_I5() -> None:
    """Unless one waits for the other."""
    loop = SteppedLoop(page_tokens=16, match_unit=16, prefill_chunk=64, release=Release.INDEPENDENT)
    prompt = list(range(1, 65))
    ends = loop.serve(request("a", prompt, 2), request("b", prompt, 2))
    assert [end.usage.cached_tokens for end in ends] == [0, 0]
    (third,) = loop.serve(request("c", prompt, 2))
    assert third.usage.cached_tokens == 48


def test_memory_comes_back_in_whole_pages_and_no_more_than_asked_I8() -> None:
    """Pages of 4, four of them taken: two by a row, two cached."""

    def full() -> PrefixCache:
        cache = make_cache(4, 4)
        row = cache.open_row(list(range(8)))
        compute(cache, row)
        run(cache, list(range(100, 108)))
        return cache

    for asked in ([4], [4, 4], [8]):
        cache = full()
        assert used(cache) == 16
        given = [cache.reclaim(n * BYTES_PER_TOKEN).num_bytes // BYTES_PER_TOKEN for n in asked]
        cache.check_integrity()
        assert given == asked
        assert cache.match(list(range(100, 108))).num_tokens == 8 - sum(asked)
        assert cache.match(list(range(8))).num_tokens == 8


def test_free_and_cached_always_make_the_pool_I10() -> None:
    """Pages of 4, a pool of 8: two cached, six taken, the seventh comes from the cached ones."""
    cache = make_cache(4, 4)
    pool = 32
    run(cache, list(range(100, 108)))
    row = cache.open_row(list(range(28)))
    for page in range(7):
        if used(cache) + 4 > pool:
            assert cache.reclaim(4 * BYTES_PER_TOKEN).num_bytes == 4 * BYTES_PER_TOKEN
        compute(cache, row, 4)
        cache.check_integrity()
        cached = (cache.used_bytes - cache.held_bytes()) // BYTES_PER_TOKEN
        held = cache.held_bytes() // BYTES_PER_TOKEN
        assert (held, cached) == ((page + 1) * 4, 8 if page < 6 else 4)
        assert pool - used(cache) == max(0, pool - held - cached)
