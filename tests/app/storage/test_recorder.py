from __future__ import annotations

from collections.abc import Callable

import pytest
from sqlite_utils import Database

from app.storage import recorder
from app.storage.aggregates import MinuteRow
from app.storage.store import Store
from engine.snapshot import EvictionTotal, Memory, Snapshot, Totals
from tests.support.storage import NOON, Clock, make_record
from tests.support.waiting import wait_until

MINUTE = int(NOON)
WAIT_S = 10.0


@pytest.fixture
def writes(store: Store) -> Callable[[], int]:
    """How many transactions have written history or minutes so far."""
    statements: list[str] = []
    store._thread.submit(lambda db: db.conn.set_trace_callback(statements.append)).result(WAIT_S)

    def count() -> int:
        store._thread.submit(lambda db: None).result(WAIT_S)
        transactions = "\n".join(statements).split("COMMIT")
        return sum("INSERT INTO" in statement for statement in transactions)

    return count


def count_requests(store: Store) -> int:
    def count(db: Database) -> int:
        return db.table("request").count

    return store._thread.submit(count).result(WAIT_S)


def present_minute(store: Store) -> MinuteRow:
    return store.last_24_hours().result(WAIT_S)[-1]


def engine_with(evicted: int = 0, requests: int = 0, **memory: int) -> Snapshot:
    return Snapshot(
        memory=Memory(**memory),
        totals=Totals(requests=requests, evicted_pages=evicted, evicted_bytes=100 * evicted),
    )


def test_records_wait_for_each_other(
    store: Store, writes: Callable[[], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder, "WRITE_INTERVAL_S", 3600.0)
    store.record(make_record(0))
    assert writes() == 1
    for number in range(1, 501):
        store.record(make_record(number))
    assert (writes(), count_requests(store)) == (1, 1)
    store.flush().result(WAIT_S)
    assert (writes(), count_requests(store)) == (2, 501)
    store.flush().result(WAIT_S)
    assert writes() == 2


def test_records_are_written_when_the_interval_is_over(
    store: Store, writes: Callable[[], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder, "WRITE_INTERVAL_S", 0.2)
    for number in range(100):
        store.record(make_record(number))
    wait_until(lambda: count_requests(store) == 100)
    assert writes() <= 3


def test_closing_writes_what_waits(
    store: Store, monkeypatch: pytest.MonkeyPatch, clock: Clock
) -> None:
    monkeypatch.setattr(recorder, "WRITE_INTERVAL_S", 3600.0)
    for number in range(100):
        store.record(make_record(number))
    store.observe(engine_with(evicted=4, resident=10))
    store.close()
    store.record(make_record(100))
    store.observe(engine_with(evicted=9, resident=20))

    again = Store(store.path.parent, clock)
    again.open()
    assert count_requests(again) == 100
    assert (present_minute(again).requests, present_minute(again).evicted_pages) == (100, 4)
    again.close()


def test_requests_count_in_the_minute_of_their_end(store: Store, clock: Clock) -> None:
    for number, ended_at in enumerate([NOON - 0.5, NOON, NOON + 59.5]):
        store.record(make_record(number, ended_at=ended_at))
    before, present = store.last_24_hours().result(WAIT_S)[-2:]
    assert (before.requests, present.requests) == (1, 2)


def test_a_minute_goes_on_after_a_restart(store: Store, clock: Clock) -> None:
    store.record(make_record(1, ttft_s=0.5))
    store.close()
    again = Store(store.path.parent, clock)
    again.open()
    again.record(make_record(2, ttft_s=0.25))
    row = present_minute(again)
    again.close()
    assert (row.requests, row.cold_ttft_sum_s, row.cold_ttft_max_s) == (2, 0.75, 0.5)


def test_peaks_of_memory(store: Store, clock: Clock) -> None:
    for resident, pinned, running in [(5, 2, 0), (9, 1, 4), (3, 3, 1)]:
        store.observe(engine_with(resident=resident, pinned=pinned, running=running))
    clock.now += 60
    store.observe(engine_with(resident=3, pinned=3, running=1))
    first, second = store.last_24_hours().result(WAIT_S)[-2:]
    assert first == MinuteRow(
        MINUTE, peak_resident_bytes=9, peak_pinned_bytes=3, peak_running_bytes=4
    )
    assert second == MinuteRow(
        MINUTE + 60, peak_resident_bytes=3, peak_pinned_bytes=3, peak_running_bytes=1
    )


def test_evictions_are_the_growth_of_the_totals(store: Store, clock: Clock) -> None:
    for evicted in (3, 3, 10):
        store.observe(engine_with(evicted, requests=5))
    clock.now += 60
    store.observe(engine_with(11, requests=6))
    store.observe(engine_with(0, requests=0))  # another engine
    store.observe(engine_with(4, requests=1))
    first, second = store.last_24_hours().result(WAIT_S)[-2:]
    assert (first.evicted_pages, first.evicted_bytes) == (10, 1000)
    assert (second.evicted_pages, second.evicted_bytes) == (5, 500)


def test_evictions_have_their_reason_and_preemptions_are_counted(store: Store) -> None:
    for number in (1, 3):
        store.observe(
            Snapshot(
                totals=Totals(
                    requests=5,
                    preemptions=number,
                    recomputed_tokens=100 * number,
                    lost_tokens=10 * number,
                    new_tokens=20 * number,
                    starts=1,
                ),
                evictions=(
                    EvictionTotal("capacity", "a", 0, 10 * number),
                    EvictionTotal("quota", "b", 0, 5),
                    EvictionTotal("checkpoint limit", "b", 0, 7 * number),
                    EvictionTotal("memory pressure", "", 0, 2),
                    EvictionTotal("empty room", "", 0, 1000 * number),
                ),
            )
        )
    assert present_minute(store) == MinuteRow(
        MINUTE,
        capacity_bytes=30,
        quota_bytes=5,
        checkpoint_bytes=21,
        pressure_bytes=2,
        preemptions=3,
        recomputed_tokens=300,
        lost_tokens=30,
        new_tokens=60,
        starts=1,
    )


def test_an_idle_engine_writes_nothing(store: Store, writes: Callable[[], int]) -> None:
    for _ in range(50):
        store.observe(Snapshot())
        store.flush().result(WAIT_S)
    assert writes() == 0
    for _ in range(50):
        store.observe(engine_with(resident=5))
        store.flush().result(WAIT_S)
    assert writes() == 1
