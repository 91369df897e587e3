"""Who computes, who waits: no prompt is computed twice at once (design D4, algorithms §4.1).

A flight is a running request that still computes its prompt: the leader. A request that goes on
through tokens the leader will compute can wait for them instead. It parks, holding nothing and
registered nowhere else, until the leader has published up to where their prompts part; then it
matches again like any other. So there are no cycles, since only what runs is waited for, and no
herd: of those that wake, the first to be admitted is the leader of the rest.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from engine.config import Release
from engine.request import Priority
from engine.schedule.job import Job
from engine.schedule.order import Key


@dataclass(frozen=True, slots=True)
class Shared:
    """A leader, and the number of tokens of a prompt that stand or will stand in its KV."""

    leader: Job
    boundary: int


@dataclass(frozen=True, slots=True)
class Parked:
    """A follower, whom it waits for, up to which boundary, and until when at most (seconds). `lent`
    is its own place in the order of prefill."""

    job: Job
    leader: Job
    boundary: int
    until: float
    lent: Key | None = None


class Flights:
    """All leaders and all who wait for one.

    `unit` is what a published boundary is a multiple of, in tokens. With `stops`, a leader can be
    taken up only where it has stopped to leave a checkpoint: ahead of where it stands, and before
    its last token.
    """

    def __init__(
        self,
        release: Release = Release.BOUNDARY_PUBLISHED,
        unit: int = 16,
        *,
        stops: bool = False,
    ) -> None:
        self._release = release
        self._unit = unit
        self._stops = stops
        self._leaders: dict[Job, None] = {}  # in the order in which they began
        self._parked: dict[Job, Parked] = {}
        # No boundary that a leader is waited for lies lower, and nobody's time is up earlier.
        self._lowest: dict[Job, int] = {}
        self._earliest = math.inf

    @property
    def asks_again(self) -> bool:
        """Whether one who wakes may wait for the next leader. The coarser policies let all go."""
        return self._release is Release.BOUNDARY_PUBLISHED

    @property
    def num_leaders(self) -> int:
        return len(self._leaders)

    @property
    def num_parked(self) -> int:
        return len(self._parked)

    @property
    def parked(self) -> Iterator[Parked]:
        return iter(self._parked.values())

    def begin(self, job: Job) -> None:
        """A request that was admitted has tokens to compute."""
        if self._release is not Release.INDEPENDENT and job.row and job.row.num_uncomputed > 1:
            self._leaders[job] = None

    def end(self, job: Job) -> None:
        """A leader is one no longer: it ended, or it has lost its row. Unknown ones are no error:
        not every request leads."""
        self._leaders.pop(job, None)
        job.boosted, job.lent = Priority.PIN, None

    def find(self, job: Job, num_cached: int) -> Shared | None:
        """The leader that will have most of a request's tokens, more than are cached by at least a
        unit; None if there is none."""
        if self._release is Release.LEADER_FINISHED:
            num_cached = 0  # a flight lasts as long as its leader, whatever is warm already (S0-7)
        best: Shared | None = None
        for leader in self._leaders:
            if not _still_leads(leader, self._release):
                continue
            boundary = self.common(leader, job) or 0
            if boundary - num_cached < self._unit:
                continue
            if self._stops and self.asks_again and boundary <= _stands_at(leader):
                continue  # it has gone past, and left nothing there
            if best is None or (boundary, _stands_at(leader)) > (
                best.boundary,
                _stands_at(best.leader),
            ):
                best = Shared(leader, boundary)
        return best

    def common(self, leader: Job, job: Job) -> int | None:
        """Where the prompt of a job parts from a leader's, in whole units; None where they share
        not even one."""
        if leader.request.salt != job.request.salt:
            return None
        most = min(len(leader.tokens) - int(self._stops), job.match_limit)
        return _common(job.tokens, leader.tokens, most) // self._unit * self._unit or None

    def park(self, job: Job, shared: Shared, until: float, lent: Key | None = None) -> None:
        """A request waits for a leader, and lends it its class and its place in the order."""
        assert shared.leader in self._leaders
        assert job not in self._leaders
        self._parked[job] = parked = Parked(job, shared.leader, shared.boundary, until, lent)
        _lend(parked)
        lowest = self._lowest.get(shared.leader, shared.boundary)
        self._lowest[shared.leader] = min(lowest, shared.boundary)
        self._earliest = min(self._earliest, until)

    def forget(self, job: Job) -> bool:
        """A request ends while it waits. Returns whether it did wait."""
        parked = self._parked.pop(job, None)
        if parked is None:
            return False
        self._lend_again([parked.leader])
        return True

    def wake(self, now: float, published: Callable[[Job], int]) -> list[Parked]:
        """Those who need wait no longer, in order of arrival: their boundary is `published`, their
        leader is gone, or their time is up."""
        reached = {leader: self._reached(leader, published) for leader in self._lowest}
        # Nearly always nobody: then a thousand who wait cost no more than their leaders.
        if now < self._earliest and all(
            reached[leader] < lowest for leader, lowest in self._lowest.items()
        ):
            return []
        ready = [
            parked
            for parked in self._parked.values()
            if now >= parked.until or reached[parked.leader] >= parked.boundary
        ]
        for parked in ready:
            del self._parked[parked.job]
        self._earliest = min((parked.until for parked in self._parked.values()), default=math.inf)
        self._lowest = {}
        self._lend_again(self._leaders)
        for parked in self._parked.values():
            lowest = self._lowest.get(parked.leader, parked.boundary)
            self._lowest[parked.leader] = min(lowest, parked.boundary)
        return sorted(ready, key=lambda parked: parked.job.urgency)

    def _reached(self, leader: Job, published: Callable[[Job], int]) -> float:
        """The boundary up to which nobody needs to wait for a leader any more."""
        if leader not in self._leaders:
            return math.inf
        match self._release:
            case Release.LEADER_FINISHED:
                return -1
            case Release.PREFILL_FINISHED:
                return math.inf if leader.num_generated else -1
            case _:
                leads = _still_leads(leader, self._release)
                return published(leader) if leads else math.inf

    def _lend_again(self, leaders: Iterable[Job]) -> None:
        """What leaders have of those who wait, once some of them wait no longer. One that has lost
        its row stands in the queue, where its place must not change."""
        anew = {leader for leader in leaders if leader in self._leaders}
        for leader in anew:
            leader.boosted, leader.lent = Priority.PIN, None
        for parked in self._parked.values():
            if parked.leader in anew:
                _lend(parked)


def _lend(parked: Parked) -> None:
    leader, lent = parked.leader, parked.lent
    leader.boosted = min(leader.boosted, parked.job.priority)
    if lent is not None and (leader.lent is None or lent < leader.lent):
        leader.lent = lent


def _stands_at(leader: Job) -> int:
    return leader.row.num_computed if leader.row is not None else 0


def _still_leads(leader: Job, release: Release) -> bool:
    """Whether there is anything to wait for: tokens of the prompt, or with the coarser policies a
    later event."""
    if release is Release.LEADER_FINISHED:
        return True
    return leader.row is not None and (leader.row.num_uncomputed > 1 or not leader.num_generated)


def _common(tokens: array[int], known: array[int], most: int) -> int:
    """Length of the common beginning, at most `most` tokens. Doubling and halving slices, which
    compare at the speed of memory."""
    same, different = 0, most + 1
    step = 64
    while same + step <= most and tokens[same : same + step] == known[same : same + step]:
        same += step
        step *= 2
    different = min(different, same + step)
    while different - same > 1:
        middle = (same + different) // 2
        if tokens[same:middle] == known[same:middle]:
            same = middle
        else:
            different = middle
    return same
