"""Many operations and large trees: contents stay right, and finding does not slow down."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from engine.cache import index
from engine.cache.page import Page
from engine.cache.part import Hold
from engine.cache.row import Row
from engine.cache.standing import Standing
from engine.config import Eviction
from tests.support.cache import compute, make_cache, run
from tests.support.effort import LONG
from tests.support.fake_runner import BYTES_PER_TOKEN, check_states

NUM_OPERATIONS = (1_000_000 if LONG else 100_000) // len(Eviction)  # of each policy
BUDGET = 3000 * BYTES_PER_TOKEN


@pytest.mark.parametrize("eviction", Eviction)
def test_a_hundred_thousand_operations(eviction: Eviction) -> None:
    """Requests of a household: few beginnings, many ends, little memory. Every hit is compared with
    the KV that its tokens have."""
    chance = random.Random(5)
    cache = make_cache(step=8, eviction=eviction, most_client_bytes=BUDGET // 2)
    beginnings = [[chance.randrange(50) for _ in range(chance.randint(10, 60))] for _ in range(12)]
    rows: list[Row] = []
    holds: list[Hold] = []
    found = computed = given = 0
    for operation in range(NUM_OPERATIONS):
        choice = chance.random()
        if choice < 0.2 and len(rows) < 8:
            beginning = chance.choice(beginnings)
            tokens = beginning[: chance.randint(1, len(beginning))]
            tokens += [chance.randrange(3) for _ in range(chance.randint(1, 20))]
            row = cache.open_row(
                tokens,
                limit=len(tokens) - 1,
                salt=chance.choice("ab"),
                client=chance.choice("xyz"),
                standing=chance.choice(list(Standing)),
            )
            check_states(row.hold.views, tokens[: row.num_cached])
            found += row.num_cached
            rows.append(row)
        elif choice < 0.7 and rows:
            row = chance.choice(rows)
            if not row.num_uncomputed:
                row.tokens.append(chance.randrange(3))
            computed += min(16, row.num_uncomputed)
            compute(cache, row, 16)
        elif choice < 0.9 and rows:
            row = rows.pop(chance.randrange(len(rows)))
            cache.close_row(row)
            match = cache.match(row.tokens[: row.num_computed], salt="")
            check_states(match.views, row.tokens[: match.num_tokens].tolist())
        elif choice < 0.92 and len(holds) < 3:
            holds.append(cache.hold(cache.match(chance.choice(beginnings), salt="a"), "pin"))
        elif choice < 0.94 and holds:
            cache.release(holds.pop(chance.randrange(len(holds))))
        if operation % 8 == 0 and (over := cache.used_bytes - BUDGET) > 0:
            given += cache.reclaim(over + BUDGET // 8).num_bytes
            assert cache.used_bytes <= max(BUDGET - BUDGET // 8, cache.held_bytes())
        if operation % 2000 == 0:
            cache.check_integrity()
    assert found > computed > 0.2 * NUM_OPERATIONS, "the cache was at work"
    assert given > 10 * BUDGET, "and so was eviction"
    for row in rows:
        cache.close_row(row)
    for hold in holds:
        cache.release(hold)
    cache.check_integrity()
    assert cache.clear()
    assert (cache.used_bytes, cache.num_pages, cache.parts, cache.roots) == (0, 0, set(), {})


class CountedChildren(dict[bytes, Page]):
    """Children of a page that count how often they are looked up and how many are looked at."""

    lookups = visits = 0

    def get(self, key: bytes, default: Page | None = None) -> Page | None:  # type: ignore[override]
        CountedChildren.lookups += 1
        return super().get(key, default)

    def items(self) -> Iterator[tuple[bytes, Page]]:  # type: ignore[override]
        for item in super().items():
            CountedChildren.visits += 1
            yield item


class CountedPage(Page):
    __slots__ = ()

    def __init__(self, *args: object) -> None:
        super().__init__(*args)  # type: ignore[arg-type]
        self.children = CountedChildren()


@pytest.mark.parametrize("num_others", [0, 300])
def test_finding_a_long_prompt_looks_once_at_each_of_its_pages(
    num_others: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """16,000 tokens are 1,000 lookups, however many other prompts there are."""
    monkeypatch.setattr(index, "Page", CountedPage)
    cache = make_cache()
    prompt = [n % 700 for n in range(16_000)]
    run(cache, prompt)
    for n in range(num_others):
        run(cache, [*prompt[: 16 * (n % 40)], 800, n, *range(30)])
    CountedChildren.lookups = CountedChildren.visits = 0
    match = cache.match(prompt, limit=15_999)
    assert (match.num_tokens, CountedChildren.lookups) == (15_999, 999)
    assert CountedChildren.visits == 1, "only the last page's neighbours are looked at"
    check_states(match.views, prompt[:15_999])
