"""What a run of `ondol bench warm` measured, and the ratios in it.

Seconds throughout. Ratios are taken within a pair, measured next to each other, before the median:
what slows the machine down for a while slows both sides.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from app.bench.stats import Estimate, estimate, median


@dataclass(frozen=True, slots=True)
class Warm:
    """One request with a warm prefix, and plain mlx-lm on its uncached tokens with the KV of all
    others in place: the limit."""

    prompt_tokens: int
    cached_tokens: int
    ttft_s: float
    limit_s: float

    @property
    def computed_tokens(self) -> int:
        return self.prompt_tokens - self.cached_tokens


@dataclass(frozen=True, slots=True)
class Round:
    """One new prompt: cold on both sides, again as it is, then with other questions at its end."""

    prompt_tokens: int
    cold_cached_tokens: int
    cold_s: float
    plain_s: float
    same: tuple[Warm, ...]
    another: tuple[Warm, ...]


@dataclass(frozen=True, slots=True)
class WarmSummary:
    """Medians over all rounds and repeats of one kind of warm request."""

    prompt_tokens: float
    cached_tokens: float
    computed_tokens: float
    ttft_s: float
    limit_s: float
    over_limit: Estimate
    over_cold: Estimate
    beyond_limit_s: float

    @property
    def saving(self) -> float:
        """Share of the cold time that was saved."""
        return 1 - self.over_cold.median


@dataclass(frozen=True, slots=True)
class SizeResult:
    """All rounds of one size, at least one. `target` is the size asked for, in tokens."""

    target: int
    rounds: tuple[Round, ...]

    @property
    def prompt_tokens(self) -> int:
        return round(median([one.prompt_tokens for one in self.rounds]))

    @property
    def cold_cached_tokens(self) -> int:
        """The most that any cold request found: cold is cold when this is 0."""
        return max(one.cold_cached_tokens for one in self.rounds)

    @property
    def cold_s(self) -> float:
        return median([one.cold_s for one in self.rounds])

    @property
    def plain_s(self) -> float:
        return median([one.plain_s for one in self.rounds])

    @property
    def cold_over_plain(self) -> Estimate:
        return estimate([one.cold_s / one.plain_s for one in self.rounds])

    @property
    def same(self) -> WarmSummary:
        """The identical prompt again."""
        return _summary((warm, one.cold_s) for one in self.rounds for warm in one.same)

    @property
    def another(self) -> WarmSummary:
        """The same document, another question."""
        return _summary((warm, one.cold_s) for one in self.rounds for warm in one.another)


@dataclass(frozen=True, slots=True)
class Conditions:
    """Where and how a run was made. `device` is `engine.model.device.describe()`."""

    started_at: str
    model: str
    dtype: str
    device: Mapping[str, Any]
    cores: int
    load_before: float
    versions: Mapping[str, str]
    threads: int
    prefill_chunk: int
    max_tokens: int
    rounds: int
    repeats: int


@dataclass(frozen=True, slots=True)
class Results:
    """A whole run."""

    conditions: Conditions
    sizes: tuple[SizeResult, ...]


def _summary(warm_and_cold: Iterable[tuple[Warm, float]]) -> WarmSummary:
    pairs = list(warm_and_cold)
    warms = [warm for warm, _ in pairs]
    return WarmSummary(
        prompt_tokens=median([warm.prompt_tokens for warm in warms]),
        cached_tokens=median([warm.cached_tokens for warm in warms]),
        computed_tokens=median([warm.computed_tokens for warm in warms]),
        ttft_s=median([warm.ttft_s for warm in warms]),
        limit_s=median([warm.limit_s for warm in warms]),
        over_limit=estimate([warm.ttft_s / warm.limit_s for warm in warms]),
        over_cold=estimate([warm.ttft_s / cold_s for warm, cold_s in pairs]),
        beyond_limit_s=0.0,
    )
