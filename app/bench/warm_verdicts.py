"""The bars of `ondol bench warm`, from the design and from the source article's table."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from app.bench.verdict import Verdict, counted, scaled
from app.bench.warm_results import LIMIT_FACTOR, SizeResult, WarmSummary

# Savings that the source article reports at its prompt sizes, in tokens (requirement S0-2).
SOURCE_SAVINGS = {241: 0.770, 459: 0.913, 681: 0.946, 904: 0.962}

_LONG_PROMPT_TOKENS = 900
_GREETING_TOKENS = 20


def verdicts(sizes: Sequence[SizeResult]) -> tuple[Verdict, ...]:
    """Every bar that applies to these sizes, bar by bar."""
    found = (bar(size) for bar in _BARS for size in sizes)
    return tuple(verdict for verdict in found if verdict is not None)


def _cold(size: SizeResult) -> Verdict:
    return Verdict("cold / plain mlx-lm", size.prompt_tokens, size.cold_over_plain, 1.05)


def _greeting(size: SizeResult) -> Verdict | None:
    if size.target > _GREETING_TOKENS:
        return None
    return Verdict("greeting, warm / cold", size.prompt_tokens, size.same.over_cold, 1.0)


def _warm(size: SizeResult) -> Verdict | None:
    if size.target < _LONG_PROMPT_TOKENS:
        return None
    return Verdict("warm / cold", size.prompt_tokens, size.same.over_cold, 0.05)


def _uncached(size: SizeResult) -> Verdict | None:
    if size.target < _LONG_PROMPT_TOKENS:
        return None
    value = counted(size.same.computed_tokens)
    return Verdict("warm, tokens not cached", size.prompt_tokens, value, 17, "tokens")


def _source(size: SizeResult) -> Verdict | None:
    if size.target not in SOURCE_SAVINGS:
        return None
    value = scaled(size.same.over_cold, -100, 100)
    bar = 100 * SOURCE_SAVINGS[size.target]
    return Verdict("saving, the source's", size.prompt_tokens, value, bar, "%", at_least=True)


def _warm_limit(size: SizeResult) -> Verdict:
    return Verdict("warm / limit", size.prompt_tokens, size.same.over_limit, LIMIT_FACTOR)


def _warm_allowance(size: SizeResult) -> Verdict:
    return _allowance("warm", size, size.same)


def _next_limit(size: SizeResult) -> Verdict:
    value = size.another.over_limit
    return Verdict("next question / limit", size.prompt_tokens, value, LIMIT_FACTOR)


def _next_allowance(size: SizeResult) -> Verdict:
    return _allowance("next question", size, size.another)


_BARS: tuple[Callable[[SizeResult], Verdict | None], ...] = (
    _cold,
    _greeting,
    _warm,
    _uncached,
    _source,
    _warm_limit,
    _warm_allowance,
    _next_limit,
    _next_allowance,
)


def _allowance(name: str, size: SizeResult, warm: WarmSummary) -> Verdict:
    """What a warm request takes beyond 1.25 × the limit: HTTP, template and tokenizer."""
    value = scaled(warm.beyond_limit_s, 1000)
    return Verdict(f"{name} - {LIMIT_FACTOR} x limit", size.prompt_tokens, value, 15.0, "ms")
