"""`ondol bench partial`: what hits that end inside a block are worth where a model needs
checkpoints, and what they cost a cold prompt (S1-11, S1-12).

The article's experiment: a prompt of 10,000 tokens, then the same one and 200 tokens more. A cache
of whole blocks is stood in for by one that was shown no more of the prompt than its whole blocks.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from app.bench.errors import BenchError
from app.bench.local_engine import Reply
from app.bench.quiet import settle
from app.bench.stats import Estimate, estimate, median

_WARM_UP_TOKENS = 300


@dataclass(frozen=True, slots=True)
class Plan:
    """What to measure.

    `pairs` times: a new prompt of `prompt_tokens`, cold, and then followed by `added_tokens` more
    with partial hits and with each of `blocks`. `sightings` times: a new prompt of each of
    `sighted_tokens`, twice.
    """

    prompt_tokens: int
    added_tokens: int
    blocks: tuple[int, ...]
    pairs: int
    sighted_tokens: tuple[int, ...]
    sightings: int

    @property
    def longest_tokens(self) -> int:
        return max(self.prompt_tokens + self.added_tokens, *self.sighted_tokens)


@dataclass(frozen=True, slots=True)
class Cold:
    """One new prompt, in seconds to the first token: by the engine, by the engine with its cache
    off, and by plain mlx-lm."""

    ondol_s: float
    no_cache_s: float
    plain_s: float


@dataclass(frozen=True, slots=True)
class ColdResult:
    """All cold prompts of one size."""

    prompt_tokens: int
    pairs: tuple[Cold, ...]

    @property
    def ondol_s(self) -> float:
        return median([pair.ondol_s for pair in self.pairs])

    @property
    def no_cache_s(self) -> float:
        return median([pair.no_cache_s for pair in self.pairs])

    @property
    def plain_s(self) -> float:
        return median([pair.plain_s for pair in self.pairs])

    @property
    def over_no_cache(self) -> Estimate:
        return estimate([pair.ondol_s / pair.no_cache_s for pair in self.pairs])

    @property
    def over_plain(self) -> Estimate:
        return estimate([pair.ondol_s / pair.plain_s for pair in self.pairs])


@dataclass(frozen=True, slots=True)
class Followed:
    """The prompt and the added tokens: found, and seconds to the first token, where only whole
    blocks were known, and with partial hits."""

    blocks_s: float
    partial_found: int
    partial_s: float


@dataclass(frozen=True, slots=True)
class BlockResult:
    """Block sizes that know equally much of the prompt: `known_tokens`."""

    blocks: tuple[int, ...]
    prompt_tokens: int
    known_tokens: int
    pairs: tuple[Followed, ...]

    @property
    def partial_found(self) -> int:
        """The least that a partial hit found."""
        return min(pair.partial_found for pair in self.pairs)

    @property
    def blocks_s(self) -> float:
        return median([pair.blocks_s for pair in self.pairs])

    @property
    def partial_s(self) -> float:
        return median([pair.partial_s for pair in self.pairs])

    @property
    def over_blocks(self) -> Estimate:
        """Time with partial hits / time with whole blocks."""
        return estimate([pair.partial_s / pair.blocks_s for pair in self.pairs])


@dataclass(frozen=True, slots=True)
class Sighting:
    """One new prompt, cold with and without a cache and then again, seconds to the first token."""

    first_s: float
    no_cache_s: float
    second_s: float
    found_tokens: int


@dataclass(frozen=True, slots=True)
class SightingResult:
    """All prompts of one size that were seen twice."""

    prompt_tokens: int
    sightings: tuple[Sighting, ...]

    @property
    def first_s(self) -> float:
        return median([one.first_s for one in self.sightings])

    @property
    def no_cache_s(self) -> float:
        return median([one.no_cache_s for one in self.sightings])

    @property
    def second_s(self) -> float:
        return median([one.second_s for one in self.sightings])

    @property
    def over_no_cache(self) -> Estimate:
        return estimate([one.first_s / one.no_cache_s for one in self.sightings])

    @property
    def found_tokens(self) -> int:
        """The least that a second sighting found."""
        return min(one.found_tokens for one in self.sightings)

    @property
    def found_share(self) -> float:
        return self.found_tokens / self.prompt_tokens


@dataclass(frozen=True, slots=True)
class PartialResults:
    """A whole run; `blocks` from the smallest block to the largest."""

    cold: ColdResult
    blocks: tuple[BlockResult, ...]
    sightings: tuple[SightingResult, ...]


class CachingEngine(Protocol):
    """What the bench needs of `app.bench.local_engine.LocalEngine`."""

    def ask(self, tokens: Sequence[int], salt: str) -> Reply: ...

    def fill(self, tokens: Sequence[int], salt: str) -> None: ...

    def ask_without_cache(self, tokens: Sequence[int]) -> Reply: ...


class PartialBench:
    """Asks an engine, with and without its cache, and plain mlx-lm in turn.

    `plain_cold` gives plain mlx-lm's seconds to the first token of a prompt, `say` gets lines of
    progress. Prompts are random tokens below `vocabulary`.
    """

    def __init__(
        self,
        engine: CachingEngine,
        plain_cold: Callable[[Sequence[int]], float],
        vocabulary: int,
        say: Callable[[str], None],
    ) -> None:
        self._engine = engine
        self._plain_cold = plain_cold
        self._vocabulary = vocabulary
        self._say = say
        self._chance = random.Random(1)
        self._salts = (f"prompt-{number}" for number in itertools.count(1))

    def run(self, plan: Plan) -> PartialResults:
        """Raises BenchError when a side fails or a request finds what it should not."""
        self._warm_up()
        sightings = tuple(
            self._see_twice(size, plan.sightings) for size in sorted(plan.sighted_tokens)
        )
        known = known_by_blocks(plan.prompt_tokens, plan.blocks)
        cold: list[Cold] = []
        followed: dict[int, list[Followed]] = {tokens: [] for tokens in known}
        for number in range(plan.pairs):
            prompt, salt = self._new_tokens(plan.prompt_tokens), next(self._salts)
            turned = bool(number % 2)
            cold.append(self._cold(prompt, salt, turned))
            for tokens, of_tokens in followed.items():
                of_tokens.append(self._follow(prompt, salt, tokens, plan.added_tokens, turned))
            largest = followed[min(followed)][-1]
            self._say(f"pair {number + 1} of {plan.pairs}, {_told(cold[-1], largest)}")
        blocks = tuple(
            BlockResult(sizes, plan.prompt_tokens + plan.added_tokens, tokens, tuple(pairs))
            for (tokens, sizes), pairs in zip(known.items(), followed.values(), strict=True)
        )
        return PartialResults(ColdResult(plan.prompt_tokens, tuple(cold)), blocks, sightings)

    def _warm_up(self) -> None:
        tokens = self._new_tokens(_WARM_UP_TOKENS)
        self._engine.ask(tokens, next(self._salts))
        self._engine.ask_without_cache(tokens)
        self._plain_cold(tokens)

    def _see_twice(self, num_tokens: int, sightings: int) -> SightingResult:
        found = []
        for number in range(sightings):
            prompt, salt = self._new_tokens(num_tokens), next(self._salts)
            if number % 2:
                no_cache_s, first_s = self._no_cache(prompt), self._first(prompt, salt)
            else:
                first_s, no_cache_s = self._first(prompt, salt), self._no_cache(prompt)
            second = self._ask(prompt, salt)
            found.append(Sighting(first_s, no_cache_s, second.ttft_s, second.cached_tokens))
        result = SightingResult(num_tokens, tuple(found))
        self._say(
            f"{num_tokens:,} tokens: first {1000 * result.first_s:.0f} ms, "
            f"second {1000 * result.second_s:.0f} ms"
        )
        return result

    def _cold(self, prompt: list[int], salt: str, turned: bool) -> Cold:
        """Leaves the prompt in the cache under `salt`."""
        if turned:
            plain_s, no_cache_s = self._plain(prompt), self._no_cache(prompt)
            return Cold(self._first(prompt, salt), no_cache_s, plain_s)
        ondol_s, no_cache_s = self._first(prompt, salt), self._no_cache(prompt)
        return Cold(ondol_s, no_cache_s, self._plain(prompt))

    def _follow(
        self, prompt: list[int], salt: str, known_tokens: int, added_tokens: int, turned: bool
    ) -> Followed:
        """The same prompt and more, where the cache knows all of it (`salt`) and where it knows
        whole blocks of it."""
        blocks_salt = next(self._salts)
        if known_tokens:
            self._engine.fill(prompt[:known_tokens], blocks_salt)
        # What was added before is known, too: each time it is something else.
        longer = prompt + self._new_tokens(added_tokens)
        if turned:
            partial, blocks = self._ask(longer, salt), self._ask(longer, blocks_salt)
        else:
            blocks, partial = self._ask(longer, blocks_salt), self._ask(longer, salt)
        if blocks.cached_tokens != known_tokens or partial.cached_tokens < known_tokens:
            raise BenchError(
                f"Of a prompt of {len(longer):,} tokens {blocks.cached_tokens:,} were found where "
                f"{known_tokens:,} are known, and {partial.cached_tokens:,} where it is known "
                "whole: the KV budget may be too small for this model and these sizes."
            )
        return Followed(blocks.ttft_s, partial.cached_tokens, partial.ttft_s)

    def _first(self, prompt: list[int], salt: str) -> float:
        reply = self._ask(prompt, salt)
        if reply.cached_tokens:
            raise BenchError(
                f"A prompt of {len(prompt):,} tokens was to be cold, but {reply.cached_tokens:,} "
                "of them were found."
            )
        return reply.ttft_s

    def _no_cache(self, prompt: list[int]) -> float:
        settle()
        return self._engine.ask_without_cache(prompt).ttft_s

    def _plain(self, prompt: list[int]) -> float:
        settle()
        return self._plain_cold(prompt)

    def _ask(self, prompt: list[int], salt: str) -> Reply:
        settle()
        return self._engine.ask(prompt, salt)

    def _new_tokens(self, count: int) -> list[int]:
        return self._chance.choices(range(self._vocabulary), k=count)


def known_by_blocks(prompt_tokens: int, blocks: Sequence[int]) -> dict[int, tuple[int, ...]]:
    """Block sizes by the tokens of a prompt that its whole blocks hold, ascending by block."""
    known: dict[int, tuple[int, ...]] = {}
    for block in sorted(blocks):
        tokens = prompt_tokens // block * block
        known[tokens] = (*known.get(tokens, ()), block)
    return known


def _told(cold: Cold, largest: Followed) -> str:
    return (
        f"cold {cold.ondol_s:.2f} s, without cache {cold.no_cache_s:.2f} s, "
        f"plain mlx-lm {cold.plain_s:.2f} s, then whole blocks {largest.blocks_s:.2f} s, "
        f"partial {1000 * largest.partial_s:.0f} ms"
    )
