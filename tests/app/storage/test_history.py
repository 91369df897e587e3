from __future__ import annotations

from dataclasses import replace

import pytest
from sqlite_utils import Database

from app.storage import history
from engine.request import Decision, FinishReason
from tests.support.storage import NOON, make_record


@pytest.mark.parametrize("reason", FinishReason)
def test_a_record_comes_back_as_it_was(db: Database, reason: FinishReason) -> None:
    record = make_record(1, cached=60, ended_at=NOON + 0.123456, reason=reason)
    history.add(db, [record])
    assert history.recent(db, 10) == (record,)


def test_what_was_decided_comes_back_beside_those_who_had_no_choice(db: Database) -> None:
    plain = make_record(1)
    waited = replace(
        make_record(2, cached=90),
        timings=replace(plain.timings, parked_s=1.5),
        decision=Decision(True, "chatcmpl-1", 80, 16, 1.25, 2.5),
        num_preemptions=2,
    )
    alone = replace(make_record(3), decision=Decision(False, "chatcmpl-2", 80, 0, 3.0, 2.5))
    history.add(db, [plain, waited, alone])
    assert history.recent(db, 10) == (alone, waited, plain)


def test_the_newest_come_first(db: Database) -> None:
    records = [make_record(number) for number in range(5)]
    history.add(db, records[:3])
    history.add(db, [])
    history.add(db, records[3:])
    assert history.recent(db, 10) == tuple(reversed(records))
    assert history.recent(db, 2) == (records[4], records[3])
    assert history.recent(db, 0) == ()


def test_ten_thousand_are_kept(db: Database) -> None:
    history.add(db, [make_record(number) for number in range(10_005)])
    history.add(db, [make_record(number) for number in range(10_005, 10_008)])
    recent = history.recent(db, 20_000)
    assert len(recent) == 10_000
    assert (recent[0].id, recent[-1].id) == ("chatcmpl-10007", "chatcmpl-8")


def test_an_id_may_come_again(db: Database) -> None:
    history.add(db, [make_record(1), make_record(1)])
    assert len(history.recent(db, 10)) == 2
