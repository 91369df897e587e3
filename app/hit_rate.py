"""Why the hit rate fell: for want of memory, or because of what was asked."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from engine.config import EngineConfig

LEAST_FALL = 0.1
LEAST_PROMPT_TOKENS = 1000  # fewer say nothing: one new prompt is a fall
LEAST_SHARE = 0.25  # of what was missed; less is no reason

_PAGE_TOKENS = EngineConfig().page_tokens


class Cause(enum.Enum):
    """NOTHING where the hit rate did not fall, or too little is known."""

    NOTHING = "nothing"
    PREEMPTION = "preemption"
    EVICTION = "eviction"
    NEW_PROMPTS = "new prompts"


@dataclass(frozen=True, slots=True)
class Span:
    """What happened in a stretch of time: prompt tokens that were reused and computed, requests
    that made way, tokens of theirs that were computed again, pages that were evicted."""

    reused_tokens: int = 0
    computed_tokens: int = 0
    preemptions: int = 0
    recomputed_tokens: int = 0
    evicted_pages: int = 0

    @property
    def prompt_tokens(self) -> int:
        return self.reused_tokens + self.computed_tokens

    @property
    def hit_rate(self) -> float:
        """0 where no request came."""
        return self.reused_tokens / self.prompt_tokens if self.prompt_tokens else 0.0


def why_it_fell(before: Span, after: Span) -> Cause:
    """Compares a stretch of time with the one before it.

    Preemptions come first: a request that made way is computed again from what was kept of it, and
    takes its memory from the warm prefixes a second time (S3-7). Either cause must have cost a fair
    share of the tokens that would have been reused at the rate of before.
    """
    if min(before.prompt_tokens, after.prompt_tokens) < LEAST_PROMPT_TOKENS:
        return Cause.NOTHING
    fall = before.hit_rate - after.hit_rate
    if fall < LEAST_FALL:
        return Cause.NOTHING
    least = round(LEAST_SHARE * fall * after.prompt_tokens)
    evicted_tokens = after.evicted_pages * _PAGE_TOKENS
    if after.preemptions and after.recomputed_tokens + evicted_tokens >= least:
        return Cause.PREEMPTION
    return Cause.EVICTION if evicted_tokens >= least else Cause.NEW_PROMPTS
