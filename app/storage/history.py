"""The requests that have ended: ids, sizes and times. Never a body (S13)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from engine.request import Decision, FinishReason, Priority, RequestRecord, Timings, Usage

if TYPE_CHECKING:
    from sqlite_utils import Database

KEPT = 10_000


def add(db: Database, records: Sequence[RequestRecord]) -> None:
    """Append `records` in their order; beyond KEPT the oldest rows go."""
    db.table("request").insert_all(map(_row, records))
    db.execute(
        "DELETE FROM request WHERE position <= (SELECT MAX(position) FROM request) - ?", (KEPT,)
    )


def recent(db: Database, limit: int) -> tuple[RequestRecord, ...]:
    """The last `limit` records, newest first."""
    rows = db.query("SELECT * FROM request ORDER BY position DESC LIMIT ?", (limit,))
    return tuple(_record(row) for row in rows)


def _row(record: RequestRecord) -> dict[str, object]:
    return {
        "id": record.id,
        "client": record.client,
        "model": record.model,
        "priority": record.priority.value,
        "reason": record.reason.value,
        **asdict(record.usage),
        **asdict(record.timings),
        "ended_at": record.ended_at,
        "preemptions": record.num_preemptions,
        **_decision_row(record.decision),
    }


def _decision_row(decision: Decision | None) -> dict[str, object]:
    if decision is None:
        return {}
    return {
        "waited": decision.waited,
        "leader_id": decision.leader_id,
        "boundary": decision.boundary,
        "cached_before": decision.num_cached,
        "expected_wait_s": decision.wait_s,
        "expected_compute_s": decision.compute_s,
    }


def _record(row: Mapping[str, Any]) -> RequestRecord:
    return RequestRecord(
        id=row["id"],
        client=row["client"],
        model=row["model"],
        priority=Priority(row["priority"]),
        reason=FinishReason(row["reason"]),
        usage=Usage(
            row["prompt_tokens"],
            row["cached_tokens"],
            row["completion_tokens"],
            row["awaited_tokens"],
        ),
        timings=Timings(
            queue_s=row["queue_s"],
            parked_s=row["parked_s"],
            prefill_s=row["prefill_s"],
            decode_s=row["decode_s"],
            ttft_s=row["ttft_s"],
            total_s=row["total_s"],
        ),
        ended_at=row["ended_at"],
        decision=_decision(row),
        num_preemptions=row["preemptions"],
    )


def _decision(row: Mapping[str, Any]) -> Decision | None:
    if row["waited"] is None:
        return None
    return Decision(
        waited=bool(row["waited"]),
        leader_id=row["leader_id"],
        boundary=row["boundary"],
        num_cached=row["cached_before"],
        wait_s=row["expected_wait_s"],
        compute_s=row["expected_compute_s"],
    )
