"""From what the engine reports to rows, gathered so that the disk is touched once a second."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from app.storage import aggregates, history
from app.storage.aggregates import MinuteRow, minute_of
from app.storage.growth import GrowthWatch
from app.storage.thread import StorageThread
from engine.request import RequestRecord
from engine.snapshot import Memory, Snapshot

if TYPE_CHECKING:
    from sqlite_utils import Database

logger = logging.getLogger(__name__)

WRITE_INTERVAL_S = 1.0
RETRY_S = 10.0


@dataclass(slots=True)
class _Batch:
    """What is written in one transaction."""

    records: list[RequestRecord] = field(default_factory=list)
    minutes: dict[int, MinuteRow] = field(default_factory=dict)

    def add(self, row: MinuteRow) -> None:
        before = self.minutes.get(row.started_at)
        self.minutes[row.started_at] = row if before is None else before.plus(row)

    def precede_with(self, older: _Batch) -> None:
        """Take in an older batch, with no more records than the history would keep."""
        self.records = (older.records + self.records)[-history.KEPT :]
        for row in older.minutes.values():
            self.add(row)


class Recorder:
    """Takes records and snapshots from any thread, without waiting, and has them stored.

    What could not be written is kept and tried again: a full disk loses nothing while Ondol runs.
    `clock` gives Unix seconds.
    """

    def __init__(self, thread: StorageThread, clock: Callable[[], float]) -> None:
        self._thread = thread
        self._clock = clock
        self._lock = threading.Lock()
        self._waiting = _Batch()
        self._scheduled = False
        self._next_write_at = 0.0
        self._watch = GrowthWatch()
        self._peaks = MinuteRow(0)
        self._trouble: BaseException | None = None

    @property
    def trouble(self) -> BaseException | None:
        """Why the last write failed; None where it did not."""
        return self._trouble

    def record(self, record: RequestRecord) -> None:
        """A request has ended."""
        if not self._thread.accepting:
            return
        with self._lock:
            self._waiting.records.append(record)
            self._waiting.add(aggregates.row_of(record))
        self._schedule()

    def observe(self, snapshot: Snapshot) -> None:
        """The engine as it is now. Meant to be called about once a second.

        Evictions, preemptions and what was missed are the growth of the engine's totals.
        """
        if not self._thread.accepting:
            return
        minute = minute_of(self._clock())
        with self._lock:
            row = self._new_peaks(minute, snapshot.memory).plus(self._new_losses(minute, snapshot))
            if row.is_empty:
                return
            self._waiting.add(row)
        self._schedule()

    def flush(self) -> Future[None]:
        """Write what waits, now. Where that fails it goes on waiting."""
        return self._submit(self._write, delay_s=0.0)

    def _new_peaks(self, minute: int, memory: Memory) -> MinuteRow:
        """Empty unless `memory` exceeds what is known of the minute: an idle engine writes
        nothing."""
        known = self._peaks if self._peaks.started_at == minute else MinuteRow(minute)
        seen = known.plus(
            MinuteRow(
                minute,
                peak_resident_bytes=memory.resident,
                peak_pinned_bytes=memory.pinned,
                peak_running_bytes=memory.running,
            )
        )
        if seen == known:
            return MinuteRow(minute)
        self._peaks = seen
        return seen

    def _new_losses(self, minute: int, snapshot: Snapshot) -> MinuteRow:
        growth = self._watch.look(snapshot)
        totals, evicted = growth.totals, growth.evicted
        return MinuteRow(
            minute,
            evicted_pages=totals.evicted_pages,
            evicted_bytes=totals.evicted_bytes,
            capacity_bytes=evicted.capacity,
            quota_bytes=evicted.quota,
            checkpoint_bytes=evicted.checkpoint,
            pressure_bytes=evicted.pressure,
            preemptions=totals.preemptions,
            recomputed_tokens=totals.recomputed_tokens,
            lost_tokens=totals.lost_tokens,
            new_tokens=totals.new_tokens,
            starts=totals.starts,
        )

    def _schedule(self, least_delay_s: float = 0.0) -> None:
        """See to it that what waits gets written, a second after the last write at the soonest."""
        with self._lock:
            if self._scheduled:
                return
            self._scheduled = True
            delay_s = max(least_delay_s, self._next_write_at - time.monotonic())
        self._submit(self._write_scheduled, delay_s)

    def _submit(self, write: Callable[[Database, _Batch], None], delay_s: float) -> Future[None]:
        batch = _Batch()
        future = self._thread.submit(lambda db: write(db, batch), delay_s)
        future.add_done_callback(lambda done: self._after_write(done, batch))
        return future

    def _write_scheduled(self, db: Database, batch: _Batch) -> None:
        with self._lock:
            self._scheduled = False
        self._write(db, batch)

    def _write(self, db: Database, batch: _Batch) -> None:
        """Store what waits; `batch` learns what that was."""
        with self._lock:
            batch.precede_with(self._waiting)
            self._waiting = _Batch()
            self._next_write_at = time.monotonic() + WRITE_INTERVAL_S
        if batch.records:
            history.add(db, batch.records)
        if batch.minutes:
            aggregates.add(db, batch.minutes.values())
            aggregates.prune(db, now=self._clock())

    def _after_write(self, done: Future[None], batch: _Batch) -> None:
        if done.cancelled():
            return
        error = done.exception()
        if error is not None and (batch.records or batch.minutes):
            if type(error) is not type(self._trouble):
                logger.error("history could not be written: %s", error)
            with self._lock:
                self._waiting.precede_with(batch)
            if self._thread.accepting:
                self._schedule(RETRY_S)
        self._trouble = error
