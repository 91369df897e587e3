"""The step loop: everything that happens on the engine thread once a model is ready."""

from __future__ import annotations

import contextlib
import heapq
import itertools
import logging
import queue
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from engine.cache.part import Storage
from engine.cache.prefix_cache import PrefixCache
from engine.cache.row import Row
from engine.commands import Cancel, Command, DropPin, Pause, Pressure, Stop, Submit, WarmPin
from engine.config import EngineConfig, Publication
from engine.counters import Counters
from engine.errors import DeadlinePassed, EngineError, PromptTooLong, StepFailed
from engine.memory_keeper import MemoryKeeper
from engine.metrics import EngineMetrics
from engine.pin_keeper import PinKeeper
from engine.prompt.codec import TextCodec
from engine.prompt.stream import TextStream
from engine.request import (
    Event,
    Failed,
    Finished,
    FinishReason,
    Priority,
    Progress,
    Prompt,
    Request,
    RequestRecord,
    SamplingParams,
    Started,
    Text,
)
from engine.schedule.admission import Admission
from engine.schedule.job import Job, Phase
from engine.schedule.scheduler import Scheduler, Step
from engine.snapshot import EngineState, Memory, Snapshot, Waits

log = logging.getLogger(__name__)

SNAPSHOT_INTERVAL_S = 0.05
IDLE_LOOK_S = 60.0
WORTH_TAKING_OVER = 16  # tokens to go: it costs what reading two pieces costs more in 4 or 5 steps
# Building the next step's graph holds the GIL for many milliseconds. After a first token the thread
# that sends it gets this long to wake up and take the GIL, which saves the client about 5 ms.
HAND_OVER_S = 0.0003


class StepRunner(Protocol):
    """What the loop needs of `engine.model.runner.Runner`."""

    def new_storage(self) -> Storage: ...

    def new_sampler(self, params: SamplingParams) -> Any: ...

    def prefill(self, row: Row, num_tokens: int) -> None: ...

    def batches(self, rows: Sequence[Row]) -> list[list[Row]]: ...

    def next_tokens(
        self, rows: Sequence[Row], samplers: Sequence[Any], spare_bytes: int
    ) -> list[int]: ...

    def free_unused(self) -> None: ...


@dataclass(frozen=True, slots=True)
class LoopParts:
    """The rooms a loop works with."""

    runner: StepRunner
    cache: PrefixCache
    admission: Admission
    scheduler: Scheduler
    codec: TextCodec
    eos_ids: frozenset[int]
    model_id: str


class EngineLoop:
    """Takes commands, runs steps, tells events.

    `deliver` gets one batch of events a step, and before it one of the requests that start in it.
    `record` gets one finished request at a time. `step_started_at` is None while the loop sleeps,
    else when its present step began.
    """

    def __init__(
        self,
        parts: LoopParts,
        config: EngineConfig,
        *,
        deliver: Callable[[tuple[Event, ...]], None],
        record: Callable[[RequestRecord], None],
        metrics: EngineMetrics,
        counters: Counters,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._runner = parts.runner
        self._cache = parts.cache
        self._admission = parts.admission
        self._scheduler = parts.scheduler
        self._codec = parts.codec
        self._eos_ids = parts.eos_ids
        self._model_id = parts.model_id
        self._config = config
        self._deliver = deliver
        self._record = record
        self._metrics = metrics
        self._counters = counters
        self._clock = clock
        self._pins = PinKeeper(parts.cache)
        self._memory = MemoryKeeper(parts.cache, parts.admission, metrics, counters)
        self._events: list[Event] = []
        self._deadlines: list[tuple[float, int, Job]] = []  # a heap
        self._numbers = itertools.count()
        self._stopping = False
        self._paused = False
        self._hands_over = False
        self._stays_apart: Job | None = None  # the last whose KV could not be joined
        self._snapshot_at = 0.0
        self.step_started_at: float | None = None
        # Somebody may look before the first step: what was counted before stays counted.
        self.snapshot = Snapshot(
            seq=counters.seq, totals=counters.totals(), evictions=counters.evictions()
        )

    def run(self, inbox: queue.SimpleQueue[Command]) -> None:
        """Serve until told to stop. Sleeps while there is nothing to do."""
        self._publish_snapshot(force=True)
        while not self._stopping:
            waiting = self._scheduler.num_waiting and not self._paused
            if not waiting and not self._scheduler.running:
                self.step_started_at = None
                self._publish_snapshot(force=True)
                self._tidy(inbox)
                self._await_command(inbox)
            self.step_started_at = self._clock()
            while not self._stopping:
                try:
                    self._obey(inbox.get_nowait())
                except queue.Empty:
                    break
            if not self._stopping:
                self.step()
        self._abort_all()
        self.step_started_at = None
        self._publish_snapshot(force=True)

    def _await_command(self, inbox: queue.SimpleQueue[Command]) -> None:
        """Sleep until there is a command, somebody who waits has no time left, or what is hot may
        have cooled."""
        timeout = IDLE_LOOK_S if self.snapshot.capacity.hot_bytes else None
        while self._deadlines and not self._is_live(self._deadlines[0][-1]):
            heapq.heappop(self._deadlines)
        if self._deadlines:
            left_s = max(0.0, self._deadlines[0][0] - self._clock())
            timeout = min(left_s, timeout or left_s)
        with contextlib.suppress(queue.Empty):
            self._obey(inbox.get(timeout=timeout))

    def _tidy(self, inbox: queue.SimpleQueue[Command]) -> None:
        """Nothing to do: join the parts of long chains, until somebody asks for something."""
        free = self._admission.budget - self._cache.used_bytes
        try:
            while inbox.empty() and self._cache.compact(free):
                free = self._admission.budget - self._cache.used_bytes
        except Exception:
            log.exception("Parts could not be joined.")  # they are as good as they were

    def step(self) -> None:
        """End who has no time left, admit, decode, prefill one chunk, tell what happened."""
        now = self._clock()
        self._end_overdue(now)
        if not self._paused:
            self._admit(now)
        self._take_over_if_alone()
        if plan := self._plan_within_budget():
            num_tokens = plan.num_tokens
            if plan.decode:
                self._decode(plan.decode)
            self._prefill_some(plan, now)
            self._metrics.step(num_tokens)
        self._flush()
        if self._hands_over:
            self._hands_over = False
            time.sleep(HAND_OVER_S)
        self._publish_snapshot()
        if self._config.check_integrity:
            self._cache.check_integrity()

    # Commands

    def _obey(self, command: Command) -> None:
        match command:
            case Submit(request, max_tokens, submitted_at):
                self._add(Job(request, submitted_at, max_tokens))
            case Cancel(request_id):
                self._cancel(request_id)
            case WarmPin(name, tokens, keep):
                self._drop_pin(name)
                request = Request(f"pin:{name}", Prompt(tokens), 0, priority=Priority.PIN)
                job = Job(request, self._clock(), 0, pin=name)
                self._pins.begin(job, keep)
                self._scheduler.add(job)
            case DropPin(name):
                self._drop_pin(name)
            case Pause(on):
                self._paused = on
            case Pressure(on):
                self._relieve(on)
            case Stop():
                self._stopping = True

    def _add(self, job: Job) -> None:
        self._scheduler.add(job)
        if job.request.deadline_s is not None:
            ends_at = job.submitted_at + job.request.deadline_s
            heapq.heappush(self._deadlines, (ends_at, next(self._numbers), job))

    def _cancel(self, request_id: str) -> None:
        if not self._scheduler.knows(request_id):
            return
        job = self._scheduler.get(request_id)
        if job.pin:
            self._drop_pin(job.pin)
            return
        self._finish(job, FinishReason.ABORT)
        self._flush()

    def _drop_pin(self, name: str) -> None:
        if job := self._pins.job(name):
            self._scheduler.remove(job)
        self._pins.drop(name)
        self._scheduler.memory_freed()

    def _abort_all(self) -> None:
        for job in self._scheduler.jobs:
            self._finish(job, FinishReason.ABORT)
        self._pins.clear()
        self._flush()

    def _relieve(self, pressed: bool) -> None:
        self._memory.relieve(pressed, self._clock())
        if pressed:
            self._runner.free_unused()
        self._publish_snapshot(force=True)

    # One step

    def _end_overdue(self, now: float) -> None:
        """Whoever is not done by its deadline ends, in whatever phase; what was computed stays."""
        while self._deadlines and self._deadlines[0][0] <= now:
            _, _, job = heapq.heappop(self._deadlines)
            if self._is_live(job):
                assert job.request.deadline_s is not None
                self._fail(job, DeadlinePassed(job.request.deadline_s))
                self._scheduler.remove(job)

    def _is_live(self, job: Job) -> bool:
        """Whether it has not ended: its id may be another's by now."""
        request_id = job.request.id
        return self._scheduler.knows(request_id) and self._scheduler.get(request_id) is job

    def _admit(self, now: float) -> None:
        started, hopeless = self._scheduler.admit(now)
        for job in hopeless:
            if job.num_generated:
                self._cut_short(job)
                continue
            limit = self._admission.tokens_within(self._admission.budget - self._pins.held_bytes)
            needed = len(job.request.prompt.tokens) + job.max_tokens
            self._fail(job, PromptTooLong(needed, limit, "KV budget beside the pins"))
            self._scheduler.remove(job)
        for job in started:
            if job.stream is None:
                self._begin(job)
            else:
                self._go_on(job)
            if not job.num_tokens_left:  # nothing to generate and everything known
                self._finish(job, FinishReason.LENGTH)
        self._flush()

    def _begin(self, job: Job) -> None:
        """A job has a row for the first time."""
        job.sampler = self._runner.new_sampler(job.request.sampling)
        job.stream = TextStream(self._codec, job.request.stop)
        if job.pin:
            return
        usage = job.usage()
        self._admission.started(job)
        self._pins.count_hits(job)
        self._metrics.admitted(usage.prompt_tokens, usage.cached_tokens, job.max_tokens)
        self._counters.requests += 1
        self._counters.hits += usage.cached_tokens > 0
        self._counters.prompt_tokens += usage.prompt_tokens
        self._counters.cached_tokens += usage.cached_tokens
        self._counters.awaited_tokens += usage.awaited_tokens
        assert job.row is not None
        self._counters.lost_tokens += job.row.num_lost
        self._counters.new_tokens += job.row.num_new
        self._events.append(Started(job.request.id, usage.prompt_tokens, usage.cached_tokens))

    def _go_on(self, job: Job) -> None:
        """A job that had been sent back to the queue has a row again."""
        assert job.row is not None
        lost = max(0, job.num_computed - job.row.num_cached)
        self._counters.recomputed_tokens += lost
        log.info("Request %s goes on, %d tokens of it are computed again.", job.request.id, lost)

    def _plan_within_budget(self) -> Step:
        """The next step, once what it appends fits: whatever nobody uses is evicted first, then
        what is kept for those who wait, then running requests make way."""
        while plan := self._scheduler.plan():
            if self._memory.make_room(plan.growth(), self._scheduler.let_go_kept):
                break
            if (victim := self._scheduler.make_way(self._clock())) is not None:
                self._tell_preempted(victim)
            else:
                self._cut_short(self._scheduler.running[0])
        return plan

    def _take_over_if_alone(self) -> None:
        """Whoever runs alone, and goes on for a while, need not keep what it reads apart for
        others: that costs it operations in every step."""
        job = self._scheduler.alone
        if (
            job is None
            or job.row is None
            or job is self._stays_apart
            or job.phase is not Phase.DECODE
            or job.answer_tokens_left < WORTH_TAKING_OVER
            or not self._cache.can_take_over(job.row)
            or not self._admission.fits_in_one_tail(job)
        ):
            return
        try:
            self._cache.take_over(job.row, self._admission.budget - self._cache.used_bytes)
        except Exception:
            log.exception("Request %s goes on with its KV in two pieces.", job.request.id)
            self._stays_apart = job

    def _tell_preempted(self, job: Job) -> None:
        if not job.pin:  # a pin that is being warmed gives its place to anybody
            self._counters.preemptions += 1
            self._metrics.preempted()
        log.warning(
            "Request %s made way: %d running, %d waiting, %d of %d bytes of KV in use.",
            job.request.id,
            len(self._scheduler.running),
            self._scheduler.num_waiting,
            self._cache.used_bytes,
            self._admission.budget,
        )

    def _cut_short(self, job: Job) -> None:
        """The only one that runs has come to the end of the memory that pins leave it."""
        log.warning("Request %s ends early: the KV budget is used up.", job.request.id)
        if job.num_generated:
            self._finish(job, FinishReason.LENGTH)
            return
        limit = self._admission.tokens_within(self._admission.budget - self._pins.held_bytes)
        self._fail(job, PromptTooLong(len(job.tokens), limit, "KV budget beside the pins"))
        self._scheduler.remove(job)

    def _prefill_some(self, plan: Step, began: float) -> None:
        job = plan.prefill
        if job is None or job.row is None:
            return
        if plan.company:
            self._decode([job, *plan.company])
            return
        prefill_began = self._clock()
        self._prefill(job, job.row, plan.chunk)
        ended = self._clock()
        self._scheduler.share.observe(ended - prefill_began, ended - began)

    def _prefill(self, job: Job, row: Row, chunk: int) -> None:
        began, start = self._clock(), row.num_computed
        try:
            if job.max_tokens and chunk == row.num_uncomputed:
                self._choose_next([job])
            else:
                self._runner.prefill(row, chunk)
                if self._config.publication is Publication.INCREMENTAL:
                    self._cache.publish(row)
                    if job.at_checkpoint:
                        self._cache.checkpoint(row)
                if not job.pin:
                    done = min(row.num_computed, len(job.request.prompt.tokens))
                    self._events.append(Progress(job.request.id, done))
        except StepFailed as error:
            self._break_off(job, error)
            return
        took = self._clock() - began
        self._scheduler.rate.observe(chunk, took)
        self._scheduler.cost.observe(start, chunk, took)
        if not job.max_tokens and not row.num_uncomputed:
            self._finish(job, FinishReason.LENGTH)

    def _decode(self, jobs: Sequence[Job]) -> None:
        """The next token for each of these jobs, in as few passes as they can share."""
        owners = {job.row: job for job in jobs}
        for rows in self._runner.batches([job.row for job in jobs if job.row]):
            batch = [owners[row] for row in rows]
            try:
                self._choose_next(batch)
            except StepFailed as error:
                self._retry_alone(batch, error)

    def _retry_alone(self, batch: Sequence[Job], error: StepFailed) -> None:
        """A pass of several rows failed: who is to blame shows when each runs alone."""
        if len(batch) == 1:
            self._break_off(batch[0], error)
            return
        for i, job in enumerate(batch):
            if i in error.lost:
                self._break_off(job, StepFailed(error.reason, frozenset({0}), error.report))
                continue
            try:
                self._choose_next([job])
            except StepFailed as own:
                self._break_off(job, own)

    def _break_off(self, job: Job, error: StepFailed) -> None:
        """The model failed for this job. Nothing of the failed step counts; what it had before
        stays, unless its tail was lost with it."""
        log.error("A step failed for request %s.\n%s", job.request.id, error.report)
        # A new error, because the one that was raised keeps arrays of this thread alive.
        self._fail(job, StepFailed(error.reason))
        self._scheduler.remove(job, lost=bool(error.lost))

    def _choose_next(self, jobs: Sequence[Job]) -> None:
        """Compute what remains of these jobs' tokens and take the token after it."""
        tokens = self._runner.next_tokens(
            [job.row for job in jobs if job.row],
            [job.sampler for job in jobs],
            self._memory.spare_bytes,
        )
        now = self._clock()
        for job, token in zip(jobs, tokens, strict=True):
            assert job.row is not None
            if job.num_generated:
                if self._config.publication is Publication.INCREMENTAL:
                    self._cache.publish(job.row)
                self._metrics.inter_token(now - job.last_token_at)
            else:
                if self._config.publication is not Publication.ON_COMPLETION:
                    self._cache.publish_partial(job.row)
                job.first_token_at = now
                self._hands_over = True
                self._metrics.first_token(now - job.submitted_at)
            job.last_token_at = now
            self._take(job, token)

    def _take(self, job: Job, token: int) -> None:
        assert job.row is not None
        job.num_generated += 1
        if token in self._eos_ids:
            self._finish(job, FinishReason.STOP)
            return
        job.row.tokens.append(token)
        self._tell(job, job.stream.push(token))
        if job.stream.stopped:
            self._finish(job, FinishReason.STOP)
        elif job.num_generated >= job.max_tokens:
            self._finish(job, FinishReason.LENGTH)

    # Events

    def _tell(self, job: Job, text: str) -> None:
        if text:
            self._events.append(Text(job.request.id, text, job.num_generated))

    def _finish(self, job: Job, reason: FinishReason) -> None:
        if job.pin:
            if reason is FinishReason.LENGTH:
                self._pins.complete(job)
            self._scheduler.remove(job)
            return
        if job.stream is not None:
            self._tell(job, job.stream.finish())
            if job.stream.stopped and reason is FinishReason.LENGTH:
                reason = FinishReason.STOP  # what was held back did hold a stop string
        usage, timings = job.usage(), job.timings(self._clock())
        if job.max_tokens and reason is not FinishReason.ABORT:
            self._admission.ended(job)
        self._scheduler.remove(job)
        self._events.append(Finished(job.request.id, reason, usage, timings))
        self._keep_record(job, reason)

    def _fail(self, job: Job, error: EngineError) -> None:
        if job.pin:
            self._pins.fail(job, str(error))
            return
        self._events.append(Failed(job.request.id, error))
        self._keep_record(job, FinishReason.ERROR)

    def _keep_record(self, job: Job, reason: FinishReason) -> None:
        request, usage = job.request, job.usage()
        self._counters.completion_tokens += usage.completion_tokens
        record = RequestRecord(
            id=request.id,
            client=request.client,
            model=self._model_id,
            priority=request.priority,
            reason=reason,
            usage=usage,
            timings=job.timings(self._clock()),
            ended_at=time.time(),
            decision=job.decision,
            num_preemptions=job.num_preemptions,
        )
        self._metrics.finished(record)
        self._record(record)

    def _flush(self) -> None:
        if self._events:
            events, self._events = tuple(self._events), []
            self._deliver(events)

    def _publish_snapshot(self, force: bool = False) -> None:
        now = self._clock()
        if not force and now - self._snapshot_at < SNAPSHOT_INTERVAL_S:
            return
        self._snapshot_at = now
        self._counters.seq += 1
        self._memory.book()
        self._scheduler.look_what_is_hot(now)
        running = self._scheduler.running
        used, open_bytes = self._cache.used_bytes, self._cache.open_bytes
        prefill_tokens, prefill_done = self._longest_prefill(running)
        self.snapshot = Snapshot(
            seq=self._counters.seq,
            state=EngineState.BUSY if running or self._scheduler.num_waiting else EngineState.READY,
            model_id=self._model_id,
            memory=Memory(
                budget=self._admission.budget,
                running=open_bytes,
                resident=used - open_bytes,
                pinned=self._pins.held_bytes,
                checkpoints=self._cache.checkpoint_bytes,
                reserved=self._admission.reserved_bytes(running),
            ),
            capacity=self._admission.capacity(self._pins.held_bytes),
            totals=self._counters.totals(),
            paused=self._paused,
            num_running=len(running),
            num_waiting=self._scheduler.num_waiting,
            num_parked=self._scheduler.num_parked,
            waits_for=Waits.PAUSE if self._paused else self._scheduler.waits_for,
            prefill_done=prefill_done,
            prefill_tokens=prefill_tokens,
            num_pages=self._cache.num_pages,
            num_parts=len(self._cache.parts),
            num_checkpoints=self._cache.num_checkpoints,
            pins=tuple(self._pins.statuses()),
            evictions=self._counters.evictions(),
            notice=self._memory.notice,
        )

    def _longest_prefill(self, running: Sequence[Job]) -> tuple[int, int]:
        """Tokens of the longest prompt of a request that has no first token yet, and how many of
        them stand in KV."""
        return max(
            (
                (len(job.request.prompt.tokens), job.row.num_computed)
                for job in running
                if job.row is not None and not job.pin and not job.num_generated
            ),
            default=(0, 0),
        )
