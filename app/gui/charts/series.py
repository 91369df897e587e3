"""Figures in order, and what can be computed from them. NaN stands for "nothing was measured"."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

NOTHING = math.nan


class RingSeries:
    """The latest `capacity` figures. The oldest goes when one comes; at first all are NaN."""

    def __init__(self, capacity: int) -> None:
        self._figures = array("d", [NOTHING]) * capacity
        self._next = 0

    def __len__(self) -> int:
        return len(self._figures)

    def append(self, figure: float) -> None:
        self._figures[self._next] = figure
        self._next = (self._next + 1) % len(self._figures)

    def skip(self, count: int, figure: float = NOTHING) -> None:
        """Append `figure` for `count` moments at which nobody looked."""
        for _ in range(min(count, len(self._figures))):
            self.append(figure)

    def put(self, age: int, figure: float) -> None:
        """Write what was measured `age` appends ago; 0 is the latest. Does nothing beyond them."""
        if 0 <= age < len(self._figures):
            self._figures[self._next - 1 - age] = figure

    def get(self, age: int) -> float:
        """NaN beyond the oldest."""
        if not 0 <= age < len(self._figures):
            return NOTHING
        return self._figures[self._next - 1 - age]

    def values(self) -> array[float]:
        """A copy, oldest first."""
        return self._figures[self._next :] + self._figures[: self._next]


@dataclass(frozen=True, slots=True)
class Extent:
    """The latest, lowest and highest figure that was measured."""

    latest: float
    lowest: float
    highest: float


def extent(values: Sequence[float]) -> Extent | None:
    """None where nothing was measured."""
    measured = [value for value in values if value == value]  # noqa: PLR0124 - NaN is not itself
    if not measured:
        return None
    return Extent(measured[-1], min(measured), max(measured))


def rolling_sum(values: Iterable[float], width: int) -> array[float]:
    """At every figure the sum of the last `width` measured ones. What was not measured stays
    so, and the sum begins anew after it."""
    sums = array("d")
    window: list[float] = []
    for value in values:
        if math.isnan(value):
            window.clear()
            sums.append(NOTHING)
            continue
        window.append(value)
        if len(window) > width:
            del window[0]
        sums.append(sum(window))
    return sums


def scaled(values: Iterable[float], factor: float) -> array[float]:
    return array("d", [value * factor for value in values])


def shares(parts: Iterable[float], rests: Iterable[float]) -> array[float]:
    """part / (part + rest), pair by pair; NaN where there is neither."""
    return array(
        "d",
        [
            part / (part + rest) if part + rest > 0 else NOTHING
            for part, rest in zip(parts, rests, strict=True)
        ],
    )


def binned_sums(values: Sequence[float], width: int, newest: int) -> array[float]:
    """Sums over fixed bins of `width` moments, oldest first; `newest` is the number of the last
    moment. Bins begin at multiples of `width`, so a sum changes only while its bin is filled.

    Gives len(values) // width bins, the last of them the one that `newest` falls into. A bin in
    which nothing was measured is NaN.
    """
    count = len(values) // width
    first_bin = newest // width - count + 1
    sums = array("d", [NOTHING]) * count
    oldest = newest - len(values) + 1
    for moment, value in enumerate(values, start=oldest):
        place = moment // width - first_bin
        if place >= 0 and not math.isnan(value):
            so_far = sums[place]
            sums[place] = value if math.isnan(so_far) else so_far + value
    return sums
