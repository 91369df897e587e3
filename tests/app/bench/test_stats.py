"""Medians and their intervals."""

from __future__ import annotations

import statistics

import pytest

from app.bench.stats import estimate, median


def test_median() -> None:
    assert median([3.0, 1.0, 2.0]) == 2.0
    assert median([1.0, 2.0]) == 1.5
    with pytest.raises(statistics.StatisticsError):
        median([])


def test_the_interval_of_equal_values_is_a_point() -> None:
    assert estimate([1.04] * 15) == estimate([1.04] * 15)
    found = estimate([1.04] * 15)
    assert (found.median, found.low, found.high, found.n) == (1.04, 1.04, 1.04, 15)


def test_one_value_has_no_spread_to_show() -> None:
    found = estimate([2.0])
    assert (found.low, found.high, found.n) == (2.0, 2.0, 1)


def test_the_interval_is_that_of_the_order_statistics() -> None:
    """Of 15 values the exact 95 % interval of the median runs from the 4th to the 12th."""
    found = estimate([float(value) for value in range(1, 16)])
    assert found.median == 8.0
    assert (found.low, found.high) == (4.0, 12.0)


def test_one_wild_pair_hardly_moves_it() -> None:
    calm = [1.0 + 0.01 * step for step in range(15)]
    wild = [*calm[:-1], 50.0]
    assert estimate(wild).median == estimate(calm).median
    assert estimate(wild).high < 1.15
