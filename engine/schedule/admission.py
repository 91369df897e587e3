"""Who may start: one memory budget for running and resident KV (design D6).

A job is admitted when everything that cannot be evicted, what running jobs are expected to append,
what this job is expected to append, and a reserve for the hot set fit the budget together. Hits are
credited: a matched token costs nothing unless nobody held it before (S0-14).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from engine.cache.prefix_cache import Match, PrefixCache
from engine.cache.row import Row
from engine.config import AdmissionMode
from engine.schedule.capacity import ENOUGH, ModeChoice, Traffic, most_running
from engine.schedule.job import Job
from engine.snapshot import Capacity

GROWTH_SLACK_TOKENS = 256  # a tail is never allocated further ahead

HOT_SHARE = {  # of the hot set that running requests may not push out
    AdmissionMode.PROTECT_CACHE: 1.0,
    AdmissionMode.BALANCED: 0.5,
    AdmissionMode.MAX_THROUGHPUT: 0.0,
}
MOST_HOT_SHARE = 0.5  # of the budget, so that a house full of warm prefixes still serves several


class Admission:
    """Decides over one budget of `budget` bytes. `max_running` is the most requests that may run
    whatever the memory allows."""

    def __init__(
        self,
        cache: PrefixCache,
        budget: int,
        *,
        mode: AdmissionMode = AdmissionMode.PROTECT_CACHE,
        max_running: int = 16,
    ) -> None:
        self._cache = cache
        self._choice = ModeChoice(mode)
        self._hot_bytes, self._looked_at = 0, math.inf
        self.budget = budget
        self.max_running = max_running
        self.slack_tokens = GROWTH_SLACK_TOKENS
        self.traffic = Traffic()

    @property
    def mode(self) -> AdmissionMode:
        """The one in force, never AUTO."""
        return self._choice.mode

    @property
    def max_tokens(self) -> int:
        """Most tokens that prompt and answer of one request can have when nothing else holds
        memory."""
        return self.tokens_within(self.budget)

    @property
    def reserve_bytes(self) -> int:
        """Bytes that stay for the hot set while requests run beside each other."""
        return self._reserve(self._hot_bytes)

    def _reserve(self, hot_bytes: int) -> int:
        return int(HOT_SHARE[self.mode] * min(hot_bytes, MOST_HOT_SHARE * self.budget))

    def refresh(self, now: float) -> None:
        """Look again at what is hot."""
        self._hot_bytes, self._looked_at = self._cache.hot_bytes(now), now

    def started(self, job: Job) -> None:
        """A request was admitted for the first time."""
        self.traffic.started(len(job.request.prompt.tokens), job.num_cached)
        self._choice.update(self.traffic)

    def ended(self, job: Job) -> None:
        """A request's answer is complete."""
        self.traffic.ended(job.num_generated)

    def tokens_within(self, num_bytes: int) -> int:
        """Most tokens that prompt and answer of one request can have in so many bytes."""
        return max(0, self._cache.cost.tokens_within(num_bytes) - self.slack_tokens)

    def reserved_bytes(self, running: Iterable[Job]) -> int:
        """Bytes that running jobs are expected to need yet."""
        usual = self._usual_answer()
        return sum(self._append_bytes(_expected_tokens(job, usual), job.row) for job in running)

    def shortfall_bytes(self, job: Job, running: Sequence[Job], match: Match | None = None) -> int:
        """Bytes missing to start a waiting job now; not positive if it may start. One that would
        run alone must fit with its whole answer, and owes nothing to what is hot. Changes
        nothing."""
        match = match or self._cache.match(job.tokens, job.match_limit, job.request.salt)
        tokens = job.num_tokens_left
        if running:
            tokens = _expected_tokens(job, self._usual_answer())
        need = self._cache.newly_held_bytes(match) + self._append_bytes(tokens - match.num_tokens)
        reserve = 0
        if running:  # what is hot and becomes its own is in its need
            own = self._cache.hot_bytes_of(match, self._looked_at)
            reserve = self._reserve(max(0, self._hot_bytes - own))
        promised = self._cache.held_bytes() + self.reserved_bytes(running)
        return promised + need + reserve - self.budget

    def fits_in_one_tail(self, job: Job) -> bool:
        """Whether the rest of a running job's answer fits even if all its KV lay in its tail, which
        is allocated the further ahead the longer it is."""
        assert job.row is not None
        left, cost = job.num_tokens_left, self._cache.cost
        ahead = cost.ahead_tokens(job.row.num_computed + left, self.slack_tokens)
        return self._cache.held_bytes() + cost.append_bytes(left + ahead) <= self.budget

    def can_hold(self, match: Match, running: Iterable[Job]) -> bool:
        """Whether a match can be kept for a job that has not started, beside everything that was
        promised."""
        more = self._cache.newly_held_bytes(match) + self._cache.cost.end_bytes(match.num_tokens)
        return self._cache.held_bytes() + self.reserved_bytes(running) + more <= self.budget

    def bytes_to_evict(self, num_bytes: int) -> int:
        """Bytes to evict so that `num_bytes` more can be allocated; not positive if there is room.
        A little more than asked for is evicted at a time, so that a full cache is not searched at
        every step."""
        missing = self.missing_bytes(num_bytes)
        return missing + self.budget // 128 if missing > 0 else 0

    def missing_bytes(self, num_bytes: int) -> int:
        """Bytes by which the budget would be passed if `num_bytes` more were allocated."""
        return self._cache.used_bytes + num_bytes - self.budget

    def capacity(self, pinned_bytes: int = 0) -> Capacity:
        """B_max as the traffic is now: requests that fit beside pins and the reserve, and the cap
        that was set by hand wins. At least one may always run."""
        cost = self._cache.cost
        mean = self.traffic.mean_own_tokens
        each = cost.append_bytes(round(mean)) / round(mean) if mean >= 1 else 0.0
        free = self.budget - pinned_bytes
        fitting = most_running(free, self.reserve_bytes, mean, each)
        known = self.traffic.num_prompts >= ENOUGH and each > 0
        capped = not known or self.max_running <= fitting
        return Capacity(
            mode=self.mode,
            max_running=self.max_running if capped else max(1, fitting),
            mean_tokens=mean,
            hot_bytes=self._hot_bytes,
            reserve_bytes=self.reserve_bytes,
            capped=capped,
        )

    def _append_bytes(self, num_tokens: int, row: Row | None = None) -> int:
        cost, held = self._cache.cost, row.tail.storage.num_tokens if row else 0
        return cost.append_bytes(
            num_tokens + cost.ahead_tokens(held + num_tokens, self.slack_tokens)
        )

    def _usual_answer(self) -> int | None:
        """Tokens of an answer that are reserved, as far as the mode cares: under `protect cache` as
        many as nearly every one has, with `balanced` as many as a usual one; with `max throughput`
        none before they come. None: all that was asked for, as nothing is known yet."""
        if self.mode is AdmissionMode.MAX_THROUGHPUT:
            return 0
        if self.traffic.num_answers < ENOUGH:
            return None
        if self.mode is AdmissionMode.BALANCED:
            return round(self.traffic.mean_answer)
        return self.traffic.long_answer


def _expected_tokens(job: Job, usual_answer: int | None) -> int:
    """Tokens that a job will append."""
    left = job.answer_tokens_left
    if usual_answer is not None:
        left = min(left, max(0, usual_answer - job.num_generated))
    return job.prompt_tokens_left + left
