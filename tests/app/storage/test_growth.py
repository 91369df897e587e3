from __future__ import annotations

from app.storage.growth import Evicted, GrowthWatch, evicted_bytes
from engine.cache.evicted import Reason
from engine.snapshot import EvictionTotal, Snapshot, Totals


def total(reason: str, num_bytes: int, client: str = "") -> EvictionTotal:
    return EvictionTotal(reason, client, num_pages=1, num_bytes=num_bytes)


def engine_with(requests: int, evicted_pages: int = 0, *evictions: EvictionTotal) -> Snapshot:
    return Snapshot(
        totals=Totals(requests=requests, evicted_pages=evicted_pages), evictions=evictions
    )


def test_bytes_by_reason_of_all_clients() -> None:
    assert evicted_bytes(
        [
            total("capacity", 10, "a"),
            total("capacity", 5, "b"),
            total("quota", 3, "a"),
            total("checkpoint limit", 2),
            total("memory pressure", 1),
        ]
    ) == Evicted(capacity=15, quota=3, checkpoint=2, pressure=1)


def test_every_reason_of_the_engine_but_empty_room_is_a_loss() -> None:
    for reason in Reason:
        lost = evicted_bytes([total(reason.value, 7)])
        assert (lost == Evicted()) is (reason is Reason.EMPTY_ROOM)
        assert (lost == Evicted(capacity=7)) is (reason is Reason.CAPACITY)


def test_a_reason_of_another_day_is_want_of_room() -> None:
    assert evicted_bytes([total("full moon", 4)]) == Evicted(capacity=4)


def test_what_happened_since_the_last_look() -> None:
    watch = GrowthWatch()
    first = watch.look(engine_with(5, 2, total("quota", 20)))
    assert (first.totals.requests, first.evicted) == (5, Evicted(quota=20))
    second = watch.look(engine_with(7, 3, total("quota", 25), total("capacity", 4)))
    assert (second.totals.requests, second.totals.evicted_pages) == (2, 1)
    assert second.evicted == Evicted(capacity=4, quota=5)


def test_a_watch_may_begin_where_the_engine_stands() -> None:
    now = engine_with(5, 2, total("quota", 20))
    growth = GrowthWatch(now).look(now)
    assert (growth.totals, growth.evicted) == (Totals(), Evicted())


def test_another_engine_began_at_zero() -> None:
    watch = GrowthWatch(engine_with(50, 100, total("capacity", 1000)))
    growth = watch.look(engine_with(1, 3, total("capacity", 30)))
    assert growth.totals == Totals(requests=1, evicted_pages=3)
    assert growth.evicted == Evicted(capacity=30)


def test_another_engine_is_noticed_by_whatever_shrank() -> None:
    """One that has served nothing yet, after one that had served nothing either."""
    started = Snapshot(totals=Totals(starts=1))
    watch = GrowthWatch(started)
    assert watch.look(Snapshot()).totals == Totals()
    assert watch.look(started).totals == Totals(starts=1)
