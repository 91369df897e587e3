"""Prefix caches over fake storages, and rows that compute in them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

from engine.cache.eviction import EvictionPolicy, LeastRecentlyUsed
from engine.cache.identity import ModelIdentity
from engine.cache.prefix_cache import PrefixCache
from engine.cache.row import Row
from engine.cache.standing import Standing
from engine.cache.worth import ByWorth
from engine.config import Eviction
from engine.request import SamplingParams
from tests.support.fake_runner import FakeLayers, FakeRunner, FakeStorage

IDENTITY = ModelIdentity(weights="weights", tokenizer="tokenizer")


def make_cache(
    page_tokens: int = 16,
    match_unit: int = 1,
    *,
    step: int = 1,
    identity: ModelIdentity = IDENTITY,
    enabled: bool = True,
    new_storage: Callable[[], FakeStorage] | None = None,
    windows: tuple[int, ...] = (),
    recurrent: bool = False,
    most_checkpoint_bytes: int | None = None,
    prefilled_only: bool = False,
    eviction: Eviction = Eviction.LRU,
    most_client_bytes: int | None = None,
    now: Callable[[], float] | None = None,
) -> PrefixCache:
    """A cache of fake storages that are allocated `step` tokens at a time. Unless `now` tells the
    time, every look at the clock takes a second."""
    layers = FakeLayers(windows, recurrent, step)
    now = now or itertools.count(1.0).__next__
    policy: EvictionPolicy = LeastRecentlyUsed() if eviction is Eviction.LRU else ByWorth(now=now)
    return PrefixCache(
        identity,
        new_storage or layers.new_storage,
        cost=layers.cost,
        most_checkpoint_bytes=most_checkpoint_bytes,
        prefilled_only=prefilled_only,
        page_tokens=page_tokens,
        match_unit=match_unit,
        enabled=enabled,
        policy=policy,
        most_client_bytes=most_client_bytes,
        now=now,
    )


def compute(cache: PrefixCache, row: Row, num_tokens: int | None = None) -> None:
    """Compute some (default all) of a row's missing tokens in one step and publish them."""
    num_tokens = row.num_uncomputed if num_tokens is None else min(num_tokens, row.num_uncomputed)
    if num_tokens:
        FakeRunner().prefill(row, num_tokens)
    cache.publish(row)


def run(
    cache: PrefixCache,
    tokens: Sequence[int],
    answer: Sequence[int] = (),
    salt: str = "",
    *,
    client: str = "",
    standing: Standing = Standing.ORDINARY,
    budget: int | None = None,
) -> int:
    """A whole request: find, compute, append the answer (its last token is never computed), end.
    Evicts before it computes what would not fit `budget` bytes. Returns the hit."""
    row = cache.open_row(tokens, limit=len(tokens) - 1, salt=salt, client=client, standing=standing)
    if budget is not None:
        more = row.num_uncomputed + max(0, len(answer) - 1)
        missing = cache.used_bytes + row.tail.storage.growth_bytes(more) - budget
        if missing > 0:
            cache.reclaim(missing)
    compute(cache, row)
    for token in answer[:-1]:
        row.tokens.append(token)
        compute(cache, row)
    cache.close_row(row)
    return row.num_cached


def greedy(prompt: Sequence[int]) -> SamplingParams:
    return SamplingParams(temperature=0.0)
