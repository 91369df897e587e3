"""Today's sums: what the storage has of the day, and what has ended since it was asked."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from statistics import median

from app.storage.aggregates import MinuteRow, is_warm, row_of
from engine.request import RequestRecord

TTFTS_KEPT = 1000


@dataclass(frozen=True, slots=True)
class TodayFigures:
    """Since midnight. None stands for what cannot be known yet.

    saved_s           reused tokens times `prefill_s_per_token`
    warm_ttft_s, cold_ttft_s   medians of the last 1,000 requests
    """

    requests: int
    hits: int
    reused_tokens: int
    prompt_tokens: int
    prefill_s_per_token: float | None
    warm_ttft_s: float | None
    cold_ttft_s: float | None

    @property
    def hit_rate(self) -> float | None:
        return self.reused_tokens / self.prompt_tokens if self.prompt_tokens else None

    @property
    def saved_s(self) -> float | None:
        if self.prefill_s_per_token is None:
            return None
        return self.reused_tokens * self.prefill_s_per_token


@dataclass(frozen=True, slots=True)
class _Ttft:
    ended_at: float
    warm: bool
    seconds: float


class Today:
    """Takes ended requests one by one, and the storage's minutes when they are read again."""

    def __init__(self) -> None:
        self._minutes: list[MinuteRow] = []
        self._since = _Minutes()
        self._coming: _Minutes | None = None
        self._sum = MinuteRow(0)  # of `_minutes` since the midnight it begins at
        self._ttfts: deque[_Ttft] = deque(maxlen=TTFTS_KEPT)
        self._rate: float | None = None

    def add(self, records: Iterable[RequestRecord]) -> None:
        """Requests that have just ended."""
        for record in records:
            row = row_of(record)
            self._since.add(row)
            if self._coming is not None:
                self._coming.add(row)
            self._remember_ttft(record)

    def begin_reading(self) -> None:
        """The storage was asked: whatever is added from now on is not in its answer."""
        self._coming = _Minutes()

    def finish_reading(self, minutes: Sequence[MinuteRow]) -> None:
        """The last 24 hours have come."""
        self._minutes = [row for row in minutes if not row.is_empty]
        self._since, self._coming = self._coming or _Minutes(), None
        self._sum = MinuteRow(0)
        self._rate = prefill_s_per_token(self._minutes)

    def fail_reading(self) -> None:
        """They have not; what is known stays."""
        self._coming = None

    def add_older_ttfts(self, records: Iterable[RequestRecord]) -> None:
        """Requests of the storage, newest first, that ended before any that was added."""
        known = list(self._ttfts)
        oldest = min((ttft.ended_at for ttft in known), default=float("inf"))
        self._ttfts.clear()
        for record in reversed([record for record in records if record.ended_at < oldest]):
            self._remember_ttft(record)
        self._ttfts.extend(known)

    @property
    def knows_requests(self) -> bool:
        """Whether any request is known, of today or of the 24 hours before."""
        return any(row.requests for row in (*self._minutes, *self._since.rows))

    def figures(self, now: float) -> TodayFigures:
        """`now` is Unix seconds."""
        midnight = _midnight(now)
        if self._sum.started_at != midnight:
            self._sum = _sum_since(midnight, self._minutes)
        total = self._sum.plus(_sum_since(midnight, self._since.rows))
        ttfts = [ttft for ttft in self._ttfts if ttft.ended_at >= midnight]
        return TodayFigures(
            requests=total.requests,
            hits=total.hits,
            reused_tokens=total.cached_tokens,
            prompt_tokens=total.prompt_tokens,
            prefill_s_per_token=self._rate or prefill_s_per_token(self._since.rows),
            warm_ttft_s=_median([ttft.seconds for ttft in ttfts if ttft.warm]),
            cold_ttft_s=_median([ttft.seconds for ttft in ttfts if not ttft.warm]),
        )

    def _remember_ttft(self, record: RequestRecord) -> None:
        seconds = record.timings.ttft_s
        if seconds > 0:
            self._ttfts.append(_Ttft(record.ended_at, is_warm(record.usage), seconds))


def prefill_s_per_token(rows: Sequence[MinuteRow]) -> float | None:
    """What computing one prompt token takes: the median over all computed tokens.

    A plain mean would be wrong: warm requests compute a token or two, whose time is mostly what
    every request costs.
    """
    measured = sorted(
        (row.prefill_s / row.computed_tokens, row.computed_tokens)
        for row in rows
        if row.computed_tokens > 0 and row.prefill_s > 0
    )
    half = sum(tokens for _, tokens in measured) / 2
    for rate, tokens in measured:
        half -= tokens
        if half <= 0:
            return rate
    return None


class _Minutes:
    """Shares added up minute by minute, so that a day in the background stays small."""

    def __init__(self) -> None:
        self._rows: dict[int, MinuteRow] = {}

    @property
    def rows(self) -> list[MinuteRow]:
        return list(self._rows.values())

    def add(self, row: MinuteRow) -> None:
        before = self._rows.get(row.started_at)
        self._rows[row.started_at] = row if before is None else before.plus(row)


def _sum_since(moment: int, rows: Sequence[MinuteRow]) -> MinuteRow:
    later = (row for row in rows if row.started_at >= moment)
    return reduce(MinuteRow.plus, later, MinuteRow(moment))


def _midnight(now: float) -> int:
    day = time.localtime(now)
    return int(time.mktime((day.tm_year, day.tm_mon, day.tm_mday, 0, 0, 0, 0, 0, -1)))


def _median(values: list[float]) -> float | None:
    return median(values) if values else None
