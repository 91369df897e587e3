"""One life of the engine thread: load, serve, free. Everything MLX happens in here."""

from __future__ import annotations

import gc
import queue
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path

from engine.assembly import Assembler, Assembly, leave_thread
from engine.commands import Command
from engine.config import EngineConfig
from engine.counters import Counters
from engine.loop import EngineLoop
from engine.metrics import EngineMetrics
from engine.request import Event, RequestRecord
from engine.snapshot import Memory, Snapshot


class EngineLife:
    """A thread that loads a model, serves until it is told to stop or dies, and frees the model.

    `on_ready` is called on the thread between loading and serving, `ended` is set when it is over.
    `error` and `traceback` tell why it died; they hold no reference to anything that lived on the
    thread.
    """

    def __init__(
        self,
        assembler: Assembler,
        path: Path,
        model_id: str,
        config: EngineConfig,
        *,
        deliver: Callable[[tuple[Event, ...]], None],
        record: Callable[[RequestRecord], None],
        metrics: EngineMetrics,
        counters: Counters,
        on_ready: Callable[[EngineLife, Assembly], None],
    ) -> None:
        self.path = path
        self.inbox: queue.SimpleQueue[Command] = queue.SimpleQueue()
        self.ended = threading.Event()
        self.error: BaseException | None = None
        self.traceback = ""
        self.assembly: Assembly | None = None
        self._assembler = assembler
        self._model_id = model_id
        self._config = config
        self._deliver = deliver
        self._record = record
        self._metrics = metrics
        self._counters = counters
        self._on_ready = on_ready
        self._loop: EngineLoop | None = None
        self._last_snapshot = Snapshot(
            seq=counters.seq, totals=counters.totals(), evictions=counters.evictions()
        )
        self._born = time.monotonic()
        self._thread = threading.Thread(target=self._run, name="ondol-engine", daemon=True)

    @property
    def snapshot(self) -> Snapshot:
        """The loop's latest; after its end, that without what was freed."""
        loop = self._loop
        return loop.snapshot if loop else self._last_snapshot

    @property
    def age_s(self) -> float:
        return time.monotonic() - self._born

    def start(self) -> None:
        self._thread.start()

    def join(self) -> None:
        self._thread.join()

    def stuck_s(self) -> float:
        """Seconds since the present step began; 0 while the thread loads or sleeps."""
        began = self._loop.step_started_at if self._loop else None
        return time.monotonic() - began if began is not None else 0.0

    def where(self) -> str:
        """The thread's stack, for the log."""
        frame = sys._current_frames().get(self._thread.ident or 0)
        return "".join(traceback.format_stack(frame)) if frame else "not running"

    def _run(self) -> None:
        try:
            try:
                self._serve()
            except BaseException as error:
                self._keep(error)
            finally:
                self._free()
        except BaseException as error:
            self._keep(error)
        finally:
            self.ended.set()  # whatever happens: somebody waits for it

    def _keep(self, error: BaseException) -> None:
        """What ended the thread, without what it would keep alive."""
        self.traceback = traceback.format_exc()
        traceback.clear_frames(error.__traceback__)  # arrays must be freed on this thread
        self.error = error.with_traceback(None)
        self.error.__context__ = self.error.__cause__ = None

    def _serve(self) -> None:
        self.assembly = assembly = self._assembler(self.path, self._model_id, self._config)
        self._loop = EngineLoop(
            assembly.parts,
            self._config,
            deliver=self._deliver,
            record=self._record,
            metrics=self._metrics,
            counters=self._counters,
        )
        self._counters.starts += 1
        self._on_ready(self, assembly)
        self._loop.run(self.inbox)

    def _free(self) -> None:
        """Drop the model, the cache and every array on the thread that made them."""
        close = self.assembly.close if self.assembly else None
        if self._loop is not None:
            last = self._loop.snapshot
            self._last_snapshot = Snapshot(
                last.seq,
                totals=last.totals,
                evictions=last.evictions,
                memory=Memory(budget=last.memory.budget),
            )
        self._loop = self.assembly = None
        if close is not None:
            close()
            close = None  # the model's runner
        gc.collect()  # parts, holds and rows refer to each other, and so do modules of a model
        leave_thread()
