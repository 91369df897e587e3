"""What the charts show, minute by minute."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from app.storage.growth import Evicted
from engine.request import RequestRecord, Usage

if TYPE_CHECKING:
    from sqlite_utils import Database

MINUTE_S = 60
DAY_S = 24 * 3600
KEPT_S = 30 * DAY_S


@dataclass(frozen=True, slots=True)
class MinuteRow:
    """One minute, from `started_at` (Unix seconds, a multiple of 60).

    Requests count in the minute in which they ended: tokens as in design D9, `prefill_s` and
    `decode_s` as sums, time to first token (TTFT) apart for cold and warm ones. Evictions are what
    happened in the minute, as are preemptions, the tokens that had to be computed again after them,
    those that had been there before they were evicted, those that had not, and models that began to
    serve; peaks are the most bytes of KV seen in it. `evicted_bytes` are all that was given back;
    the bytes by reason (see `Evicted`) leave out empty room.
    """

    started_at: int
    requests: int = 0
    hits: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    computed_tokens: int = 0
    completion_tokens: int = 0
    prefill_s: float = 0.0
    decode_s: float = 0.0
    cold_ttft_count: int = 0
    cold_ttft_sum_s: float = 0.0
    cold_ttft_max_s: float = 0.0
    warm_ttft_count: int = 0
    warm_ttft_sum_s: float = 0.0
    warm_ttft_max_s: float = 0.0
    evicted_pages: int = 0
    evicted_bytes: int = 0
    capacity_bytes: int = 0
    quota_bytes: int = 0
    checkpoint_bytes: int = 0
    pressure_bytes: int = 0
    preemptions: int = 0
    recomputed_tokens: int = 0
    lost_tokens: int = 0
    new_tokens: int = 0
    starts: int = 0
    peak_resident_bytes: int = 0
    peak_pinned_bytes: int = 0
    peak_running_bytes: int = 0

    def plus(self, other: MinuteRow) -> MinuteRow:
        """Both together: maxima and peaks are compared, everything else is added up."""
        return MinuteRow(
            self.started_at,
            *(
                max(mine, theirs) if name in _MAXIMA else mine + theirs
                for name in _FIGURES
                for mine, theirs in [(getattr(self, name), getattr(other, name))]
            ),
        )

    @property
    def is_empty(self) -> bool:
        return self == MinuteRow(self.started_at)

    @property
    def evicted(self) -> Evicted:
        """Bytes by reason."""
        return Evicted(
            self.capacity_bytes, self.quota_bytes, self.checkpoint_bytes, self.pressure_bytes
        )


_FIGURES = tuple(field.name for field in fields(MinuteRow) if field.name != "started_at")
_MAXIMA = frozenset(name for name in _FIGURES if name.startswith("peak_") or "_max_" in name)


def minute_of(moment: float) -> int:
    """The start of the minute that holds `moment`, in Unix seconds."""
    return int(moment // MINUTE_S) * MINUTE_S


def is_warm(usage: Usage) -> bool:
    """Whether most of a prompt was restored.

    A few tokens that every chat begins with are a hit too, but such a request is as slow as a cold
    one and belongs there.
    """
    return usage.cached_tokens * 2 >= usage.prompt_tokens > 0


def row_of(record: RequestRecord) -> MinuteRow:
    """One request as the share of its minute. Of one that ended in the queue no token counts:
    nothing was looked up or computed."""
    usage, timings = record.usage if record.started else Usage(), record.timings
    ttft_s, seen = timings.ttft_s, int(timings.ttft_s > 0)
    warm = is_warm(usage)
    return MinuteRow(
        started_at=minute_of(record.ended_at),
        requests=1,
        hits=int(usage.cached_tokens > 0),
        prompt_tokens=usage.prompt_tokens,
        cached_tokens=usage.cached_tokens,
        computed_tokens=usage.computed_tokens,
        completion_tokens=usage.completion_tokens,
        prefill_s=timings.prefill_s,
        decode_s=timings.decode_s,
        cold_ttft_count=0 if warm else seen,
        cold_ttft_sum_s=0.0 if warm else ttft_s,
        cold_ttft_max_s=0.0 if warm else ttft_s,
        warm_ttft_count=seen if warm else 0,
        warm_ttft_sum_s=ttft_s if warm else 0.0,
        warm_ttft_max_s=ttft_s if warm else 0.0,
    )


def add(db: Database, rows: Iterable[MinuteRow]) -> None:
    """Put these shares to what is stored of their minutes."""
    db.conn.executemany(
        _ADD,
        [(row.started_at, *(getattr(row, name) for name in _FIGURES)) for row in rows],
    )


def prune(db: Database, *, now: float) -> None:
    """Remove minutes older than 30 days."""
    db.execute("DELETE FROM minute WHERE started_at < ?", (minute_of(now) - KEPT_S,))


def last_24_hours(db: Database, *, now: float) -> list[MinuteRow]:
    """1,440 minutes, oldest first, the last of them the one that holds `now`. Where nothing is
    stored the row has zeros."""
    end = minute_of(now)
    start = end - DAY_S + MINUTE_S
    rows = db.query("SELECT * FROM minute WHERE started_at BETWEEN ? AND ?", (start, end))
    stored = {row["started_at"]: _row(row) for row in rows}
    return [stored.get(moment) or MinuteRow(moment) for moment in range(start, end + 1, MINUTE_S)]


def _row(row: Mapping[str, int]) -> MinuteRow:
    return MinuteRow(**row)


def _merge(name: str) -> str:
    if name in _MAXIMA:
        return f"{name} = MAX({name}, excluded.{name})"
    return f"{name} = {name} + excluded.{name}"


_ADD = (
    f"INSERT INTO minute (started_at, {', '.join(_FIGURES)})"
    f" VALUES ({', '.join('?' * (1 + len(_FIGURES)))})"
    f" ON CONFLICT (started_at) DO UPDATE SET {', '.join(map(_merge, _FIGURES))}"
)
