"""What runs in the next step (design D5): decode rows together, then one prefill chunk."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from engine.cache.prefix_cache import Match, PrefixCache
from engine.cache.row import Row
from engine.config import PrefillOrder, Release, WaitOrCompute
from engine.errors import DuplicateRequest, UnknownRequest
from engine.request import Priority
from engine.schedule.admission import Admission
from engine.schedule.checkpoints import DEFAULT_SPACING, checkpoint_positions
from engine.schedule.chunks import PrefillRate, chunk_tokens
from engine.schedule.coordination import Coordinator
from engine.schedule.costs import PrefillCost, StepShare
from engine.schedule.flights import Flights
from engine.schedule.job import SHORT_REST_TOKENS, Job, Phase
from engine.schedule.order import Key, Prefill, key
from engine.schedule.queue import WaitQueue
from engine.snapshot import Waits

_LOOK_AHEAD = (
    16  # waiting jobs among which the order of prefill chooses; looking costs a match each
)
_MOST_LOOKS = 32  # waiting jobs that a step looks at: those who run wait for it
_REFRESH_S = 0.5
PATIENCE_S = 120.0  # of what is less urgent than a request of a person


@dataclass(frozen=True, slots=True)
class Step:
    """Work of one step: jobs that decode together, and one job that prefills `chunk` tokens. The
    `company` are jobs whose prompts' short rests go through one pass with its own."""

    decode: tuple[Job, ...] = ()
    prefill: Job | None = None
    chunk: int = 0
    company: tuple[Job, ...] = ()

    @property
    def num_tokens(self) -> int:
        """Tokens that the step computes."""
        rests = sum(job.row.num_uncomputed for job in self.company if job.row)
        return len(self.decode) + self.chunk + rests

    def growth(self) -> list[tuple[Row, int]]:
        """Rows and the tokens that the step appends to each."""
        grown = [(job.row, 1) for job in self.decode if job.row]
        if self.prefill is not None and self.prefill.row is not None:
            grown.append((self.prefill.row, self.chunk))
        return grown + [(job.row, job.row.num_uncomputed) for job in self.company if job.row]

    def __bool__(self) -> bool:
        return bool(self.decode) or self.prefill is not None


class Scheduler:
    """Keeps waiting and running jobs and chooses among them. Knows time only as the `now` it is
    given (seconds).

    Waiting jobs start by class, then as the order of prefill has it among the first of them; the
    first that does not fit holds back those behind it, so that a large request is never starved by
    small ones.
    """

    def __init__(
        self,
        cache: PrefixCache,
        admission: Admission,
        *,
        max_running: int,
        prefill_chunk: int,
        step_target_s: float,
        checkpoint_spacing: int = DEFAULT_SPACING,
        batches_rests: bool = True,
        release: Release = Release.BOUNDARY_PUBLISHED,
        wait_or_compute: WaitOrCompute = WaitOrCompute.CHOOSE,
        prefill_order: PrefillOrder = PrefillOrder.LONGEST_CACHED,
    ) -> None:
        self._cache = cache
        self._admission = admission
        self._max_running = max_running
        self._prefill_chunk = prefill_chunk
        self._step_target_s = step_target_s
        self._checkpoint_spacing = checkpoint_spacing
        self._batches_rests = batches_rests  # whether rows of unlike lengths can share a pass
        self._order = prefill_order
        self._jobs: dict[str, Job] = {}
        self._running: dict[Job, None] = {}  # in the order in which they started
        self._queue = WaitQueue()
        self._flights = Flights(release, cache.page_tokens, stops=not cache.cost.dense)
        self._turns = itertools.count(1)
        self._refreshed_at = self._aged_at = float("-inf")
        self.rate = PrefillRate()
        self.cost = PrefillCost()
        self.share = StepShare()
        self._coordinator = Coordinator(
            cache, self._flights, self.cost, self.share, prefill_order, wait_or_compute
        )

    @property
    def num_waiting(self) -> int:
        """Requests that have not started, for whatever reason."""
        return len(self._queue) + self._flights.num_parked

    @property
    def num_parked(self) -> int:
        """Of the requests that wait, how many wait for what another computes. Warming a pin is no
        request."""
        return sum(not parked.job.pin for parked in self._flights.parked)

    @property
    def waits_for(self) -> Waits:
        """What those wait for who wait for no other request."""
        return self._queue.waits_for

    @property
    def running(self) -> list[Job]:
        return list(self._running)

    @property
    def alone(self) -> Job | None:
        """The one that runs, where nobody else does or waits."""
        if len(self._running) != 1 or self.num_waiting:
            return None
        return next(iter(self._running))

    @property
    def jobs(self) -> list[Job]:
        """All live jobs, waiting and running."""
        return list(self._jobs.values())

    def knows(self, request_id: str) -> bool:
        """Whether a request is live."""
        return request_id in self._jobs

    def add(self, job: Job) -> None:
        """Queue a job. Raises DuplicateRequest."""
        if job.request.id in self._jobs:
            raise DuplicateRequest(f"A request with id {job.request.id} is running already.")
        self._jobs[job.request.id] = job
        self._queue.add(job)
        self._coordinator.mark_junction(job)

    def get(self, request_id: str) -> Job:
        """The job of a live request. Raises UnknownRequest (S0-12)."""
        try:
            return self._jobs[request_id]
        except KeyError:
            raise UnknownRequest(f"No request with id {request_id} is live.") from None

    def remove(self, job: Job, *, lost: bool = False) -> None:
        """A job ends, in whatever phase: its row is closed, what it computed stays findable, unless
        its tail is lost. Raises UnknownRequest."""
        self.get(job.request.id)
        del self._jobs[job.request.id]
        self._flights.end(job)
        self._let_go(job)
        if job.row is None:
            if not self._flights.forget(job) and job in self._queue:
                self._queue.remove(job)
        else:
            del self._running[job]
            if lost:
                self._cache.abandon_row(job.row)
            else:
                self._cache.close_row(job.row)
            job.row = None  # whoever still knows the job keeps no KV with it
        self._queue.look_again()

    def memory_freed(self) -> None:
        """Something outside the jobs let memory go: try to admit again."""
        self._queue.look_again()

    # Starting

    def admit(self, now: float) -> tuple[list[Job], list[Job]]:
        """Start waiting jobs as far as rows and memory allow. Returns those that started, and those
        that can never start, because they do not fit although nothing else runs: they are live
        until they are removed."""
        started: list[Job] = []
        hopeless: list[Job] = []
        self._wake(now)
        self._age(now)
        known: dict[Job, Key] = {}
        prefills = self._prefills()
        for _ in range(_MOST_LOOKS):
            if not self._queue or self._queue.blocked:
                break
            self.look_what_is_hot(now)
            job = self._next_waiting(known)
            match, running = self._match(job), self.running
            if running and self._coordinator.parks(job, match, prefills, now):
                self._queue.remove(job)
                self._let_go(job)
                continue
            if len(running) >= self._max_running:
                if self._set_aside(job, now):
                    continue
                self._queue.waits_for = Waits.ROWS
                break
            if self._admission.shortfall_bytes(job, running, match) > 0:
                if self._set_aside(job, now) or self.let_go_kept(job):
                    continue
                if running:
                    self._queue.waits_for = Waits.MEMORY
                    break
                self._queue.remove(job)
                hopeless.append(job)
                continue
            self._start(job, now)
            started.append(job)
            prefills[job] = self._coordinator.as_prefill(job)
        return started, hopeless

    def _prefills(self) -> dict[Job, Prefill]:
        """The prompts that are being computed, as the order sees them."""
        return {
            job: self._coordinator.as_prefill(job)
            for job in self._running
            if job.phase is Phase.PREFILL
        }

    def _age(self, now: float) -> None:
        """Work in the background and pins that have waited long enough are as urgent as any other:
        else a house that never rests would never come to them."""
        if now - self._aged_at < _REFRESH_S:
            return
        self._aged_at = now
        for job in [*self._queue.behind(Priority.INTERACTIVE), *self._running]:
            if job.priority is not Priority.INTERACTIVE and now - job.submitted_at > PATIENCE_S:
                if job.row is None:
                    self._queue.remove(job)
                job.aged = True
                if job.row is None:
                    self._queue.add(job)

    def look_what_is_hot(self, now: float) -> None:
        """It changes with time alone; a look now and then will do."""
        if now - self._refreshed_at >= _REFRESH_S:
            self._refreshed_at = now
            self._admission.refresh(now)

    def _next_waiting(self, known: dict[Job, Key]) -> Job:
        """Who may start next. `known` are the keys of those who were looked at before."""
        first = self._queue.first(1 if self._order is PrefillOrder.FIRST_COME else _LOOK_AHEAD)
        if len(first) == 1:
            return first[0]
        for job in first:
            if job not in known:
                known[job] = self._waiting_key(job)
        return min(first, key=lambda job: known[job])

    def _waiting_key(self, job: Job) -> Key:
        num_cached = self._match(job).num_tokens
        remaining_s = self.cost.seconds(num_cached, len(job.tokens))
        saved_s = self.cost.seconds(0, num_cached)
        return key(self._order, Prefill(0, remaining_s, saved_s, job.submitted_at, job.turn))

    def _start(self, job: Job, now: float) -> None:
        self._queue.remove(job)
        job.row = row = self._cache.open_row(
            job.tokens,
            limit=job.match_limit,
            salt=job.request.salt,
            owner=job.request.id,
            client=job.request.client,
            standing=job.standing,
            goes_on=job.stood is not None,
        )
        self._running[job] = None
        self._let_go(job)
        self._refreshed_at = float("-inf")  # what it holds is safe now
        job.checkpoints = self._plan_checkpoints(job, row)
        if not job.admitted_at:
            job.admitted_at = now
            job.num_cached = row.num_cached
        job.went_on(now)
        self._flights.begin(job)
        self._coordinator.mark_junctions(job, self._queue)

    def _plan_checkpoints(self, job: Job, row: Row) -> tuple[int, ...]:
        if self._cache.cost.dense or not self._cache.enabled:
            return ()
        return checkpoint_positions(
            job.request.prompt,
            num_cached=row.num_cached,
            num_shared=row.num_shared,
            unit=self._cache.match_unit,
            spacing=self._checkpoint_spacing,
        )

    def _wake(self, now: float) -> None:
        """Back to the queue with those who need wait no longer; what was published for them stays
        until they start, if it fits beside what those who run were promised."""
        woken = self._coordinator.wake(now, self._published)
        num_held = sum(job.hold is not None for job in self._queue) if woken else 0
        for job in woken:
            if num_held < self._max_running:  # no more can start soon
                match = self._match(job)
                if self._admission.can_hold(match, self._running):
                    job.hold = self._cache.hold(match, job.request.id)
                    num_held += 1
            self._queue.add(job)
            self._queue.look_again()

    def _published(self, leader: Job) -> int:
        """Tokens of a running job's prompt that others can take up."""
        row = leader.row
        assert row is not None
        return row.tail.base if self._cache.cost.recurrent else row.node.end

    def _match(self, job: Job) -> Match:
        return self._cache.match(job.tokens, job.match_limit, job.request.salt)

    def _let_go(self, job: Job) -> bool:
        """Release what is kept for a job that has not started. Returns whether there was
        anything."""
        hold, job.hold = job.hold, None
        if hold is not None:
            self._cache.release(hold)
        return hold is not None

    def let_go_kept(self, first: Job | None = None) -> bool:
        """Somebody who runs, or the first in the queue, needs memory: what is kept for others who
        wait can be computed again. Returns whether there was anything."""
        let_go = [self._let_go(other) for other in self._queue if other is not first]
        return any(let_go)

    # Giving up a row

    def make_way(self, now: float) -> Job | None:
        """Running KV cannot grow: send somebody back to the queue, who goes on later from what is
        left of what it published; the least urgent, who started last. None where nobody can go,
        since somebody must run."""
        if len(self._running) <= 1:
            return None
        # Of several that started in one step, the last: they stand in the order of their starts.
        victim = max(reversed(self._running), key=lambda job: (job.priority, job.admitted_at))
        victim.num_preemptions += 1
        self._send_back(victim, now)
        self._queue.waits_for = Waits.MEMORY  # until somebody ends
        return victim

    def _set_aside(self, job: Job, now: float) -> bool:
        """Make room for a more urgent job: send a running one that only fills the cache back to the
        queue. It loses nothing, since what it computed stays findable. False if there is none."""
        fillers = [
            other
            for other in self._running
            if not other.max_tokens and other.priority > job.priority
        ]
        if fillers:
            self._send_back(max(fillers, key=lambda other: other.urgency), now)
        return bool(fillers)

    def _send_back(self, job: Job, now: float) -> None:
        assert job.row is not None
        job.sent_back(now)
        self._flights.end(job)
        job.tokens, job.num_computed = job.row.tokens[:], job.row.num_computed
        job.stood = job.row.standing
        self._cache.close_row(job.row)
        job.row = None
        del self._running[job]
        self._queue.add(job)

    # Choosing work

    def plan(self) -> Step:
        """The next step: every job that decodes, and a chunk of the most urgent prefill."""
        decode = tuple(job for job in self._running if job.phase is Phase.DECODE)
        prefills = [job for job in self._running if job.phase is Phase.PREFILL]
        if not prefills:
            return Step(decode)
        job = min(prefills, key=self._prefill_key)
        assert job.row is not None
        job.turn = next(self._turns)
        limit = self._prefill_chunk
        if decode:
            limit = self.rate.tokens_within(self._step_target_s, self._prefill_chunk)
        row = job.row
        chunk = chunk_tokens(row.num_computed, row.num_uncomputed, limit, job.next_checkpoint)
        company = self._company(job, prefills, limit) if self._batches_rests else ()
        return Step(decode, job, chunk, company)

    def _prefill_key(self, job: Job) -> Key:
        return key(self._order, self._coordinator.as_prefill(job))

    @staticmethod
    def _company(job: Job, prefills: Sequence[Job], limit: int) -> tuple[Job, ...]:
        """Others whose short rest of a prompt costs little more in one pass with this one's than
        alone: about equally many tokens, since a pass is as wide as its widest row (design D5)."""
        if not job.short_rest:
            return ()
        company: list[Job] = []
        for other in prefills:
            widest = max(job.short_rest, other.short_rest)
            if (
                other is not job
                and widest <= 2 * min(job.short_rest, other.short_rest)
                and 2 * job.short_rest * (len(company) + 2) <= max(limit, 2 * SHORT_REST_TOKENS)
            ):
                company.append(other)
        return tuple(company)
