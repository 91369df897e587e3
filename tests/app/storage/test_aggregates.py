from __future__ import annotations

from dataclasses import replace

import pytest
from sqlite_utils import Database

from app.storage import aggregates
from app.storage.aggregates import MinuteRow, is_warm, minute_of, row_of
from app.storage.growth import Evicted
from engine.request import Timings, Usage
from tests.support.storage import NOON, make_record

MINUTE = int(NOON)


def test_minutes() -> None:
    assert MINUTE % 60 == 0
    assert [minute_of(NOON + s) for s in (-0.001, 0.0, 59.999, 60.0)] == [
        MINUTE - 60,
        MINUTE,
        MINUTE,
        MINUTE + 60,
    ]


@pytest.mark.parametrize(
    ("prompt", "cached", "warm"),
    [(100, 0, False), (100, 49, False), (100, 50, True), (100, 99, True), (0, 0, False)],
)
def test_a_request_is_warm_when_most_of_it_was_restored(
    prompt: int, cached: int, warm: bool
) -> None:
    assert is_warm(Usage(prompt, cached, 1)) is warm


def test_the_share_of_a_cold_request() -> None:
    record = make_record(1, prompt=100, cached=10, completion=7, ttft_s=0.5, ended_at=NOON + 59)
    assert row_of(record) == MinuteRow(
        started_at=MINUTE,
        requests=1,
        hits=1,
        prompt_tokens=100,
        cached_tokens=10,
        computed_tokens=90,
        completion_tokens=7,
        prefill_s=0.25,
        decode_s=1.5,
        cold_ttft_count=1,
        cold_ttft_sum_s=0.5,
        cold_ttft_max_s=0.5,
    )


def test_the_share_of_a_warm_request() -> None:
    row = row_of(make_record(1, prompt=100, cached=99, ttft_s=0.5))
    assert (row.hits, row.computed_tokens) == (1, 1)
    assert (row.warm_ttft_count, row.warm_ttft_sum_s, row.warm_ttft_max_s) == (1, 0.5, 0.5)
    assert (row.cold_ttft_count, row.cold_ttft_sum_s, row.cold_ttft_max_s) == (0, 0.0, 0.0)


def test_a_request_without_a_first_token_has_no_ttft() -> None:
    row = row_of(make_record(1, ttft_s=0.0))
    assert (row.requests, row.hits) == (1, 0)
    assert (row.cold_ttft_count, row.warm_ttft_count) == (0, 0)


def test_a_request_that_ended_in_the_queue_counts_no_tokens() -> None:
    waited = replace(make_record(1, prompt=8000), timings=Timings(queue_s=5.0, total_s=5.0))
    assert row_of(waited) == MinuteRow(MINUTE, requests=1)


def test_shares_add_up_and_peaks_are_compared(db: Database) -> None:
    shares = [
        row_of(make_record(1, prompt=100, cached=0, ttft_s=0.5)),
        row_of(make_record(2, prompt=100, cached=0, ttft_s=2.0)),
        row_of(make_record(3, prompt=100, cached=80, ttft_s=0.25)),
        MinuteRow(
            MINUTE,
            evicted_pages=3,
            evicted_bytes=300,
            capacity_bytes=200,
            quota_bytes=90,
            preemptions=2,
            peak_resident_bytes=10,
        ),
        MinuteRow(
            MINUTE,
            evicted_pages=1,
            evicted_bytes=100,
            capacity_bytes=50,
            checkpoint_bytes=30,
            pressure_bytes=20,
            preemptions=1,
            recomputed_tokens=40,
            lost_tokens=50,
            new_tokens=60,
            starts=1,
            peak_resident_bytes=7,
        ),
        MinuteRow(MINUTE, peak_pinned_bytes=5, peak_running_bytes=9),
    ]
    expected = MinuteRow(
        started_at=MINUTE,
        requests=3,
        hits=1,
        prompt_tokens=300,
        cached_tokens=80,
        computed_tokens=220,
        completion_tokens=30,
        prefill_s=0.75,
        decode_s=4.5,
        cold_ttft_count=2,
        cold_ttft_sum_s=2.5,
        cold_ttft_max_s=2.0,
        warm_ttft_count=1,
        warm_ttft_sum_s=0.25,
        warm_ttft_max_s=0.25,
        evicted_pages=4,
        evicted_bytes=400,
        capacity_bytes=250,
        quota_bytes=90,
        checkpoint_bytes=30,
        pressure_bytes=20,
        preemptions=3,
        recomputed_tokens=40,
        lost_tokens=50,
        new_tokens=60,
        starts=1,
        peak_resident_bytes=10,
        peak_pinned_bytes=5,
        peak_running_bytes=9,
    )
    together = MinuteRow(MINUTE)
    for share in shares:
        together = together.plus(share)
    assert together == expected
    assert together.evicted == Evicted(capacity=250, quota=90, checkpoint=30, pressure=20)
    aggregates.add(db, shares[:4])
    aggregates.add(db, shares[4:])
    assert aggregates.last_24_hours(db, now=NOON)[-1] == expected


def test_the_last_day_has_no_gaps(db: Database) -> None:
    day = 1440 * 60
    inside = [MINUTE, MINUTE - 600, MINUTE - day + 60]
    outside = [MINUTE + 60, MINUTE - day]
    aggregates.add(db, [MinuteRow(moment, requests=1) for moment in inside + outside])
    rows = aggregates.last_24_hours(db, now=NOON + 42.0)
    assert [row.started_at for row in rows] == [MINUTE - day + 60 * n for n in range(1, 1441)]
    assert [row.started_at for row in rows if row.requests] == sorted(inside)
    assert all(row.is_empty for row in rows if not row.requests)


def test_thirty_days_are_kept(db: Database) -> None:
    edge = MINUTE - 30 * 86_400
    aggregates.add(db, [MinuteRow(moment, hits=1) for moment in (edge - 60, edge, MINUTE)])
    aggregates.prune(db, now=NOON + 59)
    assert [row["started_at"] for row in db.table("minute").rows] == [edge, MINUTE]


def test_a_row_is_empty_without_figures() -> None:
    assert MinuteRow(MINUTE).is_empty
    assert not replace(MinuteRow(MINUTE), peak_running_bytes=1).is_empty
