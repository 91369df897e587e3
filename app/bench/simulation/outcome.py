"""What became of the requests of a simulation, and of the memory."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from app.bench.errors import BenchError
from engine.request import FinishReason, Usage
from engine.snapshot import Totals


@dataclass(frozen=True, slots=True)
class Outcome:
    """One request as its client saw it, in seconds of the virtual clock. `first_token_at` is None
    where none came."""

    request_id: str
    submitted_at: float
    first_token_at: float | None
    ended_at: float
    reason: FinishReason
    usage: Usage
    error: str = ""

    @property
    def ttft_s(self) -> float:
        """Until the first token; until the end, where none came."""
        first = self.ended_at if self.first_token_at is None else self.first_token_at
        return first - self.submitted_at


@dataclass(frozen=True, slots=True)
class PoolSample:
    """The KV pool at a moment, in bytes: what running requests hold, and what else is resident."""

    at: float
    running_bytes: int
    cached_bytes: int


@dataclass(frozen=True, slots=True)
class Simulation:
    """Outcomes in order of their ends, and the engine's own totals."""

    outcomes: tuple[Outcome, ...]
    totals: Totals
    budget_bytes: int
    pool: tuple[PoolSample, ...]

    def checked(self) -> Simulation:
        """Itself. Raises BenchError where a request failed: its end would count as an answer."""
        failed = next((outcome for outcome in self.outcomes if outcome.error), None)
        if failed is not None:
            raise BenchError(f"A simulated request failed: {failed.error}")
        return self

    def outcome(self, request_id: str) -> Outcome:
        """Raises KeyError."""
        for outcome in self.outcomes:
            if outcome.request_id == request_id:
                return outcome
        raise KeyError(request_id)

    @property
    def duration_s(self) -> float:
        """From the first request to the last end."""
        began = min(outcome.submitted_at for outcome in self.outcomes)
        return max(outcome.ended_at for outcome in self.outcomes) - began

    @property
    def hit_rate(self) -> float:
        """Share of all prompt tokens that were not computed again."""
        return self.totals.cached_tokens / max(1, self.totals.prompt_tokens)

    @property
    def computed_tokens(self) -> int:
        """Prompt tokens that were computed."""
        return self.totals.prompt_tokens - self.totals.cached_tokens

    @property
    def tokens_per_s(self) -> float:
        """Tokens of answers, by the time until the last has ended."""
        return self.totals.completion_tokens / self.duration_s

    @property
    def mean_ttft_s(self) -> float:
        return float(np.mean([outcome.ttft_s for outcome in self.outcomes]))

    def ttft_quantile_s(self, share: float) -> float:
        """The time to the first token that a share of the requests stayed within."""
        return float(np.quantile([outcome.ttft_s for outcome in self.outcomes], share))

    @property
    def running_share(self) -> float:
        """What running requests held of the budget, in the mean over time."""
        return _mean_over_time(self.pool, [each.running_bytes for each in self.pool]) / (
            self.budget_bytes
        )

    @property
    def cached_share(self) -> float:
        """What else was resident, in the mean over time."""
        return _mean_over_time(self.pool, [each.cached_bytes for each in self.pool]) / (
            self.budget_bytes
        )


def _mean_over_time(samples: Sequence[PoolSample], values: Sequence[int]) -> float:
    """Every value counts until the next sample."""
    if len(samples) < 2:
        return float(values[0]) if values else 0.0
    times = [later.at - sample.at for sample, later in itertools.pairwise(samples)]
    return float(np.average(values[:-1], weights=times))
