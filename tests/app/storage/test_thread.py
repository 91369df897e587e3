from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Iterator
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest
from sqlite_utils import Database

from app.storage.errors import DatabaseCorrupt, StorageClosed
from app.storage.schema import open_database
from app.storage.thread import StorageThread
from tests.support.waiting import wait_until

WAIT_S = 10.0


@pytest.fixture
def thread(path: Path) -> Iterator[StorageThread]:
    thread = StorageThread(path)
    thread.start().result(WAIT_S)
    thread.submit(create).result(WAIT_S)
    yield thread
    thread.stop()


def create(db: Database) -> None:
    db.execute("CREATE TABLE note (x INTEGER)")


def put(db: Database, x: int) -> None:
    db.execute("INSERT INTO note VALUES (?)", (x,))


def notes(db: Database) -> list[int]:
    return [row[0] for row in db.execute("SELECT x FROM note ORDER BY rowid")]


def test_the_caller_never_waits_for_a_job(thread: StorageThread) -> None:
    may_end = threading.Event()
    slow = thread.submit(lambda db: may_end.wait(WAIT_S))
    behind = thread.submit(notes)
    assert not slow.done()
    assert not behind.done()
    may_end.set()
    assert slow.result(WAIT_S) is True
    assert behind.result(WAIT_S) == []


def test_jobs_run_in_order_on_one_thread_that_is_no_daemon(thread: StorageThread) -> None:
    threads = [thread.submit(lambda db: threading.current_thread()) for _ in range(3)]
    for x in range(5):
        thread.submit(partial(put, x=x))
    assert thread.submit(notes).result(WAIT_S) == [0, 1, 2, 3, 4]
    (storage,) = {future.result(WAIT_S) for future in threads}
    assert storage.name == "storage"
    assert storage is not threading.current_thread()
    assert not storage.daemon


def test_an_error_fails_its_own_future_and_undoes_its_own_job(thread: StorageThread) -> None:
    def half(db: Database) -> None:
        put(db, 2)
        raise ArithmeticError("in the middle")

    before = thread.submit(lambda db: put(db, 1))
    failing = thread.submit(half)
    after = thread.submit(lambda db: put(db, 3))
    assert before.result(WAIT_S) is None
    with pytest.raises(ArithmeticError, match="in the middle"):
        failing.result(WAIT_S)
    assert after.result(WAIT_S) is None
    assert thread.submit(notes).result(WAIT_S) == [1, 3]


def test_four_threads_submit_at_once(thread: StorageThread) -> None:
    def submit_all(start: int) -> None:
        for x in range(start, start + 250):
            thread.submit(partial(put, x=x))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(submit_all, (0, 250, 500, 750)))
    stored = thread.submit(notes).result(WAIT_S)
    assert sorted(stored) == list(range(1000))
    for start in (0, 250, 500, 750):
        own = [x for x in stored if start <= x < start + 250]
        assert own == list(range(start, start + 250))


def test_a_cancelled_job_is_not_done(thread: StorageThread) -> None:
    may_end = threading.Event()
    thread.submit(lambda db: may_end.wait(WAIT_S))
    unwanted = thread.submit(lambda db: put(db, 1))
    assert unwanted.cancel()
    may_end.set()
    assert thread.submit(notes).result(WAIT_S) == []
    with pytest.raises(CancelledError):
        unwanted.result(WAIT_S)


def test_delayed_jobs_let_others_pass_and_run_in_the_order_of_their_time(
    thread: StorageThread,
) -> None:
    hour = thread.submit(lambda db: put(db, 3), delay_s=3600.0)
    moment = thread.submit(lambda db: put(db, 2), delay_s=0.05)
    thread.submit(lambda db: put(db, 1))
    moment.result(WAIT_S)
    assert thread.submit(notes).result(WAIT_S) == [1, 2]
    assert not hour.done()


def test_stop_does_everything_that_was_submitted(path: Path) -> None:
    thread = StorageThread(path)
    early = thread.submit(create)
    thread.start()
    later = [thread.submit(partial(put, x=x), delay_s=3600.0 - x) for x in range(100)]
    assert thread.stop(WAIT_S)
    assert all(future.done() for future in (early, *later))
    assert [file.name for file in path.parent.iterdir()] == [path.name]
    with closing(open_database(path)) as db:
        assert notes(db) == list(range(99, -1, -1))


def test_after_stop_nothing_is_taken(thread: StorageThread) -> None:
    assert thread.accepting
    assert thread.stop(WAIT_S)
    assert thread.stop(WAIT_S)
    assert not thread.accepting
    with pytest.raises(StorageClosed, match="closing"):
        thread.submit(notes).result(0)


def test_stop_without_start(path: Path) -> None:
    thread = StorageThread(path)
    waiting = thread.submit(notes)
    assert thread.stop()
    with pytest.raises(StorageClosed):
        waiting.result(0)
    assert not path.exists()


def test_stop_tells_when_a_job_outlasts_it(thread: StorageThread) -> None:
    may_end = threading.Event()
    slow = thread.submit(lambda db: may_end.wait(WAIT_S))
    assert not thread.stop(timeout_s=0.01)
    may_end.set()
    assert thread.stop(WAIT_S)
    assert slow.result(0) is True


def test_a_database_that_cannot_be_opened_fails_every_job(path: Path) -> None:
    path.write_bytes(b"a shopping list, and no database at all" * 100)
    thread = StorageThread(path)
    early = thread.submit(notes)
    opened = thread.start()
    assert not opened.cancel()
    with pytest.raises(DatabaseCorrupt) as caught:
        opened.result(WAIT_S)
    assert early.exception(WAIT_S) is caught.value
    assert thread.submit(notes).exception(WAIT_S) is caught.value
    assert not thread.accepting
    assert thread.stop(WAIT_S)


def test_a_result_lives_no_longer_than_who_asked_for_it(thread: StorageThread) -> None:
    class Result:
        pass

    future = thread.submit(lambda db: Result())
    alive = weakref.ref(future.result(WAIT_S))
    del future
    gc.collect()
    wait_until(lambda: alive() is None)
