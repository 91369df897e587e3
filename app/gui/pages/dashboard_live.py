"""The last ten minutes, second by second."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QCoreApplication

from app.gui import text
from app.gui.charts.axes import TimeAxis
from app.gui.charts.series import (
    NOTHING,
    RingSeries,
    binned_sums,
    rolling_sum,
    scaled,
    shares,
)
from app.gui.pages.dashboard_curves import (
    MIB,
    Curves,
    EvictedColumns,
    measured_sum,
    quotient,
    where_any,
)
from app.hit_rate import Span
from app.storage.aggregates import MINUTE_S, MinuteRow, is_warm
from app.storage.growth import Growth, GrowthWatch
from engine.request import RequestRecord
from engine.snapshot import Snapshot

SECONDS = 600
TOKEN_WINDOW_S = 10
HIT_RATE_WINDOW_S = 60
EVICTION_BIN_S = 10
LATELY_S = 120
ASLEEP_S = 5  # who was away for longer did not look, and nothing is known of that time
LEAST_PREFILL_TOKENS = 64  # the speed of shorter ones says more about their overhead

_EVICTED = ("capacity", "quota", "checkpoint", "pressure")
_MISSED = ("lost", "new", "starts")
_COUNTED = ("reused", "computed", "preemptions", *_MISSED, *_EVICTED)

translate = QCoreApplication.translate


@dataclass(slots=True)
class _Second:
    """What one second brought."""

    reused: float = 0.0
    computed: float = 0.0
    preemptions: float = 0.0
    lost: float = 0.0
    new: float = 0.0
    starts: float = 0.0
    capacity: float = 0.0
    quota: float = 0.0
    checkpoint: float = 0.0
    pressure: float = 0.0
    cold_s: float = 0.0
    num_cold: int = 0
    warm_s: float = 0.0
    num_warm: int = 0
    prefill_tokens: int = 0
    prefill_s: float = 0.0
    decode_tokens: int = 0
    decode_s: float = 0.0

    def count(self, growth: Growth) -> None:
        """What the engine has counted."""
        totals = growth.totals
        self.reused += totals.cached_tokens
        self.computed += totals.prompt_tokens - totals.cached_tokens
        self.preemptions += totals.preemptions
        self.lost += totals.lost_tokens
        self.new += totals.new_tokens
        self.starts += totals.starts
        self.capacity += growth.evicted.capacity
        self.quota += growth.evicted.quota
        self.checkpoint += growth.evicted.checkpoint
        self.pressure += growth.evicted.pressure

    def add(self, record: RequestRecord) -> None:
        """What is known of a request once it has ended."""
        usage, timings = record.usage, record.timings
        if timings.ttft_s > 0 and is_warm(usage):
            self.warm_s += timings.ttft_s
            self.num_warm += 1
        elif timings.ttft_s > 0:
            self.cold_s += timings.ttft_s
            self.num_cold += 1
        if usage.computed_tokens >= LEAST_PREFILL_TOKENS and timings.prefill_s > 0:
            self.prefill_tokens += usage.computed_tokens
            self.prefill_s += timings.prefill_s
        if usage.completion_tokens > 1 and timings.decode_s > 0:
            self.decode_tokens += usage.completion_tokens
            self.decode_s += timings.decode_s


class LiveFigures:
    """Rings of one figure a second. Collecting is cheap; `curves` computes what is shown.

    Tokens count when a request starts, times and speeds when it ends.
    """

    def __init__(self, now: float, snapshot: Snapshot) -> None:
        """`now` is Unix seconds; `snapshot` has where the counters stand."""
        self._first = self._newest = int(now)
        self._watch = GrowthWatch(snapshot)
        self._second = _Second()
        self._counted = {name: RingSeries(SECONDS) for name in _COUNTED}
        self._cold = RingSeries(SECONDS)
        self._warm = RingSeries(SECONDS)
        self._prefill = RingSeries(SECONDS)
        self._decode = RingSeries(SECONDS)

    def backfill(self, records: Iterable[RequestRecord]) -> None:
        """Requests that ended before anybody looked. To be called first, once."""
        seconds: dict[int, _Second] = {}
        for record in records:
            timings, usage = record.timings, record.usage
            ended = self._age(record.ended_at)
            started = self._age(record.ended_at - timings.total_s + timings.queue_s)
            seconds.setdefault(ended, _Second()).add(record)
            start = seconds.setdefault(started, _Second())
            if record.started:  # else nothing was looked up or computed
                start.reused += usage.cached_tokens
                start.computed += usage.computed_tokens
        for age in range(min(max(seconds, default=-1), SECONDS - 1), -1, -1):
            second = seconds.get(age, _Second())
            self._counted["reused"].put(age, second.reused)
            self._counted["computed"].put(age, second.computed)
            self._put_speeds(age, second)

    def backfill_evictions(self, minutes: Iterable[MinuteRow]) -> None:
        """What was evicted before anybody looked, of each minute the same in every second: the
        storage knows no better."""
        for row in minutes:
            end = min(row.started_at + MINUTE_S, self._first + 1)
            for second in range(max(row.started_at, self._newest - SECONDS), end):
                for name in _EVICTED:
                    share = getattr(row.evicted, name) / MINUTE_S
                    self._counted[name].put(self._newest - second, share)

    def observe(self, now: float, snapshot: Snapshot, records: Iterable[RequestRecord]) -> None:
        """About once a second: the counters, and the requests that ended since the last time.

        Where a clock was set back, or the machine slept, the gap stays empty.
        """
        self._second.count(self._watch.look(snapshot))
        for record in records:
            self._second.add(record)
        elapsed = int(now) - self._newest
        if elapsed == 0:
            return
        self._newest = int(now)
        self._skip(elapsed - 1)
        second, self._second = self._second, _Second()
        for name, ring in self._counted.items():
            ring.append(getattr(second, name))
        for ring in (self._cold, self._warm, self._prefill, self._decode):
            ring.append(NOTHING)
        self._put_speeds(0, second)

    def curves(self) -> Curves:
        counted = {name: ring.values() for name, ring in self._counted.items()}
        reused, computed = counted["reused"], counted["computed"]
        return Curves(
            times=_seconds_axis(),
            eviction_times=_bins_axis(),
            token_span_s=1,
            eviction_span_s=EVICTION_BIN_S,
            reused=scaled(rolling_sum(reused, TOKEN_WINDOW_S), 1 / TOKEN_WINDOW_S),
            computed=scaled(rolling_sum(computed, TOKEN_WINDOW_S), 1 / TOKEN_WINDOW_S),
            hit_rate=shares(
                rolling_sum(reused, HIT_RATE_WINDOW_S), rolling_sum(computed, HIT_RATE_WINDOW_S)
            ),
            made_way=where_any(counted["preemptions"]),
            cold=self._cold.values(),
            warm=self._warm.values(),
            prefill=self._prefill.values(),
            decode=self._decode.values(),
            evicted=EvictedColumns(*(self._evicted(counted[name]) for name in _EVICTED)),
            sum_reused=measured_sum(reused),
            sum_computed=measured_sum(computed),
            earlier=_span(counted, slice(None, -LATELY_S)),
            lately=_span(counted, slice(-LATELY_S, None)),
            lately_s=LATELY_S,
        )

    def _evicted(self, num_bytes: Sequence[float]) -> Sequence[float]:
        return binned_sums(scaled(num_bytes, 1 / MIB), EVICTION_BIN_S, self._newest)

    def _age(self, moment: float) -> int:
        return max(0, self._newest - int(moment))

    def _skip(self, count: int) -> None:
        """Seconds without a look: nothing happened in a short gap, nothing is known of a long
        one."""
        away = count >= ASLEEP_S
        for ring in self._counted.values():
            ring.skip(count, NOTHING if away else 0.0)
        for ring in (self._cold, self._warm, self._prefill, self._decode):
            ring.skip(count)

    def _put_speeds(self, age: int, second: _Second) -> None:
        self._cold.put(age, quotient(second.cold_s, second.num_cold))
        self._warm.put(age, quotient(second.warm_s, second.num_warm))
        self._prefill.put(age, quotient(second.prefill_tokens, second.prefill_s))
        self._decode.put(age, quotient(second.decode_tokens, second.decode_s))


def _span(counted: Mapping[str, Sequence[float]], when: slice) -> Span:
    def total(name: str) -> int:
        return round(measured_sum(counted[name][when]))

    return Span(
        reused_tokens=total("reused"),
        computed_tokens=total("computed"),
        preemptions=total("preemptions"),
        lost_tokens=total("lost"),
        new_tokens=total("new"),
        starts=total("starts"),
    )


def _ago(seconds: int) -> str:
    if seconds == 0:
        return translate("dashboard", "Now")
    return translate("dashboard", "{time} ago").format(time=text.duration(seconds))


def _minute_labels() -> tuple[tuple[float, str], ...]:
    labels = [
        (1 - minutes / 10, translate("dashboard", "−{number} min").format(number=minutes))
        for minutes in (10, 8, 6, 4, 2)
    ]
    return (*labels, (1.0, translate("dashboard", "now")))


def _seconds_axis() -> TimeAxis:
    return TimeAxis(_minute_labels(), lambda place: _ago(SECONDS - 1 - place))


def _bins_axis() -> TimeAxis:
    last = SECONDS // EVICTION_BIN_S - 1
    return TimeAxis(_minute_labels(), lambda place: _ago((last - place) * EVICTION_BIN_S))
