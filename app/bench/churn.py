"""`ondol bench churn`: prompts that are used in turn and together do not fit the cache (S0-15).

Whoever keeps what was used last keeps nothing that is used next. The cache alone runs over storages
that hold no KV; the engine runs with a model.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from app.bench.errors import BenchError
from app.bench.no_kv import BYTES_PER_TOKEN, NoKv
from engine.cache.cost import KVCost
from engine.cache.eviction import EvictionPolicy, LeastRecentlyUsed
from engine.cache.identity import ModelIdentity
from engine.cache.prefix_cache import PrefixCache
from engine.cache.worth import ByWorth
from engine.config import Eviction

CHUNK_TOKENS = 256
PROMPT_S = 5.0  # what a prompt takes on the clock of the cache alone

_VOCABULARY = 50_000
_SOURCE_KEPT = 3_500 / 7_800  # of what a cycle asks for, the bar (S0-15)


@dataclass(frozen=True, slots=True)
class Plan:
    """`prompts` prompts of `prompt_tokens` tokens that share nothing, each once a cycle, in a cache
    of `pool_tokens`."""

    prompts: int
    prompt_tokens: int
    pool_tokens: int
    cycles: int

    @property
    def asked_tokens(self) -> int:
        """Prompt tokens of a cycle."""
        return self.prompts * self.prompt_tokens

    @property
    def same_kept_tokens(self) -> int:
        """What a cycle restores if the same tokens always stay: while a prompt is computed that was
        not there, the others have the rest of the memory. Somebody who knew what comes next could
        restore more."""
        return min(self.pool_tokens - self.prompt_tokens, self.prompts * (self.prompt_tokens - 1))

    @property
    def bar_tokens(self) -> int:
        """What the second cycle must restore at least."""
        return round(_SOURCE_KEPT * self.asked_tokens)

    def tokens(self, vocabulary: int = _VOCABULARY, seed: int = 1) -> list[tuple[int, ...]]:
        """The prompts."""
        chance = random.Random(seed)
        return [
            tuple(chance.choices(range(vocabulary), k=self.prompt_tokens))
            for _ in range(self.prompts)
        ]


@dataclass(frozen=True, slots=True)
class Cycle:
    """One cycle: prompt tokens restored, and seconds to each first token, where a model ran."""

    restored_tokens: int
    ttft_s: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Side:
    """What one policy made of all cycles."""

    eviction: Eviction
    cycles: tuple[Cycle, ...]


class CacheAlone:
    """The engine's cache with one policy, and a clock that only computing moves."""

    def __init__(self, eviction: Eviction, pool_tokens: int) -> None:
        self._now_s = 0.0
        self._pool_bytes = pool_tokens * BYTES_PER_TOKEN
        policy: EvictionPolicy = LeastRecentlyUsed()
        if eviction is Eviction.WORTH:
            policy = ByWorth(now=self._now)
        self._cache = PrefixCache(
            ModelIdentity(weights="none", tokenizer="none"),
            NoKv,
            cost=KVCost(BYTES_PER_TOKEN),
            policy=policy,
            now=self._now,
        )

    def ask(self, tokens: tuple[int, ...]) -> int:
        """Compute a prompt chunk by chunk. Returns how many of its tokens were restored."""
        row = self._cache.open_row(tokens, limit=len(tokens) - 1)
        while row.num_uncomputed:
            chunk = min(CHUNK_TOKENS, row.num_uncomputed)
            missing = self._cache.used_bytes + chunk * BYTES_PER_TOKEN - self._pool_bytes
            if missing > 0:
                self._cache.reclaim(missing)
            storage = row.tail.storage
            assert isinstance(storage, NoKv)
            storage.append(chunk)
            self._cache.publish(row)
        self._now_s += PROMPT_S
        self._cache.close_row(row)
        if self._cache.used_bytes > self._pool_bytes:
            raise BenchError(f"The cache took {self._cache.used_bytes:,} bytes, more than it has.")
        return row.num_cached

    def _now(self) -> float:
        return self._now_s


def on_cache_alone(plan: Plan) -> tuple[Side, ...]:
    """Every policy on the cache alone."""
    return tuple(
        Side(eviction, tuple(_cycles(plan, CacheAlone(eviction, plan.pool_tokens).ask)))
        for eviction in Eviction
    )


def _cycles(plan: Plan, ask: Callable[[tuple[int, ...]], int]) -> Iterator[Cycle]:
    prompts = plan.tokens()
    for _ in range(plan.cycles):
        yield Cycle(sum(ask(tokens) for tokens in prompts))
