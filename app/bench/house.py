"""What `ondol bench house` measures: the six figures of a home server (S4-6), and the ratios in it.

Seconds throughout. Ratios are taken within a pair, between segments measured next to each other,
over the questions that both sides answered.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.bench.flights import Side
from app.bench.server_metrics import Reading
from app.bench.stats import Estimate, estimate, median, nearest_rank

# Coordination off: nobody waits for another, and nothing is found before its request has ended.
ON, OFF = Side.ONDOL, Side.ON_COMPLETION
NAMES: Mapping[Side, str] = {ON: "on", OFF: "off"}


@dataclass(frozen=True, slots=True)
class Plan:
    """What to measure: for each number of clients `pairs` pairs of segments, one a side, in each of
    which the clients go on asking for `seconds`."""

    clients: tuple[int, ...]
    pairs: int
    seconds: float
    kv_budget_bytes: int


@dataclass(frozen=True, slots=True)
class Turn:
    """One question and what its answer cost, as the client saw it. A side is asked the same by the
    same `client` with the same `number`."""

    client: int
    number: int
    errand: str
    prompt_tokens: int
    cached_tokens: int
    ttft_s: float

    @property
    def computed_tokens(self) -> int:
        return self.prompt_tokens - self.cached_tokens

    @property
    def key(self) -> tuple[int, int]:
        return self.client, self.number


@dataclass(frozen=True, slots=True)
class Segment:
    """One side, once. `seconds` passed until the last answer ended; `before` and `after` are what
    the server had counted, `most_kv_bytes` the most KV that it was seen to hold."""

    turns: tuple[Turn, ...]
    seconds: float
    before: Reading
    after: Reading
    most_kv_bytes: int


@dataclass(frozen=True, slots=True)
class Pair:
    """Both sides on the same questions, next to each other. Each answered at least one that the
    other answered too."""

    on: Segment
    off: Segment

    def of(self, side: Side) -> Segment:
        return self.on if side is ON else self.off

    @property
    def common(self) -> tuple[tuple[Turn, Turn], ...]:
        """The questions that both sides answered: on, off."""
        off = {turn.key: turn for turn in self.off.turns}
        return tuple((turn, off[turn.key]) for turn in self.on.turns if turn.key in off)

    @property
    def ttft_ratio(self) -> float:
        """Mean time to the first token, on / off."""
        return sum(on.ttft_s for on, _ in self.common) / sum(off.ttft_s for _, off in self.common)

    @property
    def computed_ratio(self) -> float:
        """Prompt tokens that were not found but computed, on / off: above 1 where the hit rate is
        worse."""
        return sum(on.computed_tokens for on, _ in self.common) / sum(
            off.computed_tokens for _, off in self.common
        )


@dataclass(frozen=True, slots=True)
class Figures:
    """The six figures of one side (S4-6), over all its segments; `prefill_rate` is prompt tokens
    computed by seconds between a request's start and its first token."""

    requests: int
    hit_rate: float
    reused_tokens: int
    ttft_p50_s: float
    ttft_p95_s: float
    prefill_rate: float
    most_kv_bytes: int
    evictions_per_minute: float
    preemptions: int


@dataclass(frozen=True, slots=True)
class CaseResult:
    """All pairs of one number of clients, at least one."""

    clients: int
    pairs: tuple[Pair, ...]

    @property
    def ttft_ratio(self) -> Estimate:
        return estimate([pair.ttft_ratio for pair in self.pairs])

    @property
    def computed_ratio(self) -> Estimate:
        return estimate([pair.computed_ratio for pair in self.pairs])

    @property
    def prompt_tokens(self) -> int:
        """Of a question in the middle."""
        turns = [turn for pair in self.pairs for on, off in pair.common for turn in (on, off)]
        return round(median([turn.prompt_tokens for turn in turns]))

    def figures(self, side: Side) -> Figures:
        return _figures([pair.of(side) for pair in self.pairs])


@dataclass(frozen=True, slots=True)
class HouseResults:
    """A whole run."""

    cases: tuple[CaseResult, ...]


def named(clients: int) -> str:
    """As people are told."""
    return f"{clients} client{'' if clients == 1 else 's'}"


def _figures(segments: Sequence[Segment]) -> Figures:
    ttft_s = [turn.ttft_s for segment in segments for turn in segment.turns]
    prompt = sum(each.after.prompt_tokens - each.before.prompt_tokens for each in segments)
    reused = sum(each.after.reused_tokens - each.before.reused_tokens for each in segments)
    prefill_s = sum(each.after.prefill_s - each.before.prefill_s for each in segments)
    evicted = sum(each.after.evicted_pages - each.before.evicted_pages for each in segments)
    return Figures(
        requests=len(ttft_s),
        hit_rate=reused / prompt,
        reused_tokens=reused,
        ttft_p50_s=median(ttft_s),
        ttft_p95_s=nearest_rank(ttft_s, 0.95),
        prefill_rate=(prompt - reused) / prefill_s,
        most_kv_bytes=max(each.most_kv_bytes for each in segments),
        evictions_per_minute=60 * evicted / sum(each.seconds for each in segments),
        preemptions=sum(each.after.preemptions - each.before.preemptions for each in segments),
    )
