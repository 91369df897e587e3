"""How many requests can run at once, and what is known of their sizes (S3-5, S3-9)."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from engine.config import AdmissionMode

_REMEMBERED = 64  # requests
ENOUGH = 8  # requests before anything is said about the next one
_MARGIN_PERCENT = 25

# Shares of prompt tokens that were found, S3-9. Between two modes the traffic must pass the border
# by this much before the mode changes, so that it does not go to and fro.
_HYSTERESIS = 0.05
_PROTECT_FROM = 0.6
_ONE_SHOT_UP_TO = 0.2
_LONG_TOKENS = 4096


def most_running(
    free_bytes: int, reserve_bytes: int, mean_tokens: float, bytes_per_token: float
) -> int:
    """B_max: requests of `mean_tokens` that fit what is free beside a reserve (S3-5)."""
    each = mean_tokens * bytes_per_token
    return max(0, int((free_bytes - reserve_bytes) // each)) if each > 0 else 0


class Traffic:
    """The last requests: how much of their prompts was found, how many tokens each needed for
    itself, and how long their answers were."""

    def __init__(self) -> None:
        self._prompts: deque[tuple[int, int]] = deque(maxlen=_REMEMBERED)
        self._answers: deque[int] = deque(maxlen=_REMEMBERED)

    @property
    def num_prompts(self) -> int:
        return len(self._prompts)

    @property
    def num_answers(self) -> int:
        return len(self._answers)

    @property
    def hit_share(self) -> float:
        """Share of prompt tokens that were found."""
        prompt = sum(tokens for tokens, _ in self._prompts)
        return sum(cached for _, cached in self._prompts) / prompt if prompt else 0.0

    @property
    def mean_prompt_tokens(self) -> float:
        return _mean([tokens for tokens, _ in self._prompts])

    @property
    def mean_own_tokens(self) -> float:
        """Tokens of a request that it shares with nobody: hits are credited (S0-14)."""
        return _mean([tokens - cached for tokens, cached in self._prompts]) + self.mean_answer

    @property
    def mean_answer(self) -> float:
        return _mean(list(self._answers))

    @property
    def long_answer(self) -> int:
        """More tokens than nearly every answer has."""
        return max(self._answers, default=0) * (100 + _MARGIN_PERCENT) // 100

    def started(self, prompt_tokens: int, cached_tokens: int) -> None:
        self._prompts.append((prompt_tokens, cached_tokens))

    def ended(self, answer_tokens: int) -> None:
        self._answers.append(answer_tokens)


@dataclass(slots=True)
class ModeChoice:
    """The mode that is in force: the one that was asked for, or with `AUTO` what the traffic needs.

    Much that is found again is worth protecting (chat, documents); where next to nothing is,
    running more at once is worth more; in between (code completion) it depends on the length, since
    long prompts cost most to compute again.
    """

    asked: AdmissionMode
    mode: AdmissionMode = AdmissionMode.PROTECT_CACHE

    def __post_init__(self) -> None:
        if self.asked is not AdmissionMode.AUTO:
            self.mode = self.asked

    def update(self, traffic: Traffic) -> None:
        """The traffic has changed."""
        if self.asked is not AdmissionMode.AUTO or traffic.num_prompts < ENOUGH:
            return
        share = traffic.hit_share
        if self._over(share, _PROTECT_FROM, AdmissionMode.PROTECT_CACHE):
            self.mode = AdmissionMode.PROTECT_CACHE
        elif not self._over(share, _ONE_SHOT_UP_TO, *_CAREFUL):
            self.mode = AdmissionMode.MAX_THROUGHPUT
        elif traffic.mean_prompt_tokens >= _LONG_TOKENS:
            self.mode = AdmissionMode.PROTECT_CACHE
        else:
            self.mode = AdmissionMode.BALANCED

    def _over(self, share: float, border: float, *above: AdmissionMode) -> bool:
        """Whether a share is beyond a border, which lies lower for those who are beyond it now."""
        return share >= border + (-_HYSTERESIS if self.mode in above else _HYSTERESIS)


_CAREFUL = (AdmissionMode.PROTECT_CACHE, AdmissionMode.BALANCED)


def _mean(values: list[int]) -> float:
    return sum(values) / len(values) if values else 0.0
