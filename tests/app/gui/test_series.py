"""Figures in rings, what is computed from them, and round numbers for axes."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.gui.charts.scale import ticks
from app.gui.charts.series import (
    NOTHING,
    Extent,
    RingSeries,
    binned_sums,
    extent,
    rolling_sum,
    shares,
)


def same(left: Sequence[float], right: Sequence[float]) -> bool:
    """Equal, where NaN equals NaN."""
    return [None if math.isnan(value) else value for value in left] == [
        None if math.isnan(value) else value for value in right
    ]


@given(st.lists(st.floats(allow_nan=False), max_size=30), st.integers(1, 8))
def test_a_ring_keeps_the_latest_in_order(figures: list[float], capacity: int) -> None:
    ring = RingSeries(capacity)
    for figure in figures:
        ring.append(figure)
    kept = figures[-capacity:]
    assert same(ring.values(), [NOTHING] * (capacity - len(kept)) + kept)
    assert all(ring.get(age) == figure for age, figure in enumerate(reversed(kept)))


def test_a_ring_takes_what_was_measured_earlier() -> None:
    ring = RingSeries(3)
    for figure in (1.0, 2.0, 3.0, 4.0):
        ring.append(figure)
    ring.put(1, 30.0)
    ring.put(3, 99.0)
    assert list(ring.values()) == [2.0, 30.0, 4.0]
    assert math.isnan(ring.get(3))


def test_skipping_more_than_all_forgets_all() -> None:
    ring = RingSeries(3)
    ring.append(1.0)
    ring.skip(1_000_000)
    assert extent(ring.values()) is None


def test_extent_leaves_out_what_was_not_measured() -> None:
    assert extent([NOTHING, 3.0, 1.0, NOTHING, 2.0, NOTHING]) == Extent(2.0, 1.0, 3.0)


def test_a_rolling_sum_begins_anew_after_a_gap() -> None:
    sums = rolling_sum([1.0, 2.0, 3.0, NOTHING, 4.0, 5.0], 2)
    assert same(sums, [1.0, 3.0, 5.0, NOTHING, 4.0, 9.0])


def test_shares_of_nothing_are_unknown() -> None:
    assert same(shares([1.0, 0.0, NOTHING], [3.0, 0.0, NOTHING]), [0.25, NOTHING, NOTHING])


def test_bins_stand_still_while_moments_pass() -> None:
    moments = [float(moment) for moment in range(100)]
    early, late = (
        list(binned_sums(moments[newest - 29 : newest + 1], 10, newest)) for newest in (93, 97)
    )
    assert early == [sum(range(70, 80)), sum(range(80, 90)), sum(range(90, 94))]
    assert late[:2] == early[:2]
    assert late[2] == sum(range(90, 98))


@given(st.floats(0, 1e12), st.integers(1, 5), st.sampled_from([0.0, 1.0]))
def test_ticks_are_few_and_reach_the_highest(highest: float, count: int, smallest: float) -> None:
    scale = ticks(highest, count, smallest)
    assert scale[0] == 0
    assert 2 <= len(scale) <= count + 1 + (count == 1)
    assert scale[-1] >= highest * (1 - 1e-6)
    assert scale[1] >= smallest


@pytest.mark.parametrize(
    ("highest", "expected"),
    [(0.0, (0.0, 1.0)), (60.0, (0.0, 20.0, 40.0, 60.0)), (1234.0, (0.0, 500.0, 1000.0, 1500.0))],
)
def test_ticks_are_round(highest: float, expected: tuple[float, ...]) -> None:
    assert ticks(highest) == expected


def test_what_is_counted_has_no_half_ticks() -> None:
    assert ticks(1.0, 3, 1.0) == (0.0, 1.0)
