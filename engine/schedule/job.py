"""Jobs: requests inside the engine, from arrival to their last event."""

from __future__ import annotations

import enum
from array import array
from dataclasses import dataclass, field
from typing import Any

from engine.cache.part import Hold
from engine.cache.row import TOKEN_TYPE, Row
from engine.cache.standing import Standing
from engine.request import Decision, Priority, Request, Timings, Usage
from engine.schedule.order import Key

SHORT_REST_TOKENS = 32  # design D5


class Phase(enum.Enum):
    """What a job needs next."""

    WAITING = "waiting"
    PREFILL = "prefill"
    DECODE = "decode"


@dataclass(slots=True, eq=False)
class Job:
    """One request and how far it is. Times are seconds of the engine's monotonic clock, 0.0 while
    not reached.

    `tokens` are what its row begins with: the prompt, and after a preemption the answer so far.
    `sampler` and `stream` belong to the loop; the scheduler never looks at them. `pin` names the
    pin that the job warms, if any. `checkpoints` are the positions at which its prefill stops to
    leave one. `hold` keeps what was published for a follower until it starts; `decision` tells
    whether it waited for another and why, `parked_at` since when it does. `turn` is the number of
    the latest chunk of its prompt, over all jobs. `aside_at` is since when it waits after a
    preemption; `aside_prefill_s` and `aside_decode_s` are how long it has, in either phase.
    """

    request: Request
    submitted_at: float
    max_tokens: int
    pin: str = ""
    tokens: array[int] = field(init=False, repr=False)
    row: Row | None = None
    sampler: Any = None
    stream: Any = None
    checkpoints: tuple[int, ...] = ()
    aged: bool = False  # has waited so long that it is as urgent as any other
    boosted: Priority = Priority.PIN  # the priority of the most urgent request that waits for it
    lent: Key | None = None  # the best place in the order among those who wait for it
    patient: bool = True  # whether it may still wait for what another computes
    hold: Hold | None = None
    decision: Decision | None = None
    turn: int = 0
    num_cached: int = 0  # when it first started
    num_computed: int = 0  # when it was sent back to the queue
    num_generated: int = 0
    num_preemptions: int = 0
    stood: Standing | None = None  # of the row that it lost
    parked_at: float = 0.0
    parked_s: float = 0.0
    aside_at: float = 0.0
    aside_prefill_s: float = 0.0
    aside_decode_s: float = 0.0
    admitted_at: float = 0.0
    first_token_at: float = 0.0
    last_token_at: float = 0.0

    def __post_init__(self) -> None:
        self.tokens = array(TOKEN_TYPE, self.request.prompt.tokens)

    @property
    def phase(self) -> Phase:
        if self.row is None:
            return Phase.WAITING
        return Phase.DECODE if self.row.num_uncomputed == 1 and self.max_tokens else Phase.PREFILL

    @property
    def urgency(self) -> tuple[Priority, bool, float]:
        """Order of admission: smaller goes first. Who was preempted goes before others of its
        class."""
        return self.priority, not self.num_preemptions, self.submitted_at

    @property
    def priority(self) -> Priority:
        """Its own, or that of a more urgent request which waits for it."""
        own = Priority.INTERACTIVE if self.aged else self.request.priority
        return min(own, self.boosted)

    @property
    def standing(self) -> Standing:
        """How much what it computes matters to others."""
        if self.stood is not None:
            return self.stood
        if self.pin:
            return Standing.TEMPLATE
        interactive = self.request.priority is Priority.INTERACTIVE
        return Standing.ORDINARY if interactive else Standing.BACKGROUND

    @property
    def match_limit(self) -> int:
        """Most tokens a hit may cover: all but the last, whose logits begin the answer, if there is
        an answer."""
        return len(self.tokens) - (1 if self.max_tokens else 0)

    @property
    def answer_tokens_left(self) -> int:
        """Most tokens that it may still generate."""
        return self.max_tokens - self.num_generated

    @property
    def prompt_tokens_left(self) -> int:
        """Tokens that are known and stand in no row yet."""
        return len(self.tokens) if self.row is None else self.row.num_uncomputed

    @property
    def num_tokens_left(self) -> int:
        """Most tokens that may still be appended to the row."""
        return self.prompt_tokens_left + self.answer_tokens_left

    @property
    def next_checkpoint(self) -> int | None:
        """Where the prefill stops next to leave a checkpoint."""
        assert self.row is not None
        at = self.row.num_computed
        return next((position for position in self.checkpoints if position > at), None)

    @property
    def short_rest(self) -> int:
        """Tokens that remain of the prompt, if they are few, bring the first token of an answer,
        and leave no checkpoint on the way; else 0."""
        assert self.row is not None
        rest = self.row.num_uncomputed
        short = self.max_tokens and rest <= SHORT_REST_TOKENS and self.next_checkpoint is None
        return rest if short else 0

    @property
    def at_checkpoint(self) -> bool:
        """Whether the row stands where it should leave a checkpoint."""
        return self.row is not None and self.row.num_computed in self.checkpoints

    def stop_at(self, position: int) -> None:
        """Let the prefill stop at a position that lies ahead, to leave a checkpoint there."""
        if self.row is not None and position > self.row.num_computed:
            self.checkpoints = tuple(sorted({*self.checkpoints, position}))

    def usage(self) -> Usage:
        return Usage(
            prompt_tokens=len(self.request.prompt.tokens),
            cached_tokens=self.num_cached,
            awaited_tokens=self._num_awaited(),
            completion_tokens=self.num_generated,
        )

    def _num_awaited(self) -> int:
        """Of the cached tokens, those that a leader computed while this request waited."""
        if self.decision is None or not self.decision.waited:
            return 0
        return max(0, min(self.num_cached, self.decision.boundary) - self.decision.num_cached)

    def sent_back(self, now: float) -> None:
        """It has lost its row and waits again."""
        self.aside_at = now

    def went_on(self, now: float) -> None:
        """It has a row again."""
        self.aside_prefill_s, self.aside_decode_s = self._aside(now)
        self.aside_at = 0.0

    def _aside(self, now: float) -> tuple[float, float]:
        """Seconds that it has waited after preemptions, before and after its first token."""
        more_s = now - self.aside_at if self.aside_at else 0.0
        if self.first_token_at:
            return self.aside_prefill_s, self.aside_decode_s + more_s
        return self.aside_prefill_s + more_s, self.aside_decode_s

    def timings(self, now: float) -> Timings:
        admitted = self.admitted_at or now
        first = self.first_token_at or now
        aside_prefill_s, aside_decode_s = self._aside(now)
        return Timings(
            queue_s=admitted - self.submitted_at + aside_prefill_s + aside_decode_s,
            parked_s=self.parked_s + (now - self.parked_at if self.parked_at else 0.0),
            prefill_s=first - admitted - aside_prefill_s,
            decode_s=now - first - aside_decode_s,
            ttft_s=self.first_token_at - self.submitted_at if self.first_token_at else 0.0,
            total_s=now - self.submitted_at,
        )
