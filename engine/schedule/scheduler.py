"""What runs in the next step (design D5): decode rows together, then one prefill chunk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.cache.prefix_cache import PrefixCache
from engine.cache.row import Row
from engine.errors import DuplicateRequest, UnknownRequest
from engine.schedule.admission import Admission, match_limit
from engine.schedule.checkpoints import DEFAULT_SPACING, checkpoint_positions
from engine.schedule.chunks import PrefillRate, chunk_tokens
from engine.schedule.job import SHORT_REST_TOKENS, Job, Phase


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
        self.rate = PrefillRate()

    @property
    def num_waiting(self) -> int:
        return len(self._waiting)

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
        if job.row is None:
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
        while self._waiting and not self._blocked:
            job, running = self._waiting[0], self.running
            fits = self._admission.shortfall_bytes(job, running) <= 0
            if not fits or len(running) >= self._max_running:
                if self._set_aside(job, running):
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
            job.checkpoints = self._plan_checkpoints(job, job.row)
            job.admitted_at = now
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
        self._cache.close_row(filler.row)
        filler.row = None
        self._queue(filler)
        return True

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
        return job.request.priority, remaining_s - (now - job.submitted_at)
