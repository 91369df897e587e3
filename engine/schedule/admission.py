"""Who may start: one memory budget for running and resident KV (design D6).

A job is admitted when everything that cannot be evicted, what running jobs may still append, and
what this job may append fit the budget together. Hits are credited: a matched token costs nothing
unless nobody held it before. So a running job never runs out of memory.
"""

from __future__ import annotations

from collections.abc import Iterable

from engine.cache.prefix_cache import Match, PrefixCache
from engine.schedule.job import Job

GROWTH_SLACK_TOKENS = 256  # a tail is allocated in steps of this many tokens


class Admission:
    """Decides over one budget of `budget` bytes."""

    def __init__(self, cache: PrefixCache, budget: int) -> None:
        self._cache = cache
        self.budget = budget

    @property
    def max_tokens(self) -> int:
        """Most tokens that prompt and answer of one request can have when nothing else holds
        memory."""
        return self.tokens_within(self.budget)

    def tokens_within(self, num_bytes: int) -> int:
        """Most tokens that prompt and answer of one request can have in so many bytes."""
        return max(0, self._cache.cost.tokens_within(num_bytes) - GROWTH_SLACK_TOKENS)

    def reserved_bytes(self, running: Iterable[Job]) -> int:
        """Bytes that running jobs may still come to need."""
        cost = self._cache.cost
        return sum(cost.append_bytes(job.num_tokens_left + GROWTH_SLACK_TOKENS) for job in running)

    def shortfall_bytes(self, job: Job, running: Iterable[Job]) -> int:
        """Bytes missing to start a waiting job now; not positive if it may start. Changes
        nothing."""
        match = self._cache.match(job.request.prompt.tokens, match_limit(job), job.request.salt)
        new_tokens = job.num_tokens_left - match.num_tokens + GROWTH_SLACK_TOKENS
        need = self._cache.newly_held_bytes(match) + self._cache.cost.append_bytes(new_tokens)
        return self._cache.held_bytes() + self.reserved_bytes(running) + need - self.budget

    def can_hold(self, match: Match, running: Iterable[Job]) -> bool:
        """Whether a match can be kept for a job that has not started, beside everything that was
        promised."""
        more = self._cache.newly_held_bytes(match) + self._cache.cost.end_bytes(match.num_tokens)
        return self._cache.held_bytes() + self.reserved_bytes(running) + more <= self.budget

    def make_room(self, num_bytes: int) -> int:
        """Bytes to evict so that `num_bytes` more can be allocated; not positive if there is room.
        A little more than asked for is evicted at a time, so that a full cache is not searched at
        every step."""
        missing = self._cache.used_bytes + num_bytes - self.budget
        return missing + self.budget // 128 if missing > 0 else 0


def match_limit(job: Job) -> int:
    """Most prompt tokens a hit may cover: all but the last, whose logits begin the answer, if there
    is an answer."""
    return len(job.request.prompt.tokens) - (1 if job.max_tokens else 0)
