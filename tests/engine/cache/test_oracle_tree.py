"""The oracle's rows of sections G and J, for one full-attention group: tree, locks,
conversations."""

from __future__ import annotations

import random
import tracemalloc

import pytest

from engine.cache.cost import KVCost
from engine.cache.prefix_cache import PrefixCache
from engine.request import FinishReason
from tests.support.answers import answer_to
from tests.support.cache import IDENTITY, make_cache, run
from tests.support.effort import LONG
from tests.support.engine import request
from tests.support.fake_runner import BYTES_PER_TOKEN, expected_answer
from tests.support.stepping import SteppedLoop


def tokens(num_bytes: int) -> int:
    return num_bytes // BYTES_PER_TOKEN


def evictable(cache: PrefixCache) -> int:
    return tokens(cache.used_bytes - cache.held_bytes())


def test_insert_and_match_G1() -> None:
    cache = make_cache(1, 1)
    assert run(cache, [1, 2, 3]) == 0
    assert (tokens(cache.used_bytes), evictable(cache), cache.num_pages) == (3, 3, 3)
    assert [cache.match(found).num_tokens for found in ([1, 2, 3], [1, 2])] == [3, 2]


def test_namespaces_G2() -> None:
    cache = make_cache(1, 1)
    for salt in ("k1", "k2", ""):
        assert run(cache, [1, 2, 3], salt=salt) == 0
    hits = [cache.match([1, 2, 3], salt=salt).num_tokens for salt in ("k1", "k2", "", "other")]
    assert hits == [3, 3, 3, 0]
    parts = {cache.match([1, 2, 3], salt=salt).views[0].part for salt in ("k1", "k2", "")}
    assert len(parts) == 3


def test_locking_moves_tokens_from_evictable_to_protected_G3() -> None:
    cache = make_cache(1, 1)
    run(cache, [1, 2, 3])
    hold = cache.hold(cache.match([1, 2, 3]), "lock")
    assert (tokens(cache.held_bytes()), evictable(cache)) == (3, 0)
    assert cache.reclaim(BYTES_PER_TOKEN).num_bytes == 0
    cache.release(hold)
    assert (tokens(cache.held_bytes()), evictable(cache)) == (0, 3)


@pytest.mark.parametrize(("page", "inserted", "matched"), [(1, 5, 5), (2, 5, 4), (4, 6, 4)])
def test_matches_are_multiples_of_the_page_or_exact_G4(
    page: int, inserted: int, matched: int
) -> None:
    for unit, expected in ((page, matched), (1, inserted)):
        cache = make_cache(page, unit)
        run(cache, list(range(inserted)))
        assert cache.match(list(range(inserted))).num_tokens == expected


def test_a_random_tree_submitted_at_once_G14() -> None:
    """400 prompts, each a random earlier one with its answer and more; the first has 117 tokens and
    an answer of 217. They do not fit the budget together."""
    chance = random.Random(14)
    loop = SteppedLoop(
        budget_tokens=40_000, max_running=32, prefill_chunk=1024, check_integrity=False
    )
    asked = [request("n0", [chance.randrange(100, 1000) for _ in range(117)], 217)]
    for n in range(1, 400):
        parent = chance.choice(asked)
        before = [*parent.prompt.tokens, *answer_to(parent.prompt.tokens, parent.max_tokens)]
        suffix = [chance.randrange(100, 1000) for _ in range(chance.randint(1, 256))]
        asked.append(request(f"n{n}", before[:2500] + suffix, chance.randint(0, 256)))
    loop.submit(*asked)
    cache = loop.cache
    while not loop.idle:
        for _ in range(64):
            loop.step()
            assert cache.used_bytes <= loop.budget
        cache.check_integrity()
    for each in asked:
        assert loop.finished(each.id).reason is FinishReason.LENGTH
        assert loop.tokens(each.id) == answer_to(each.prompt.tokens, each.max_tokens)
    assert loop.counters.cached_tokens > 0.5 * loop.counters.prompt_tokens
    assert loop.counters.evicted_pages > 0
    assert (cache.held_bytes(), cache.open_bytes, cache.rows) == (0, 0, {})
    assert cache.clear()
    assert (cache.used_bytes, cache.num_pages, cache.parts, cache.roots) == (0, 0, set(), {})


@pytest.mark.parametrize("unit", [16, 1])
def test_the_next_turn_finds_the_whole_conversation_G16(unit: int) -> None:
    loop = SteppedLoop(match_unit=unit)
    history = list(range(200, 237))
    hits, floors = [], [0]
    for turn in range(5):
        (end,) = loop.serve(request(f"turn{turn}", history, 21))
        hits.append(end.usage.cached_tokens)
        history += [*loop.tokens(f"turn{turn}"), *range(300, 311)]
        floors.append((len(history) - 11 - 1) // unit * unit)
    assert hits == floors[:-1]


def test_clients_in_many_rounds_find_their_history_every_time_G20() -> None:
    """8 clients, 6 rounds of 289 tokens in and 367 out, all at once."""
    loop = SteppedLoop(check_integrity=False)
    history: list[list[int]] = [[] for _ in range(8)]
    for turn in range(6):
        floors = [max(0, len(tokens) - 1) for tokens in history]
        for client in range(8):
            history[client] += [100 + (client * 97 + turn * 31 + n) % 900 for n in range(289)]
        names = [f"{client}-{turn}" for client in range(8)]
        ends = loop.serve(*(request(name, history[n], 367) for n, name in enumerate(names)))
        assert [end.usage.cached_tokens for end in ends] == floors
        for client, name in enumerate(names):
            answer = loop.tokens(name)
            assert answer == answer_to(history[client], 367)
            history[client] += answer
    assert loop.runner.num_computed == sum(len(tokens) - 1 for tokens in history)
    loop.cache.check_integrity()


def test_the_last_token_of_an_answer_was_never_computed_J1() -> None:
    cache = make_cache()
    run(cache, list(range(1, 9)), answer=[20, 21])
    assert cache.match([*range(1, 9), 20, 21]).num_tokens == 9


@pytest.mark.parametrize("page", [1, 2, 16])
def test_edges_split_where_tokens_part_J12(page: int) -> None:
    cache = make_cache(page, 1)
    asked = [[1, 2, 3, 4, 5], [1, 2, 3, 6, 7], [1, 2, 8, 9]]
    assert [run(cache, tokens) for tokens in asked] == [0, 3, 2]
    assert [cache.match(tokens).num_tokens for tokens in asked] == [5, 5, 4]
    assert sorted((part.base, part.end) for part in cache.parts) == [(0, 5), (2, 4), (3, 5)]
    cache.check_integrity()


def test_a_full_edge_is_preferred_and_among_partial_ones_the_longest_J13() -> None:
    """Pages of 4. [1, 2, 3, 4] is a full page; beside it are partly filled ones."""
    cache = make_cache(4, 1)
    full, short, long = [1, 2, 3, 4, 5, 6], [1, 2, 8], [1, 2, 3, 9]
    for tokens in (full, short, long):
        run(cache, tokens)
    assert cache.match([1, 2, 3, 4, 5, 7]).num_tokens == 5
    assert cache.match([1, 2, 3, 9, 7]).num_tokens == 4
    assert cache.match([1, 2, 3, 7]).num_tokens == 3
    assert cache.match([1, 2, 8, 7]).num_tokens == 3
    assert cache.match([1, 2, 7]).num_tokens == 2


@pytest.mark.parametrize(
    ("known", "asked", "shared"),
    [
        ([1, 2, 3, 4, 5], [1, 2, 3, 4, 5], 5),
        ([1, 2, 3], [4, 5, 6], 0),
        ([1, 2, 3, 4, 5], [1, 2, 3, 7, 8], 3),
        ([], [], 0),
        ([1], [], 0),
    ],
)
def test_length_of_a_common_prefix_J17(known: list[int], asked: list[int], shared: int) -> None:
    for page in (1, 2, 16):
        cache = make_cache(page, 1)
        run(cache, known)
        assert cache.match(asked).num_tokens == shared


def test_answers_are_those_of_the_fake_runner() -> None:
    assert answer_to([1, 2, 3], 20) == expected_answer([1, 2, 3], 20)


class CountedStorage:
    """A storage that holds nothing: only the index takes memory."""

    state_bytes = 0

    def __init__(self) -> None:
        self.num_tokens = 0

    def successor(self) -> CountedStorage:
        return CountedStorage()

    def window_tokens(self, group: int) -> int:
        raise AssertionError(f"there is no window group {group}")

    window_bytes = drop_window = window_tokens
    absorb = absorb_bytes = None

    def drop_state(self) -> None:
        pass

    @property
    def num_bytes(self) -> int:
        return self.num_tokens

    def growth_bytes(self, num_tokens: int) -> int:
        return num_tokens

    def seal(self) -> None:
        pass

    def truncate(self, num_tokens: int) -> None:
        self.num_tokens = num_tokens


def test_memory_of_the_index_G22() -> None:
    """Many sequences of one common beginning: the index keeps each token once, in 4 bytes, and its
    own objects on top are small beside KV, of which a small model has some 10,000 bytes a token."""
    num_sequences, common, own = (3_000, 10_000, 100) if LONG else (250, 500, 100)
    cache = PrefixCache(IDENTITY, CountedStorage, cost=KVCost(1))
    chance = random.Random(22)
    trunk = [chance.randrange(32_000) for _ in range(common)]
    tracemalloc.start()
    try:
        for _ in range(num_sequences):
            row = cache.open_row([*trunk, *(chance.randrange(32_000) for _ in range(own))])
            assert isinstance(row.tail.storage, CountedStorage)
            row.tail.storage.num_tokens = row.num_uncomputed
            cache.close_row(row)
            del row
        index_bytes, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    cached = common + num_sequences * own
    assert 0.99 * cached <= cache.used_bytes <= cached, (
        "a few share their first own token by chance"
    )
    keys, stack = 0, list(cache.roots.values())
    while stack:
        page = stack.pop()
        keys += len(page.key)
        stack.extend(page.children.values())
    assert keys < 2 * cached * 4
    assert index_bytes < 64 * cached
