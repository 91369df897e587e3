"""The oracle's rows of section K on what is restored: how much, when, and for how many at once."""

from __future__ import annotations

import pytest

from engine.config import Eviction
from engine.errors import ConfigError
from engine.request import Started
from tests.support.cache import make_cache, run
from tests.support.engine import request
from tests.support.stepping import SteppedLoop


def prompt(seed: int, num_tokens: int) -> list[int]:
    """Prompts of different seeds differ from their first token on."""
    return [seed + 7 * n % 500 for n in range(num_tokens)]


@pytest.mark.parametrize(("unit", "hit"), [(2, 2), (1, 2)])
def test_a_lookup_stops_at_the_first_divergence_K10(unit: int, hit: int) -> None:
    cache = make_cache(2, unit)
    run(cache, [1, 2, 3, 4])
    assert cache.match([1, 2, 8, 9]).num_tokens == hit


def test_only_whole_pages_are_indexed_and_a_page_has_a_size_K12() -> None:
    cache = make_cache(2, 2)
    run(cache, [1, 2, 3])
    assert cache.num_pages == 1
    assert cache.match([1, 2, 3]).num_tokens == 2
    with pytest.raises(ConfigError):
        make_cache(0, 0)


@pytest.mark.parametrize(
    ("num_tokens", "by_page"), [(98, 96), (241, 240), (459, 448), (681, 672), (904, 896)]
)
def test_a_warm_identical_prompt_K13(num_tokens: int, by_page: int) -> None:
    for unit, restored in ((16, by_page), (1, num_tokens - 1)):
        cache = make_cache(16, unit)
        hits = [run(cache, prompt(1, num_tokens), answer=[5, 6, 7]) for _ in range(3)]
        assert hits == [0, restored, restored]


@pytest.mark.parametrize(("unit", "restored"), [(16, 480), (1, 492)])
def test_followers_share_what_their_leader_has_published_K15(unit: int, restored: int) -> None:
    loop = SteppedLoop(match_unit=unit)
    tokens = prompt(1, 493)
    loop.submit(request("leader", tokens, 128))
    loop.run_until(lambda: bool(loop.text("leader")))
    followers = [request(f"follower{n}", tokens, 128) for n in range(7)]
    ends = loop.serve(*followers)
    assert [end.usage.cached_tokens for end in ends] == [restored] * 7
    assert len({loop.text(name) for name in loop.events}) == 1
    assert loop.runner.num_computed == 493 + 7 * (493 - restored) + 8 * 127


def churned(eviction: Eviction) -> list[int]:
    """Tokens found by eight prompts of 975 in turn, twice, in 341 pages of 16."""
    loop = SteppedLoop(budget_tokens=341 * 16, storage_step=1, eviction=eviction)
    cached = []
    for cycle in range(2):
        for n in range(8):
            (end,) = loop.serve(request(f"{cycle}-{n}", prompt(1000 * n, 975), 1))
            cached.append(end.usage.cached_tokens)
    assert loop.cache.used_bytes <= loop.budget
    return cached


def test_churn_beyond_the_budget_defeats_plain_lru_K16() -> None:
    """The control: 7,800 tokens used in turn do not fit 5,456, LRU keeps the wrong ones."""
    assert churned(Eviction.LRU) == [0] * 16


def test_churn_beyond_the_budget_keeps_a_useful_part_K16() -> None:
    """The bound: while one of 975 tokens is computed, the others have 4,481."""
    cached = churned(Eviction.WORTH)
    assert cached[:8] == [0] * 8
    assert 3_500 <= sum(cached[8:]) <= 341 * 16 - 975


def test_admission_credits_hits_K17() -> None:
    """341 pages of 16: eight requests of 927 + 128 tokens fit when their prompt is one and warm."""
    pool = 341 * 16
    cold = SteppedLoop(budget_tokens=pool, match_unit=16)
    cold.submit(*(request(f"r{n}", prompt(1000 * n, 927), 128) for n in range(8)))
    cold.step()
    assert len(cold.scheduler.running) == pool // (927 + 128 + 256) == 4

    warm = SteppedLoop(budget_tokens=pool, match_unit=16)
    warm.serve(request("first", prompt(1, 927), 1))
    ends = [f"r{n}" for n in range(8)]
    warm.submit(*(request(name, prompt(1, 927), 128) for name in ends))
    warm.step()
    assert len(warm.scheduler.running) == 8
    assert [warm.started(name) for name in ends] == [Started(name, 927, 912) for name in ends]
    warm.finish_all()
    assert len({warm.text(name) for name in ends}) == 1
