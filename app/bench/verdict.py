"""Figures beside their bars."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from app.bench.stats import MIN_PAIRS, Estimate

_CLOSE = 0.1
_LEAST_PAIRS = 3


@dataclass(frozen=True, slots=True)
class Verdict:
    """One figure beside its bar, of prompts of a size where that matters. `unit` is "", "ms", "%"
    or "tokens", for all numbers alike.

    `at_least` marks savings in percent; every other figure must not be above its bar. With pairs
    enough the 95 % interval decides: it must reach the bar (design §5).
    """

    what: str
    prompt_tokens: int | None
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
        """So near the bar, or so few pairs or such unlike ones, that they do not decide."""
        if self.value.n >= MIN_PAIRS:
            return False
        if self.value.n < _LEAST_PAIRS or self.value.low <= self.bar <= self.value.high:
            return True
        # A saving of 96 % is near one of 95 %, but what they leave to do is not: 4 % and 5 %.
        scale = 100 - self.bar if self.at_least else self.bar
        return abs(self.value.median - self.bar) <= _CLOSE * scale


def counted(value: float) -> Estimate:
    """A count is what it is: more pairs would not make it surer."""
    return Estimate(value, value, value, MIN_PAIRS)


def scaled(value: Estimate, factor: float, offset: float = 0.0) -> Estimate:
    """factor × value + offset; a negative factor turns the interval round."""
    low, high = sorted((factor * value.low + offset, factor * value.high + offset))
    return Estimate(factor * value.median + offset, low, high, value.n)


def against_bars(judged: Sequence[Verdict], sample: str = "pair") -> list[str]:
    """All bars for people, and how many were met; `sample` names what figures are the medians
    of."""
    missed = sum(not verdict.met for verdict in judged)
    return [
        "Against the bars",
        *(_line(verdict, sample) for verdict in judged),
        "",
        f"{len(judged) - missed} of {len(judged)} bars met, {missed} missed.",
    ]


def verdicts_json(judged: Sequence[Verdict]) -> list[dict[str, Any]]:
    """All bars for programs, units as given with each."""
    return [asdict(each) | {"met": each.met, "unsure": each.unsure} for each in judged]


def _line(verdict: Verdict, sample: str) -> str:
    sign = "≥" if verdict.at_least else "≤"
    unit = f" {verdict.unit}" if verdict.unit in ("ms", "%") else ""
    value = verdict.value
    size = "" if verdict.prompt_tokens is None else f"{verdict.prompt_tokens:>5,} tokens  "
    figure = f"{_number(value.median, verdict)}{unit} (bar {sign} {verdict.bar:g}{unit})"
    text = f"  {'met   ' if verdict.met else 'MISSED'}  {size}{verdict.what} {figure}"
    if verdict.unsure:
        return f"{text}; too near for {_counted(value.n, sample)}: judge with --pairs {MIN_PAIRS}"
    if value.n >= MIN_PAIRS and value.low < value.high:
        interval = f"{_number(value.low, verdict)} to {_number(value.high, verdict)}"
        return f"{text}; 95 % interval {interval}, {_counted(value.n, sample)}"
    return text


def _number(value: float, verdict: Verdict) -> str:
    match verdict.unit:
        case "":
            return f"{value:.3f}"
        case "tokens":
            return f"{value:.0f}"
        case _:
            return f"{value:.1f}"


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
