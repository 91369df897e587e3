"""Wait for what another computes, or compute it: the decision and its numbers (design D4,
algorithms §4.1-4.2)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from engine.cache.prefix_cache import Match, PrefixCache
from engine.config import PrefillOrder, WaitOrCompute
from engine.request import Decision
from engine.schedule.costs import PrefillCost, StepShare
from engine.schedule.flights import Flights, Shared
from engine.schedule.job import Job
from engine.schedule.order import Key, Prefill, advance, key

# A follower waits so much longer than was expected before it computes for itself.
PATIENCE_S = 1.0
PATIENCE_PER_TOKEN_S = 0.25 / 1024
TOLERANCE = 0.05  # expectations are not better than that


@dataclass(frozen=True, slots=True)
class Coordinator:
    """Decides for requests that have not started. `cost` and `share` are what prefill has taken so
    far."""

    cache: PrefixCache
    flights: Flights
    cost: PrefillCost
    share: StepShare
    order: PrefillOrder
    choice: WaitOrCompute

    def parks(self, job: Job, match: Match, prefills: Mapping[Job, Prefill], now: float) -> bool:
        """Let a waiting job wait for a running one that computes what it needs, if that brings its
        first token soon enough. Whoever is waited for gets the urgency of who waits and its place
        in the order, and stops where their prompts part. `prefills` are the running prompts."""
        if not job.patient or not self.flights.num_leaders:
            return False
        shared = self.flights.find(job, match.num_tokens)
        if shared is None:
            return False
        alone = self._prefill(job, match.num_tokens)
        decision = self._decide(job, shared, alone, match.num_tokens, prefills, now)
        if job.decision is None or (decision.waited and not job.decision.waited):
            job.decision = decision
        if not decision.waited:
            return False
        leader = shared.leader
        leader.stop_at(shared.boundary)
        saved = shared.boundary - match.num_tokens
        until = now + decision.wait_s + PATIENCE_S + saved * PATIENCE_PER_TOKEN_S
        if not self.flights.asks_again:
            until = math.inf  # those who wait for an event wait for it however long it takes
        job.parked_at = now
        self.flights.park(job, shared, until, self._lent(alone))
        return True

    def wake(self, now: float, published: Callable[[Job], int]) -> list[Job]:
        """Those who need wait no longer, in order of arrival."""
        woken = []
        for parked in self.flights.wake(now, published):
            job = parked.job
            job.patient = now < parked.until and self.flights.asks_again
            self.left(job, now)
            woken.append(job)
        return woken

    def left(self, job: Job, now: float) -> None:
        """A job waits for nobody any more."""
        if job.parked_at:
            job.parked_s += now - job.parked_at
            job.parked_at = 0.0

    def mark_junctions(self, leader: Job, waiting: Iterable[Job]) -> None:
        """A job that starts leaves a checkpoint wherever the prompt of one that waits goes another
        way, so that on recurrent and sliding layers already the second to come finds it."""
        if self.cache.cost.dense:
            return
        for job in waiting:
            if (boundary := self.flights.common(leader, job)) is not None:
                leader.stop_at(boundary)

    def mark_junction(self, job: Job) -> None:
        """The same for one that comes while others run."""
        if not self.cache.cost.dense and (shared := self.flights.find(job, 0)):
            shared.leader.stop_at(shared.boundary)

    def as_prefill(self, job: Job) -> Prefill:
        """A running prompt as the order sees it."""
        assert job.row is not None
        return self._prefill(job, job.row.num_cached, job.row.num_computed)

    def _prefill(self, job: Job, num_cached: int, num_computed: int | None = None) -> Prefill:
        start = num_cached if num_computed is None else num_computed
        return Prefill(
            job.priority,
            self.cost.seconds(start, len(job.tokens)),
            self.cost.seconds(0, num_cached),
            job.submitted_at,
            job.turn,
            job.lent,
        )

    def _lent(self, alone: Prefill) -> Key | None:
        """The place that a job would have in the order; a turn cannot be lent."""
        return None if self.order is PrefillOrder.ROUND_ROBIN else key(self.order, alone)

    def _decide(
        self,
        job: Job,
        shared: Shared,
        alone: Prefill,
        num_cached: int,
        prefills: Mapping[Job, Prefill],
        now: float,
    ) -> Decision:
        wait_s, compute_s = self._expect(job, shared, alone, prefills)
        return Decision(
            waited=self._waits(job, wait_s, compute_s, now),
            leader_id=shared.leader.request.id,
            boundary=shared.boundary,
            num_cached=num_cached,
            wait_s=wait_s,
            compute_s=compute_s,
        )

    def _waits(self, job: Job, wait_s: float, compute_s: float, now: float) -> bool:
        if self.choice is not WaitOrCompute.CHOOSE or not self.flights.asks_again:
            return self.choice is not WaitOrCompute.COMPUTE
        if job.request.ttft_target_s is not None:
            left = job.request.ttft_target_s - (now - job.submitted_at)
            if wait_s <= left or compute_s <= left:
                return wait_s <= left  # if both are soon enough, waiting spares the work
        # Where both take equally long, waiting spares the work, and the leader the delay.
        return wait_s <= compute_s * (1 + TOLERANCE)

    def _expect(
        self, job: Job, shared: Shared, alone: Prefill, prefills: Mapping[Job, Prefill]
    ) -> tuple[float, float]:
        """Seconds to the first token if the job waits, and if it computes."""
        leader, boundary = shared.leader, shared.boundary
        assert leader.row is not None
        at, end = leader.row.num_computed, len(leader.tokens)
        others = [prefill for other, prefill in prefills.items() if other is not leader]
        leads = self.as_prefill(leader)
        alone_s, _ = advance(self.order, alone, alone.remaining_s, [*others, leads])
        lent = self._lent(alone)
        if lent is not None and (leads.lent is None or lent < leads.lent):
            leads = replace(leads, lent=lent)
        first_s = self.cost.seconds(at, boundary)
        reached_s, left = advance(self.order, leads, first_s, others)
        beyond_s = self.cost.seconds(max(at, boundary), end)
        beyond = replace(leads, remaining_s=beyond_s, lent=leader.lent)
        rest = self._prefill(job, boundary)
        rest_s, _ = advance(self.order, rest, rest.remaining_s, [*left, beyond])
        return (reached_s + rest_s) / self.share.prefill, alone_s / self.share.prefill
