"""Medians, and how far they can be trusted."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

MIN_PAIRS = 15  # fewer do not judge a bar that is within 10 % (design §5)

_RESAMPLES = 10_000
_CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Estimate:
    """A median of `n` values. `low` and `high` bound it with 95 % confidence (bootstrap)."""

    median: float
    low: float
    high: float
    n: int


def median(values: Sequence[float]) -> float:
    """Raises StatisticsError for no values."""
    return statistics.median(values)


def nearest_rank(values: Sequence[float], share: float) -> float:
    """The smallest value that is not below this share of all. Raises IndexError for no values."""
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


def estimate(values: Sequence[float]) -> Estimate:
    """The median with its percentile bootstrap interval. The same values give the same interval.

    Raises StatisticsError for no values.
    """
    low, high = _interval(np.median(_draws(values), axis=1))
    return Estimate(median(values), low, high, len(values))


def estimated_mean(values: Sequence[float]) -> Estimate:
    """The mean, with its interval, in the place of the median."""
    low, high = _interval(np.mean(_draws(values), axis=1))
    return Estimate(statistics.fmean(values), low, high, len(values))


def _draws(values: Sequence[float]) -> Any:
    if not values:
        raise statistics.StatisticsError("there is nothing to estimate from")
    return np.random.default_rng(0).choice(np.asarray(values, float), (_RESAMPLES, len(values)))


def _interval(statistic: Any) -> tuple[float, float]:
    tail = (1 - _CONFIDENCE) / 2
    low, high = np.quantile(statistic, (tail, 1 - tail))
    return float(low), float(high)
