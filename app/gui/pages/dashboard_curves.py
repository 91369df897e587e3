"""What the dashboard's charts show, for either span of time."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from app.gui.charts.axes import TimeAxis
from app.gui.charts.series import NOTHING
from app.hit_rate import Cause, Span, why_it_fell

MIB = 1024 * 1024

Column = Sequence[float]


@dataclass(frozen=True, slots=True)
class EvictedColumns:
    """MiB by reason, as in `Evicted`."""

    capacity: Column
    quota: Column
    checkpoint: Column
    pressure: Column

    @property
    def by_reason(self) -> tuple[Column, ...]:
        return (self.capacity, self.quota, self.checkpoint, self.pressure)


@dataclass(frozen=True, slots=True)
class Curves:
    """Columns over `times`, evictions over `eviction_times`.

    reused, computed   prompt tokens, in `token_span_s` seconds each
    hit_rate           reused tokens' share of all
    cold, warm         seconds to the first token
    made_way           requests that were preempted; NaN where none was
    prefill, decode    tokens per second of work
    evicted            in `eviction_span_s` seconds each
    sum_reused, sum_computed   tokens of the whole span of time
    earlier, lately    what happened in the last `lately_s` seconds, and before
    """

    times: TimeAxis
    eviction_times: TimeAxis
    token_span_s: int
    eviction_span_s: int
    reused: Column
    computed: Column
    hit_rate: Column
    made_way: Column
    cold: Column
    warm: Column
    prefill: Column
    decode: Column
    evicted: EvictedColumns
    sum_reused: float
    sum_computed: float
    earlier: Span
    lately: Span
    lately_s: int

    @property
    def overall_hit_rate(self) -> float | None:
        """None where no request came."""
        total = self.sum_reused + self.sum_computed
        return self.sum_reused / total if total else None

    @property
    def evicted_bytes(self) -> int:
        return round(MIB * sum(measured_sum(column) for column in self.evicted.by_reason))

    @property
    def why_it_fell(self) -> Cause:
        """What became of the hit rate lately."""
        return why_it_fell(self.earlier, self.lately)

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


def where_any(counts: Column) -> array[float]:
    """NaN instead of 0."""
    return array("d", [count if count > 0 else NOTHING for count in counts])


def quotient(above: float, below: float) -> float:
    """NaN where there is nothing to divide by."""
    return above / below if below > 0 else NOTHING


def _measured(column: Column) -> list[float]:
    return [value for value in column if value == value]  # noqa: PLR0124 - NaN is not itself
