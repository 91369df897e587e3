"""`ondol bench lookup`: how long the prefix cache takes to find a prompt, and what its index
weighs.

The cache is the engine's own; its storages hold no KV, so nothing else is in the figures.
"""

from __future__ import annotations

import enum
import gc
import random
import time
import tracemalloc
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from app.bench.errors import BenchError
from app.bench.no_kv import BYTES_PER_TOKEN, NoKv
from app.bench.stats import Estimate, estimate
from engine.cache.cost import KVCost
from engine.cache.identity import ModelIdentity
from engine.cache.prefix_cache import PrefixCache
from engine.cache.row import TOKEN_TYPE, Row
from engine.config import EngineConfig

PAGE_TOKENS = EngineConfig().page_tokens
MIN_PROMPT_TOKENS = 4 * PAGE_TOKENS  # the branches then lie in different pages

_VOCABULARY = 50_000  # other prompts go on with tokens beyond it, each with one of its own
_OWN_TOKENS = 24  # what another prompt adds: the rest of its page, and the next one in part
_COLD_BYTES = 64 * 1024**2


class Tree(enum.Enum):
    """Which other prompts stand in the index."""

    ALONE = "none"
    SHARED_HALF = "with the same half"
    SHARED_PAGE = "up to its last page"


class Lookup(enum.Enum):
    """What is looked up: the prompt, one that differs in its last page, one that differs from its
    half on."""

    AGAIN = "same prompt"
    NEAR_MISS = "near miss"
    HALF = "same half"


NUM_OTHERS = {Tree.ALONE: 0, Tree.SHARED_HALF: 1_000, Tree.SHARED_PAGE: 64}


@dataclass(frozen=True, slots=True)
class Plan:
    """What to measure: prompts of these sizes in tokens, each look-up `repeats` times, beside
    `num_others` other prompts in each tree."""

    sizes: tuple[int, ...]
    repeats: int
    num_others: Mapping[Tree, int]


@dataclass(frozen=True, slots=True)
class Found:
    """One kind of look-up: the tokens it found, and how long it took each time."""

    num_tokens: int
    seconds: tuple[float, ...]

    @property
    def time_s(self) -> Estimate:
        return estimate(self.seconds)


@dataclass(frozen=True, slots=True)
class TreeResult:
    """One tree: its pages, and every look-up in it."""

    tree: Tree
    num_others: int
    num_pages: int
    found: Mapping[Lookup, Found]

    @property
    def others(self) -> str:
        """For people: "1,000 with the same half"."""
        return f"{self.num_others:,} {self.tree.value}" if self.num_others else self.tree.value


@dataclass(frozen=True, slots=True)
class LookupSize:
    """One size. `index_bytes` is what Python allocated for the prompt's pages and its one part,
    without other prompts."""

    prompt_tokens: int
    index_bytes: int
    trees: Mapping[Tree, TreeResult]

    @property
    def bytes_per_token(self) -> float:
        return self.index_bytes / self.prompt_tokens


class Prompt:
    """A prompt of random tokens, at least MIN_PROMPT_TOKENS of them, and others that leave it
    inside a page: in the middle of the prompt (`half`) or in its last page (`near_end`)."""

    def __init__(self, num_tokens: int, seed: int = 1) -> None:
        chance = random.Random(seed)
        # A tuple, as a request brings it.
        self.tokens = tuple(chance.choices(range(_VOCABULARY), k=num_tokens))
        self.half = num_tokens // 2 // PAGE_TOKENS * PAGE_TOKENS + PAGE_TOKENS // 2
        last_page = (num_tokens - 1) // PAGE_TOKENS * PAGE_TOKENS
        self.near_end = last_page + (num_tokens - last_page) // 2

    def others(self, tree: Tree, count: int) -> Iterator[array[int]]:
        """Other prompts that a tree holds; no two go on with the same token."""
        at = self.half if tree is Tree.SHARED_HALF else self.near_end
        shared = array(TOKEN_TYPE, self.tokens[:at])
        for number in range(count):
            yield shared + array(TOKEN_TYPE, [_VOCABULARY + 1 + number] * _OWN_TOKENS)

    def wanted(self, lookup: Lookup) -> tuple[tuple[int, ...], int]:
        """The tokens to look up, as many as the prompt has, and how many of them are known."""
        known = {
            # A request computes at least its last token, whose logits begin the answer.
            Lookup.AGAIN: len(self.tokens) - 1,
            Lookup.NEAR_MISS: self.near_end,
            Lookup.HALF: self.half,
        }[lookup]
        if lookup is Lookup.AGAIN:
            return self.tokens, known
        fresh = (_VOCABULARY,) * (len(self.tokens) - known)
        return self.tokens[:known] + fresh, known


class LookupBench:
    """Builds trees and looks up in them. `say` gets a line of progress for each tree."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._other_data = np.zeros(_COLD_BYTES // 8, np.int64)

    def run(self, plan: Plan) -> tuple[LookupSize, ...]:
        """Raises BenchError when a look-up finds another number of tokens than are known."""
        return tuple(self._size(Prompt(size), plan) for size in plan.sizes)

    def _size(self, prompt: Prompt, plan: Plan) -> LookupSize:
        index_bytes = _index_bytes(prompt)
        trees = {}
        for tree in Tree:
            trees[tree] = self._tree(prompt, tree, plan)
            self._say(_told(prompt, trees[tree]))
        return LookupSize(len(prompt.tokens), index_bytes, trees)

    def _tree(self, prompt: Prompt, tree: Tree, plan: Plan) -> TreeResult:
        cache = _new_cache()
        _compute(cache, prompt.tokens)
        count = plan.num_others[tree]
        for other in prompt.others(tree, count):
            _compute(cache, other)
        return TreeResult(tree, count, cache.num_pages, self._look_up(cache, prompt, plan.repeats))

    def _look_up(self, cache: PrefixCache, prompt: Prompt, repeats: int) -> dict[Lookup, Found]:
        wanted = {lookup: prompt.wanted(lookup) for lookup in Lookup}
        seconds: dict[Lookup, list[float]] = {lookup: [] for lookup in Lookup}
        for _ in range(repeats):
            for lookup, (tokens, known) in wanted.items():
                self._cool_down()
                started = time.perf_counter()
                match = cache.match(tokens, len(tokens) - 1)
                seconds[lookup].append(time.perf_counter() - started)
                if match.num_tokens != known:
                    raise BenchError(
                        f"Looking up {len(tokens):,} tokens ({lookup.value}) found "
                        f"{match.num_tokens:,} where {known:,} are known."
                    )
        return {
            lookup: Found(known, tuple(seconds[lookup])) for lookup, (_, known) in wanted.items()
        }

    def _cool_down(self) -> None:
        """Push the index out of the processor's caches, as the forward pass before a look-up
        does."""
        self._other_data += 1


def _new_cache() -> PrefixCache:
    return PrefixCache(
        ModelIdentity(weights="none", tokenizer="none"),
        NoKv,
        cost=KVCost(BYTES_PER_TOKEN),
        page_tokens=PAGE_TOKENS,
    )


def _compute(cache: PrefixCache, tokens: Sequence[int]) -> None:
    """A whole request that generates nothing: found, computed, published, ended."""
    row = cache.open_row(tokens, limit=len(tokens) - 1)
    _append(row)
    cache.publish(row)
    cache.close_row(row)


def _append(row: Row) -> None:
    storage = row.tail.storage
    assert isinstance(storage, NoKv)
    storage.append(row.num_uncomputed)


def _index_bytes(prompt: Prompt) -> int:
    """Bytes that stay allocated when the prompt has been computed, counted by tracemalloc."""
    gc.collect()
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        cache = _new_cache()
        _compute(cache, prompt.tokens)
        gc.collect()
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return after - before


def _told(prompt: Prompt, result: TreeResult) -> str:
    times = ", ".join(
        f"{lookup.value} {1000 * found.time_s.median:.2f} ms"
        for lookup, found in result.found.items()
    )
    return f"{len(prompt.tokens):,} tokens, others: {result.others}: {times}"
