"""What runs in the next step (design D5): decode rows together, then one prefill chunk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.cache.prefix_cache import Match, PrefixCache
from engine.cache.row import Row
from engine.config import Release
from engine.errors import DuplicateRequest, UnknownRequest
from engine.request import Waited
from engine.schedule.admission import Admission, match_limit
from engine.schedule.checkpoints import DEFAULT_SPACING, checkpoint_positions
from engine.schedule.chunks import PrefillRate, chunk_tokens
from engine.schedule.costs import PrefillCost
from engine.schedule.flights import Flights, Shared
from engine.schedule.job import SHORT_REST_TOKENS, Job, Phase

# A follower waits so much longer than was expected before it computes for itself.
PATIENCE_S = 1.0
PATIENCE_PER_TOKEN_S = 0.25 / 1024


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

    def __bool__(self) -> bool:
        return bool(self.decode) or self.prefill is not None


class Scheduler:
    """Keeps waiting and running jobs and chooses among them. Knows time only as the `now` it is
    given (seconds).

    Waiting jobs start by priority, then arrival; the first that does not fit holds back those
    behind it, so that a large request is never starved by small ones.
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
    ) -> None:
        self._cache = cache
        self._admission = admission
        self._max_running = max_running
        self._prefill_chunk = prefill_chunk
        self._step_target_s = step_target_s
        self._checkpoint_spacing = checkpoint_spacing
        self._batches_rests = batches_rests  # whether rows of unlike lengths can share a pass
        self._jobs: dict[str, Job] = {}
        self._waiting: list[Job] = []
        self._blocked = False  # the first waiting job did not fit, and nothing has been freed since
        self._flights = Flights(release, cache.page_tokens)
        self.rate = PrefillRate()
        self.cost = PrefillCost()

    @property
    def num_waiting(self) -> int:
        """Requests that have not started, for whatever reason."""
        return len(self._waiting) + self._flights.num_parked

    @property
    def num_parked(self) -> int:
        """Of those that wait, how many wait for what another computes."""
        return self._flights.num_parked

    @property
    def running(self) -> list[Job]:
        return [job for job in self._jobs.values() if job.row is not None]

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
        self._queue(job)
        self._blocked = self._blocked and self._waiting[0] is not job

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
            if not self._flights.forget(job):
                self._waiting.remove(job)
        elif lost:
            self._cache.abandon_row(job.row)
        else:
            self._cache.close_row(job.row)
        self._blocked = False

    def memory_freed(self) -> None:
        """Something outside the jobs let memory go: try to admit again."""
        self._blocked = False

    def admit(self, now: float) -> tuple[list[Job], list[Job]]:
        """Start waiting jobs as far as rows and memory allow. Returns those that started, and those
        that can never start, because they do not fit although nothing else runs."""
        started: list[Job] = []
        hopeless: list[Job] = []
        self._wake(now)
        while self._waiting and not self._blocked:
            job, running = self._waiting[0], self.running
            if running and self._parks(job, now):
                continue
            fits = self._admission.shortfall_bytes(job, running) <= 0
            if not fits or len(running) >= self._max_running:
                if self._set_aside(job, running) or (not fits and self._let_go_behind(job)):
                    continue
                if running:
                    self._blocked = True
                    break
                hopeless.append(job)
                self.remove(job)
                continue
            self._waiting.pop(0)
            request = job.request
            job.row = self._cache.open_row(
                request.prompt.tokens, limit=match_limit(job), salt=request.salt, owner=request.id
            )
            self._let_go(job)
            job.checkpoints = self._plan_checkpoints(job, job.row)
            job.admitted_at = now
            self._flights.begin(job)
            started.append(job)
        return started, hopeless

    def _set_aside(self, job: Job, running: Sequence[Job]) -> bool:
        """Make room for a more urgent job: send a running one that only fills the cache back to the
        queue. It loses nothing, since what it computed stays findable. False if there is none."""
        fillers = [
            other
            for other in running
            if not other.max_tokens and other.request.priority > job.request.priority
        ]
        if not fillers:
            return False
        filler = max(fillers, key=lambda other: other.urgency)
        assert filler.row is not None
        self._flights.end(filler)
        self._cache.close_row(filler.row)
        filler.row = None
        self._queue(filler)
        return True

    # Waiting for what another computes

    def _parks(self, job: Job, now: float) -> bool:
        """Let the first waiting job wait for a running one that computes what it needs, if that
        brings its first token sooner. Whoever is waited for gets the urgency of who waits, and
        stops where their prompts part."""
        if not job.patient or not self._flights.num_leaders:
            return False
        num_cached = self._match(job).num_tokens
        shared = self._flights.find(job, num_cached)
        if shared is None:
            return False
        waited = self._expect(job, shared, num_cached)
        if self._flights.asks_again and waited.wait_s > waited.compute_s:
            return False
        leader = shared.leader
        assert leader.row is not None
        leader.boosted = min(leader.boosted, job.urgency[0])
        if shared.boundary > leader.row.num_computed:
            leader.checkpoints = tuple(sorted({*leader.checkpoints, shared.boundary}))
        saved = shared.boundary - num_cached
        until = now + waited.wait_s + PATIENCE_S + saved * PATIENCE_PER_TOKEN_S
        if job.waited is None:
            job.waited = waited
        self._waiting.pop(0)
        self._let_go(job)
        self._flights.park(job, shared, until)
        return True

    def _expect(self, job: Job, shared: Shared, num_cached: int) -> Waited:
        """What waiting and computing would take until the first token (algorithms §4.2)."""
        leader = shared.leader
        assert leader.row is not None
        end, at = len(job.request.prompt.tokens), leader.row.num_computed
        leaders_end = len(leader.request.prompt.tokens)
        before = self.cost.seconds(at, leaders_end) if leaders_end - at <= end - num_cached else 0.0
        return Waited(
            leader_id=leader.request.id,
            boundary=shared.boundary,
            num_cached=num_cached,
            wait_s=self.cost.seconds(at, shared.boundary) + self.cost.seconds(shared.boundary, end),
            compute_s=before + self.cost.seconds(num_cached, end),
        )

    def _wake(self, now: float) -> None:
        """Back to the queue with those who need wait no longer; what was published for them stays
        until they start, if it fits beside what those who run were promised."""
        for parked in self._flights.wake(now, self._published):
            job = parked.job
            job.patient = now < parked.until and self._flights.asks_again
            match = self._match(job)
            if self._admission.can_hold(match, self.running):
                job.hold = self._cache.hold(match, job.request.id)
            self._queue(job)
            self._blocked = False

    def _published(self, leader: Job) -> int:
        """Tokens of a running job's prompt that others can take up."""
        row = leader.row
        assert row is not None
        return row.tail.base if self._cache.cost.recurrent else row.node.end

    def _match(self, job: Job) -> Match:
        request = job.request
        return self._cache.match(request.prompt.tokens, match_limit(job), request.salt)

    def _let_go(self, job: Job) -> bool:
        """Release what is kept for a job that has not started. Returns whether there was
        anything."""
        hold, job.hold = job.hold, None
        if hold is not None:
            self._cache.release(hold)
        return hold is not None

    def _let_go_behind(self, job: Job) -> bool:
        """The first in the queue needs memory: what is kept for those behind it can be computed
        again."""
        let_go = [self._let_go(other) for other in self._waiting if other is not job]
        return any(let_go)

    def _queue(self, job: Job) -> None:
        self._waiting.append(job)
        self._waiting.sort(key=lambda waiting: waiting.urgency)

    def plan(self, now: float) -> Step:
        """The next step: every job that decodes, and a chunk of the most urgent prefill."""
        running = self.running
        decode = tuple(job for job in running if job.phase is Phase.DECODE)
        prefills = [job for job in running if job.phase is Phase.PREFILL]
        if not prefills:
            return Step(decode)
        job = min(prefills, key=lambda job: self._prefill_order(job, now))
        assert job.row is not None
        limit = self._prefill_chunk
        if decode:
            limit = self.rate.tokens_within(self._step_target_s, self._prefill_chunk)
        row = job.row
        chunk = chunk_tokens(row.num_computed, row.num_uncomputed, limit, job.next_checkpoint)
        company = self._company(job, prefills, limit) if self._batches_rests else ()
        return Step(decode, job, chunk, company)

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

    def _prefill_order(self, job: Job, now: float) -> tuple[int, float]:
        """Shortest expected prefill first, less the time already waited: a short question overtakes
        a long document, a long document is not overtaken for ever. Pins come last."""
        assert job.row is not None
        remaining_s = job.row.num_uncomputed / self.rate.tokens_per_s
        return job.urgency[0], remaining_s - (now - job.submitted_at)
