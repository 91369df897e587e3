"""Why the hit rate fell: for want of memory, because of what was asked, or because nothing was warm
yet."""

from __future__ import annotations

import enum
from dataclasses import dataclass

LEAST_FALL = 0.1
LEAST_PROMPT_TOKENS = 1000  # fewer say nothing: one new prompt is a fall
LEAST_SHARE = 0.25  # of what was missed; less is no reason


class Cause(enum.Enum):
    """NOTHING where the hit rate did not fall, or too little is known."""

    NOTHING = "nothing"
    PREEMPTION = "preemption"
    EVICTION = "eviction"
    START = "start"
    NEW_PROMPTS = "new prompts"


@dataclass(frozen=True, slots=True)
class Span:
    """What happened in a stretch of time: prompt tokens that were reused and computed, and requests
    that made way. Of the computed tokens, `lost` had been there before they were evicted, and `new`
    had not, as far as that is remembered. `starts`: a model began to serve."""

    reused_tokens: int = 0
    computed_tokens: int = 0
    preemptions: int = 0
    lost_tokens: int = 0
    new_tokens: int = 0
    starts: int = 0

    @property
    def prompt_tokens(self) -> int:
        return self.reused_tokens + self.computed_tokens

    @property
    def hit_rate(self) -> float:
        """0 where no request came."""
        return self.reused_tokens / self.prompt_tokens if self.prompt_tokens else 0.0


def why_it_fell(before: Span, after: Span) -> Cause:
    """Compares a stretch of time with the one before it.

    Evictions alone are no reason: a full cache gives up as much as it takes in, whatever is asked.
    What counts is what was asked for again after it had been given up, where that is more than what
    had not been there. If requests made way meanwhile, that is why: each takes its memory from the
    warm prefixes a second time (S3-7). What they computed again themselves is in no hit rate. Every
    cause must have cost a fair share of the tokens that would have been reused at the rate of
    before.
    """
    if min(before.prompt_tokens, after.prompt_tokens) < LEAST_PROMPT_TOKENS:
        return Cause.NOTHING
    fall = before.hit_rate - after.hit_rate
    if fall < LEAST_FALL:
        return Cause.NOTHING
    least = round(LEAST_SHARE * fall * after.prompt_tokens)
    if after.lost_tokens >= max(least, after.new_tokens):
        return Cause.PREEMPTION if after.preemptions else Cause.EVICTION
    if after.new_tokens >= least:
        return Cause.START if after.starts else Cause.NEW_PROMPTS
    return Cause.NOTHING
