"""The last 24 hours, a quarter of an hour at a place."""

from __future__ import annotations

import itertools
from array import array
from collections.abc import Sequence
from functools import reduce

from PySide6.QtCore import QDateTime

from app.gui import text
from app.gui.charts.axes import TimeAxis
from app.gui.pages.dashboard_curves import (
    MIB,
    Curves,
    EvictedColumns,
    measured_sum,
    nothing,
    quotient,
    where_any,
)
from app.gui.pages.dashboard_live import LEAST_PREFILL_TOKENS
from app.hit_rate import Span
from app.storage.aggregates import MINUTE_S, MinuteRow

BIN_MINUTES = 15
BIN_S = BIN_MINUTES * MINUTE_S
QUARTERS = 96
LATELY = 4  # quarters
LABEL_EVERY_HOURS = 4


def day_curves(minutes: Sequence[MinuteRow]) -> Curves:
    """From the storage's minutes, oldest first and without a gap."""
    quarters = _quarters(minutes)
    bins = [_sum(rows) for rows in quarters]
    prefills = [[row for row in rows if _tells_speed(row)] for rows in quarters]
    reused = array("d", [row.cached_tokens for row in bins])
    computed = array("d", [row.computed_tokens for row in bins])
    axis = _axis([row.started_at for row in bins])
    return Curves(
        times=axis,
        eviction_times=axis,
        token_span_s=BIN_S,
        eviction_span_s=BIN_S,
        reused=reused,
        computed=computed,
        hit_rate=_column(
            [(row.cached_tokens, row.cached_tokens + row.computed_tokens) for row in bins]
        ),
        made_way=where_any([row.preemptions for row in bins]),
        cold=_column([(row.cold_ttft_sum_s, row.cold_ttft_count) for row in bins]),
        warm=_column([(row.warm_ttft_sum_s, row.warm_ttft_count) for row in bins]),
        prefill=_column(
            [
                (sum(row.computed_tokens for row in rows), sum(row.prefill_s for row in rows))
                for rows in prefills
            ]
        ),
        decode=_column([(row.completion_tokens, row.decode_s) for row in bins]),
        evicted=_evicted(bins),
        sum_reused=measured_sum(reused),
        sum_computed=measured_sum(computed),
        earlier=_summary(bins[:-LATELY]),
        lately=_summary(bins[-LATELY:]),
        lately_s=LATELY * BIN_S,
    )


def unknown_day() -> Curves:
    """A day of which nothing is known."""
    column, axis = nothing(QUARTERS), TimeAxis((), str)
    return Curves(
        times=axis,
        eviction_times=axis,
        token_span_s=BIN_S,
        eviction_span_s=BIN_S,
        reused=column,
        computed=column,
        hit_rate=column,
        made_way=column,
        cold=column,
        warm=column,
        prefill=column,
        decode=column,
        evicted=EvictedColumns(column, column, column, column),
        sum_reused=0.0,
        sum_computed=0.0,
        earlier=Span(),
        lately=Span(),
        lately_s=LATELY * BIN_S,
    )


def _quarters(minutes: Sequence[MinuteRow]) -> list[list[MinuteRow]]:
    """The last 96 quarters of an hour, as the clock has them; the last is not yet over."""
    quarters = [
        list(rows) for _, rows in itertools.groupby(minutes, lambda row: row.started_at // BIN_S)
    ]
    return quarters[-QUARTERS:]


def _sum(rows: Sequence[MinuteRow]) -> MinuteRow:
    filled = (row for row in rows if not row.is_empty)
    return reduce(MinuteRow.plus, filled, MinuteRow(rows[0].started_at))


def _evicted(bins: Sequence[MinuteRow]) -> EvictedColumns:
    evicted = [row.evicted for row in bins]
    return EvictedColumns(
        capacity=array("d", [each.capacity / MIB for each in evicted]),
        quota=array("d", [each.quota / MIB for each in evicted]),
        checkpoint=array("d", [each.checkpoint / MIB for each in evicted]),
        pressure=array("d", [each.pressure / MIB for each in evicted]),
    )


def _summary(rows: Sequence[MinuteRow]) -> Span:
    return Span(
        reused_tokens=sum(row.cached_tokens for row in rows),
        computed_tokens=sum(row.computed_tokens for row in rows),
        preemptions=sum(row.preemptions for row in rows),
        lost_tokens=sum(row.lost_tokens for row in rows),
        new_tokens=sum(row.new_tokens for row in rows),
        starts=sum(row.starts for row in rows),
    )


def _tells_speed(row: MinuteRow) -> bool:
    """Whether prompts were long enough to tell the speed of prefill."""
    return row.computed_tokens >= LEAST_PREFILL_TOKENS * max(row.requests, 1)


def _column(pairs: Sequence[tuple[float, float]]) -> array[float]:
    return array("d", [quotient(above, below) for above, below in pairs])


def _axis(starts: Sequence[int]) -> TimeAxis:
    labels = []
    for place, start in enumerate(starts):
        when = QDateTime.fromSecsSinceEpoch(start).time()
        minutes = when.hour() * 60 + when.minute()
        if minutes % (LABEL_EVERY_HOURS * 60) < BIN_MINUTES:
            labels.append((place / len(starts), text.clock_time(start - start % BIN_S)))
    return TimeAxis(tuple(labels), lambda place: _span(starts[place]))


def _span(start: int) -> str:
    return f"{text.clock_time(start)} – {text.clock_time(start + BIN_S)}"
