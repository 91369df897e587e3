"""From what the engine reports to rows, gathered so that the disk is touched once a second."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field

from sqlite_utils import Database

from app.storage import aggregates, history
from app.storage.aggregates import MinuteRow, minute_of
from app.storage.thread import StorageThread
from engine.request import RequestRecord
from engine.snapshot import Snapshot, Totals

logger = logging.getLogger(__name__)

WRITE_INTERVAL_S = 1.0
RETRY_S = 10.0


@dataclass(slots=True)
class _Batch:
    """What waits to be written, in one transaction."""

    records: list[RequestRecord] = field(default_factory=list)
    minutes: dict[int, MinuteRow] = field(default_factory=dict)

    def add(self, row: MinuteRow) -> None:
        before = self.minutes.get(row.started_at)
        self.minutes[row.started_at] = row if before is None else before.plus(row)

    def put_back(self, older: _Batch) -> None:
        """Take in what could not be written; as many records as the history would keep."""
        self.records = (older.records + self.records)[-history.KEPT :]
        for row in older.minutes.values():
            self.add(row)


class Recorder:
    """Takes records and snapshots from any thread, without waiting, and has them stored.

    What could not be written is kept and tried again, so a full disk loses nothing while Ondol
    runs. `clock` gives Unix seconds.
    """

    def __init__(self, thread: StorageThread, clock: Callable[[], float]) -> None:
        self._thread = thread
        self._clock = clock
        self._lock = threading.Lock()
        self._waiting = _Batch()
        self._write_is_due = False
        self._next_write_at = 0.0
        self._totals = Totals()
        self._peaks = MinuteRow(0)
        self._trouble: BaseException | None = None

    @property
    def trouble(self) -> BaseException | None:
        """Why the last write failed; None when it did not."""
        return self._trouble

    def record(self, record: RequestRecord) -> None:
        """A request has ended."""
        with self._lock:
            self._waiting.records.append(record)
            self._waiting.add(aggregates.row_of(record))
        self._have_written()

    def observe(self, snapshot: Snapshot) -> None:
        """The engine as it is now; call this about once a second.

        Evictions are counted from the growth of the engine's totals. Totals that shrank are those
        of a new engine, which began at zero.
        """
        minute = minute_of(self._clock())
        with self._lock:
            peaks = self._new_peaks(minute, snapshot)
            pages, num_bytes = self._new_evictions(snapshot.totals)
            row = peaks.plus(
                MinuteRow(minute, evicted_pages=pages, evicted_bytes=num_bytes)
            )
            if row.is_empty:
                return
            self._waiting.add(row)
        self._have_written()

    def flush(self) -> Future[None]:
        """Write what waits. Done when it is stored; fails as any job does, and then it still
        waits."""
        taken: list[_Batch] = []

        def write(db: Database) -> None:
            taken.append(self._take())
            self._write(db, taken[0])

        future = self._thread.submit(write)
        future.add_done_callback(lambda done: self._after(done, taken))
        return future

    def _have_written(self) -> None:
        with self._lock:
            if self._write_is_due:
                return
            self._write_is_due = True
            delay_s = max(0.0, self._next_write_at - time.monotonic())
        self._flush_in(delay_s)
