"""The churn of small prompts on the cache alone: what is asked, and what each policy keeps."""

from __future__ import annotations

import pytest

from app.bench.churn import CacheAlone, Plan, on_cache_alone
from app.bench.churn_command import ENGINE_CYCLES, PLAN, QUICK_PLAN
from engine.config import Eviction

SMALL = Plan(prompts=8, prompt_tokens=200, pool_tokens=1_000, cycles=3)


def test_the_sources_workload() -> None:
    assert (PLAN.prompts, PLAN.prompt_tokens, PLAN.pool_tokens) == (8, 975, 5_456)
    assert (PLAN.asked_tokens, PLAN.same_kept_tokens, PLAN.bar_tokens) == (7_800, 4_481, 3_500)
    assert (QUICK_PLAN.asked_tokens, QUICK_PLAN.cycles) == (2_600, ENGINE_CYCLES)
    assert QUICK_PLAN.pool_tokens / QUICK_PLAN.asked_tokens == pytest.approx(
        5_456 / 7_800, rel=1e-3
    )


def test_keeping_the_same_of_what_fits_is_every_token_but_each_last() -> None:
    assert Plan(3, 100, 10_000, 2).same_kept_tokens == 3 * 99


def test_prompts_differ_from_the_first_token_on_and_are_the_same_in_every_run() -> None:
    prompts = SMALL.tokens()
    assert prompts == SMALL.tokens()
    assert [len(tokens) for tokens in prompts] == [200] * 8
    assert len({tokens[0] for tokens in prompts}) == 8
    assert max(max(tokens) for tokens in SMALL.tokens(vocabulary=100)) < 100


def test_what_the_policies_keep() -> None:
    lru, worth = on_cache_alone(SMALL)
    assert (lru.eviction, worth.eviction) == (Eviction.LRU, Eviction.WORTH)
    assert [cycle.restored_tokens for cycle in lru.cycles] == [0, 0, 0]
    first, *others = [cycle.restored_tokens for cycle in worth.cycles]
    assert first == 0
    assert all(SMALL.bar_tokens <= found <= SMALL.same_kept_tokens for found in others)


@pytest.mark.parametrize("eviction", Eviction)
def test_what_fits_is_restored_by_every_policy(eviction: Eviction) -> None:
    cache = CacheAlone(eviction, 1_001)  # the last token of a prompt is computed again
    prompts = Plan(5, 200, 1_000, 1).tokens()
    assert [cache.ask(tokens) for tokens in (*prompts, *prompts)] == [0] * 5 + [199] * 5
