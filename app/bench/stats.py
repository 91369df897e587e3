"""Medians, and how far they can be trusted."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

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


def estimate(values: Sequence[float]) -> Estimate:
    """The median with its percentile bootstrap interval. The same values give the same interval.

    Raises StatisticsError for no values.
    """
    middle = median(values)
    draws = np.random.default_rng(0).choice(np.asarray(values, float), (_RESAMPLES, len(values)))
    tail = (1 - _CONFIDENCE) / 2
    low, high = np.quantile(np.median(draws, axis=1), (tail, 1 - tail))
    return Estimate(middle, float(low), float(high), len(values))
