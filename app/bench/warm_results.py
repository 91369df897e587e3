"""What a run of `ondol bench warm` measured, and the ratios in it.

Seconds throughout. Ratios are taken within a pair, measured next to each other, before the median:
what slows the machine down for a while slows both sides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.bench.conditions import Conditions
from app.bench.stats import Estimate, estimate, median

LIMIT_FACTOR = 1.25  # what a warm request may cost of the limit, before its fixed allowance


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
    """All warm requests of one kind and size. `over_cold` has one ratio a round."""

    cached_tokens: int
    computed_tokens: int
    ttft_s: float
    limit_s: float
    over_limit: Estimate
    beyond_limit_s: Estimate
    over_cold: Estimate

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
        return _summary([(one.same, one.cold_s) for one in self.rounds])

    @property
    def another(self) -> WarmSummary:
        """The same document, another question."""
        return _summary([(one.another, one.cold_s) for one in self.rounds])


@dataclass(frozen=True, slots=True)
class Results:
    """A whole run."""

    conditions: Conditions
    sizes: tuple[SizeResult, ...]


def _summary(rounds: Sequence[tuple[tuple[Warm, ...], float]]) -> WarmSummary:
    """Of each round its warm requests and its cold time."""
    warms = [warm for of_round, _ in rounds for warm in of_round]
    return WarmSummary(
        cached_tokens=round(median([warm.cached_tokens for warm in warms])),
        computed_tokens=round(median([warm.computed_tokens for warm in warms])),
        ttft_s=median([warm.ttft_s for warm in warms]),
        limit_s=median([warm.limit_s for warm in warms]),
        over_limit=estimate([warm.ttft_s / warm.limit_s for warm in warms]),
        beyond_limit_s=estimate([warm.ttft_s - LIMIT_FACTOR * warm.limit_s for warm in warms]),
        over_cold=estimate(
            [median([warm.ttft_s for warm in of_round]) / cold_s for of_round, cold_s in rounds]
        ),
    )
