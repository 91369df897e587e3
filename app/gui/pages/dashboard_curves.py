"""What the dashboard's charts show, for either span of time."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from app.gui.charts.axes import TimeAxis
from app.gui.charts.series import NOTHING

Column = Sequence[float]


@dataclass(frozen=True, slots=True)
class Curves:
    """Columns over `times`, evictions over `eviction_times`.

    reused, computed   prompt tokens, in `token_span_s` seconds each
    hit_rate           reused tokens' share of all
    cold, warm         seconds to the first token
    prefill, decode    tokens per second of work
    evicted            pages in `eviction_span_s` seconds each
    sum_reused, sum_computed   tokens of the whole span of time
    """

    times: TimeAxis
    eviction_times: TimeAxis
    token_span_s: int
    eviction_span_s: int
    reused: Column
    computed: Column
    hit_rate: Column
    cold: Column
    warm: Column
    prefill: Column
    decode: Column
    evicted: Column
    sum_reused: float
    sum_computed: float

    @property
    def overall_hit_rate(self) -> float | None:
        """None where no request came."""
        total = self.sum_reused + self.sum_computed
        return self.sum_reused / total if total else None

    @property
    def num_evicted(self) -> int:
        return round(measured_sum(self.evicted))

    @property
    def times_sooner(self) -> float | None:
        """How many times sooner the first token comes when warm; None before both were seen."""
        cold, warm = _measured(self.cold), _measured(self.warm)
        if not cold or not warm or not median(warm):
            return None
        return median(cold) / median(warm)


def measured_sum(column: Column) -> float:
    return sum(_measured(column))


def nothing(count: int) -> array[float]:
    """A column without a figure."""
    return array("d", [NOTHING]) * count


def quotient(above: float, below: float) -> float:
    """NaN where there is nothing to divide by."""
    return above / below if below > 0 else NOTHING


def _measured(column: Column) -> list[float]:
    return [value for value in column if value == value]  # noqa: PLR0124 - NaN is not itself
