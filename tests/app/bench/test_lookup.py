"""Trees and look-ups of small prompts: what is timed finds what it should."""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from typing import Any

import pytest

import app.bench.lookup
from app.bench.errors import BenchError
from app.bench.lookup import (
    MIN_PROMPT_TOKENS,
    PAGE_TOKENS,
    Lookup,
    LookupBench,
    Plan,
    Prompt,
    Tree,
)
from engine.cache.prefix_cache import Match, PrefixCache

FEW = {Tree.ALONE: 0, Tree.SHARED_HALF: 5, Tree.SHARED_PAGE: 3}


@pytest.fixture(autouse=True)
def _small_caches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app.bench.lookup, "_COLD_BYTES", 1024)


def common(left: Sequence[int], right: Sequence[int]) -> int:
    pairs = zip(left, right, strict=False)
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))


@pytest.mark.parametrize("size", [*range(64, 82), 1_000])
def test_a_near_miss_leaves_the_prompt_in_its_last_page(size: int) -> None:
    prompt = Prompt(size)
    last_page = range((size - 1) // PAGE_TOKENS * PAGE_TOKENS, size)
    assert len(prompt.tokens) == size
    assert prompt.near_end in last_page
    assert prompt.half % PAGE_TOKENS == PAGE_TOKENS // 2
    assert prompt.half == pytest.approx(size / 2, abs=PAGE_TOKENS / 2)
    assert prompt.half < last_page.start, "two different pages"


@pytest.mark.parametrize(
    ("lookup", "known"), [(Lookup.AGAIN, 99), (Lookup.NEAR_MISS, 98), (Lookup.HALF, 56)]
)
def test_wanted_tokens_are_as_many_and_known_so_far(lookup: Lookup, known: int) -> None:
    prompt = Prompt(100)
    tokens, found = prompt.wanted(lookup)
    assert (len(tokens), found) == (100, known)
    assert common(tokens, prompt.tokens) == (100 if lookup is Lookup.AGAIN else known)


@pytest.mark.parametrize(("tree", "shared"), [(Tree.SHARED_HALF, 56), (Tree.SHARED_PAGE, 98)])
def test_other_prompts_leave_this_one_and_each_other_at_the_same_token(
    tree: Tree, shared: int
) -> None:
    prompt = Prompt(100)
    others = list(prompt.others(tree, 4))
    wanted = [prompt.wanted(lookup)[0] for lookup in Lookup]
    pairs = itertools.combinations([prompt.tokens, *others], 2)
    assert {common(left, right) for left, right in pairs} == {shared}
    assert max(common(other, tokens) for other in others for tokens in wanted) == shared


def test_every_tree_is_looked_up_and_finds_what_is_known() -> None:
    said: list[str] = []
    sizes = LookupBench(said.append).run(Plan((MIN_PROMPT_TOKENS, 1_000), 3, FEW))
    assert [size.prompt_tokens for size in sizes] == [64, 1_000]
    for size, (again, near_miss, half) in zip(sizes, [(63, 56, 40), (999, 996, 504)], strict=True):
        assert list(size.trees) == list(Tree)
        for tree, result in size.trees.items():
            assert (result.tree, result.num_others) == (tree, FEW[tree])
            assert {lookup: found.num_tokens for lookup, found in result.found.items()} == {
                Lookup.AGAIN: again,
                Lookup.NEAR_MISS: near_miss,
                Lookup.HALF: half,
            }
            assert all(len(found.seconds) == 3 for found in result.found.values())
    # 63 pages of the prompt. Others fill their page and half of the next; up to the last page, of
    # 8 tokens, each has its 4 tokens of it and 24 of its own.
    pages = {tree: result.num_pages for tree, result in sizes[1].trees.items()}
    assert pages == {Tree.ALONE: 63, Tree.SHARED_HALF: 63 + 5 * 2, Tree.SHARED_PAGE: 63 + 3 * 2}
    assert len(said) == 6
    assert said[1].startswith("64 tokens, others: 5 with the same half: same prompt ")


def test_only_finding_is_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that moves by 1 s with each look-up, and by nothing else."""
    now = 0.0
    match = PrefixCache.match

    def slow(cache: PrefixCache, *args: Any) -> Match:
        nonlocal now
        now += 1
        return match(cache, *args)

    monkeypatch.setattr(PrefixCache, "match", slow)
    monkeypatch.setattr(time, "perf_counter", lambda: now)
    (size,) = LookupBench(lambda _line: None).run(Plan((100,), 2, FEW))
    for result in size.trees.values():
        assert [found.seconds for found in result.found.values()] == [(1.0, 1.0)] * 3


def test_the_index_is_weighed_in_pages() -> None:
    """A page has at least a key of 64 bytes, a digest of 32 and its own fields."""
    small, large = LookupBench(lambda _line: None).run(Plan((1_600, 16_000), 1, FEW))
    assert 64 + 32 < (large.index_bytes - small.index_bytes) / 900 < 2_000
    assert large.bytes_per_token == large.index_bytes / 16_000


def test_a_wrong_find_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    match = PrefixCache.match
    monkeypatch.setattr(
        PrefixCache, "match", lambda cache, tokens, limit, *salt: match(cache, tokens, limit // 2)
    )
    with pytest.raises(BenchError, match=r"100 tokens \(same prompt\) found 49 where 99 are known"):
        LookupBench(lambda _line: None).run(Plan((100,), 1, FEW))
