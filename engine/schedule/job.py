"""Jobs: requests inside the engine, from arrival to their last event."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any

from engine.cache.part import Hold
from engine.cache.row import Row
from engine.request import Priority, Request, Timings, Usage, Waited

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

    `sampler` and `stream` belong to the loop; the scheduler never looks at them. `pin` names the
    pin that the job warms, if any. `checkpoints` are the positions at which its prefill stops to
    leave one. `hold` keeps what was published for a follower until it starts; `waited` tells for
    whom it waited.
    """

    request: Request
    submitted_at: float
    max_tokens: int
    pin: str = ""
    row: Row | None = None
    sampler: Any = None
    stream: Any = None
    checkpoints: tuple[int, ...] = ()
    boosted: Priority = Priority.PIN  # the priority of the most urgent request that waits for it
    patient: bool = True  # whether it may still wait for what another computes
    hold: Hold | None = None
    waited: Waited | None = None
    num_generated: int = 0
    admitted_at: float = 0.0
    first_token_at: float = 0.0
    last_token_at: float = 0.0

    @property
    def phase(self) -> Phase:
        if self.row is None:
            return Phase.WAITING
        return Phase.DECODE if self.row.num_uncomputed == 1 and self.max_tokens else Phase.PREFILL

    @property
    def urgency(self) -> tuple[Priority, float]:
        """Order of admission: smaller goes first."""
        return min(self.request.priority, self.boosted), self.submitted_at

    @property
    def num_tokens_left(self) -> int:
        """Most tokens that may still be appended to the row."""
        if self.row is None:
            return len(self.request.prompt.tokens) + self.max_tokens
        return self.row.num_uncomputed + self.max_tokens - self.num_generated

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

    def usage(self) -> Usage:
        return Usage(
            prompt_tokens=len(self.request.prompt.tokens),
            cached_tokens=self.row.num_cached if self.row else 0,
            awaited_tokens=self._num_awaited(),
            completion_tokens=self.num_generated,
        )

    def _num_awaited(self) -> int:
        """Of the cached tokens, those that a leader computed while this request waited."""
        if self.waited is None or self.row is None:
            return 0
        return max(0, min(self.row.num_cached, self.waited.boundary) - self.waited.num_cached)

    def timings(self, now: float) -> Timings:
        admitted = self.admitted_at or now
        first = self.first_token_at or now
        return Timings(
            queue_s=admitted - self.submitted_at,
            prefill_s=first - admitted,
            decode_s=now - first,
            ttft_s=self.first_token_at - self.submitted_at if self.first_token_at else 0.0,
            total_s=now - self.submitted_at,
        )
