"""The storage thread: it owns the only connection, and nobody else waits for the disk."""

from __future__ import annotations

import heapq
import itertools
import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from app.storage.errors import StorageClosed, translate
from app.storage.schema import open_database

if TYPE_CHECKING:
    from sqlite_utils import Database

T = TypeVar("T")

_CLOSED = "Ondol is closing and stores nothing more."


@dataclass(order=True, frozen=True, slots=True)
class _Task:
    """A job, to be done at `due` (monotonic seconds) or soon after."""

    due: float
    number: int
    job: Callable[[Database], Any] = field(compare=False)
    future: Future[Any] = field(compare=False)


class StorageThread:
    """Runs jobs one after the other on the database at `path`, each in one transaction.

    Every method may be called from any thread but its own. Callbacks of a future run on the
    storage thread and must be short; a job must return plain data, nothing that reads on later.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._queue: queue.SimpleQueue[_Task | None] = queue.SimpleQueue()
        self._later: list[_Task] = []
        self._draining = False
        self._numbers = itertools.count()
        self._opened: Future[None] = Future()
        self._closing = threading.Lock()
        self._refusal: BaseException | None = None
        # Not a daemon: the interpreter must not end in the middle of what was submitted.
        self._thread = threading.Thread(target=self._run, name="storage", daemon=False)

    @property
    def accepting(self) -> bool:
        """Whether jobs are taken. False once stopped, or when the database could not be opened."""
        return self._refusal is None

    def start(self) -> Future[None]:
        """Done when the database is open. Fails with what `open_database` raises; then every job,
        waiting or yet to come, fails with the same error."""
        self._opened.set_running_or_notify_cancel()  # from here on nobody can cancel it
        self._thread.start()
        return self._opened

    def submit(self, job: Callable[[Database], T], delay_s: float = 0.0) -> Future[T]:
        """Have `job` done in its turn, or `delay_s` from now. Never blocks.

        What the job raises rolls its transaction back and fails its future, as a StorageError
        where disk or database is to blame. After `stop` the future fails with StorageClosed.
        """
        future: Future[T] = Future()
        with self._closing:
            refusal = self._refusal
            if refusal is None:
                due = time.monotonic() + delay_s
                self._queue.put(_Task(due, next(self._numbers), job, future))
        if refusal is not None:
            future.set_exception(refusal)
        return future

    def stop(self, timeout_s: float | None = None) -> bool:
        """Do all that was submitted, delayed or not, close the database, end the thread.

        Returns whether it ended in time. Stopping twice is harmless.
        """
        if self._close(StorageClosed(_CLOSED)):
            self._queue.put(None)
        if self._thread.ident is None:
            self._fail_waiting(StorageClosed(_CLOSED))
            return True
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def _close(self, refusal: BaseException) -> bool:
        """Take nothing more. False where that was so already."""
        with self._closing:
            first = self._refusal is None
            if first:
                self._refusal = refusal
        return first

    def _run(self) -> None:
        try:
            db = open_database(self._path)
        except BaseException as error:
            self._close(error)
            self._opened.set_exception(error)
            self._fail_waiting(error)
            return
        try:
            self._opened.set_result(None)
            while self._perform_next(db):
                pass
        finally:
            db.close()

    def _perform_next(self, db: Database) -> bool:
        """A function of its own, so that no result stays alive while the thread waits."""
        task = self._next()
        if task is None:
            return False
        if not task.future.set_running_or_notify_cancel():
            return True
        try:
            with db.atomic():
                result = task.job(db)
        except BaseException as error:
            task.future.set_exception(translate(error, self._path) or error)
        else:
            task.future.set_result(result)
        return True

    def _next(self) -> _Task | None:
        """The next task, once it is due; None when all is done after `stop`."""
        while True:
            now = time.monotonic()
            if self._later and (self._later[0].due <= now or self._draining):
                return heapq.heappop(self._later)
            if self._draining:
                return None
            try:
                task = self._queue.get(timeout=self._later[0].due - now if self._later else None)
            except queue.Empty:
                continue
            if task is None:
                self._draining = True
            else:
                heapq.heappush(self._later, task)

    def _fail_waiting(self, error: BaseException) -> None:
        while True:
            try:
                task = self._queue.get_nowait()
            except queue.Empty:
                return
            if task is not None and task.future.set_running_or_notify_cancel():
                task.future.set_exception(error)
