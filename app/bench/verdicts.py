"""The bars a run is held against, from the design and from the source article's table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from app.bench.results import LIMIT_FACTOR, SizeResult, WarmSummary
from app.bench.stats import MIN_PAIRS, Estimate

# Savings that the source article reports at its prompt sizes, in tokens (requirement S0-2).
SOURCE_SAVINGS = {241: 0.770, 459: 0.913, 681: 0.946, 904: 0.962}

_MAX_COLD_RATIO = 1.05
_MAX_WARM_RATIO = 0.05
_MAX_BEYOND_LIMIT_S = 0.015
_MAX_UNCACHED_TOKENS = 17
_LONG_PROMPT_TOKENS = 900
_GREETING_TOKENS = 20
_CLOSE = 0.1


@dataclass(frozen=True, slots=True)
class Verdict:
    """One figure beside its bar. `unit` is "", "ms", "%" or "tokens", for all numbers alike.

    With pairs enough the 95 % interval decides: it must reach the bar (design §5).
    """

    what: str
    prompt_tokens: int
    value: Estimate
    bar: float
    unit: str = ""
    at_least: bool = False

    @property
    def met(self) -> bool:
        enough = self.value.n >= MIN_PAIRS
        if self.at_least:
            return (self.value.high if enough else self.value.median) >= self.bar
        return (self.value.low if enough else self.value.median) <= self.bar

    @property
    def unsure(self) -> bool:
        """So near the bar that this few pairs do not decide."""
        near = abs(self.value.median - self.bar) <= _CLOSE * abs(self.bar)
        return near and self.value.n < MIN_PAIRS


def verdicts(sizes: tuple[SizeResult, ...]) -> tuple[Verdict, ...]:
    """Every bar that applies to these sizes, bar by bar."""
    found = [verdict for size in sizes for verdict in _of_size(size)]
    order = list(dict.fromkeys(verdict.what for verdict in found))
    return tuple(sorted(found, key=lambda verdict: order.index(verdict.what)))


def _of_size(size: SizeResult) -> Iterator[Verdict]:
    tokens, same = size.prompt_tokens, size.same
    yield Verdict("cold / plain mlx-lm", tokens, size.cold_over_plain, _MAX_COLD_RATIO)
    if size.target <= _GREETING_TOKENS:
        yield Verdict("greeting, warm / cold", tokens, same.over_cold, 1.0)
    if size.target >= _LONG_PROMPT_TOKENS:
        yield Verdict("warm / cold", tokens, same.over_cold, _MAX_WARM_RATIO)
        uncached = _counted(same.computed_tokens)
        yield Verdict("warm, not cached", tokens, uncached, _MAX_UNCACHED_TOKENS, "tokens")
    if size.target in SOURCE_SAVINGS:
        saving = _scaled(same.over_cold, -100, 100)
        bar = 100 * SOURCE_SAVINGS[size.target]
        yield Verdict("saving, the source's", tokens, saving, bar, "%", at_least=True)
    yield from _against_limit("warm", tokens, same)
    yield from _against_limit("next question", tokens, size.another)


def _against_limit(name: str, tokens: int, warm: WarmSummary) -> Iterator[Verdict]:
    yield Verdict(f"{name} / limit", tokens, warm.over_limit, LIMIT_FACTOR)
    beyond_ms = _scaled(warm.beyond_limit_s, 1000)
    bar_ms = 1000 * _MAX_BEYOND_LIMIT_S
    yield Verdict(f"{name} - {LIMIT_FACTOR} x limit", tokens, beyond_ms, bar_ms, "ms")


def _counted(value: int) -> Estimate:
    """A count is what it is: more pairs would not make it surer."""
    return Estimate(value, value, value, MIN_PAIRS)


def _scaled(value: Estimate, factor: float, offset: float = 0.0) -> Estimate:
    """factor × value + offset; a negative factor turns the interval round."""
    low, high = sorted((factor * value.low + offset, factor * value.high + offset))
    return Estimate(factor * value.median + offset, low, high, value.n)
