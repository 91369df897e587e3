"""The requests that have ended: ids, sizes and times. Never a body (S13)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlite_utils import Database

from engine.request import FinishReason, Priority, RequestRecord, Timings, Usage

KEPT = 10_000


def add(db: Database, records: Sequence[RequestRecord]) -> None:
    """Append `records` in their order; beyond KEPT the oldest rows go."""
    db.conn.executemany(_INSERT, [_values(record) for record in records])
    db.execute(
        "DELETE FROM request WHERE position <= (SELECT MAX(position) FROM request) - ?", (KEPT,)
    )


def recent(db: Database, limit: int) -> tuple[RequestRecord, ...]:
    """The last `limit` records, newest first."""
    rows = db.query("SELECT * FROM request ORDER BY position DESC LIMIT ?", (limit,))
    return tuple(_record(row) for row in rows)


_COLUMNS = (
    *("id", "client", "model", "priority", "reason"),
    *("prompt_tokens", "cached_tokens", "completion_tokens"),
    *("queue_s", "prefill_s", "decode_s", "ttft_s", "total_s", "ended_at"),
)
_INSERT = (
    f"INSERT INTO request ({', '.join(_COLUMNS)}) VALUES ({', '.join('?' * len(_COLUMNS))})"
)


def _values(record: RequestRecord) -> tuple[object, ...]:
    usage, timings = record.usage, record.timings
    return (
        *(record.id, record.client, record.model, record.priority.value, record.reason.value),
        *(usage.prompt_tokens, usage.cached_tokens, usage.completion_tokens),
        *(timings.queue_s, timings.prefill_s, timings.decode_s, timings.ttft_s),
        *(timings.total_s, record.ended_at),
    )


def _record(row: Mapping[str, Any]) -> RequestRecord:
    return RequestRecord(
        id=row["id"],
        client=row["client"],
        model=row["model"],
        priority=Priority(row["priority"]),
        reason=FinishReason(row["reason"]),
        usage=Usage(row["prompt_tokens"], row["cached_tokens"], row["completion_tokens"]),
        timings=Timings(
            queue_s=row["queue_s"],
            prefill_s=row["prefill_s"],
            decode_s=row["decode_s"],
            ttft_s=row["ttft_s"],
            total_s=row["total_s"],
        ),
        ended_at=row["ended_at"],
    )
