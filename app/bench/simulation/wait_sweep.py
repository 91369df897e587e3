"""Wait for what another computes, or compute it as well: what the engine chooses, beside what it
would have had by always doing one of both (algorithms §4.1, §4.2)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from app.bench.simulation.engine import SimulatedEngine
from app.bench.simulation.model import SimulatedModel
from app.bench.simulation.outcome import Outcome
from app.bench.simulation.workloads import burst, overlap
from engine.config import EngineConfig, WaitOrCompute

_FINE_SHARES = (0.01, 0.02, 0.03, *(percent / 100 for percent in range(5, 100, 5)))


@dataclass(frozen=True, slots=True)
class WaitPlan:
    """Pairs of prompts: which share of their tokens is the same, and how much later the second
    comes."""

    model: SimulatedModel
    shares: tuple[float, ...]
    staggers_s: tuple[float, ...]
    prompt_tokens: int
    answer_tokens: int


@dataclass(frozen=True, slots=True)
class PairResult:
    """One pair: the mean time to the first token of both, in virtual seconds."""

    share: float
    stagger_s: float
    ttft_s: Mapping[WaitOrCompute, float]

    @property
    def better_s(self) -> float:
        """Of always waiting and always computing."""
        return min(self.ttft_s[WaitOrCompute.WAIT], self.ttft_s[WaitOrCompute.COMPUTE])

    @property
    def over_better(self) -> float:
        """What was chosen, beside the better of both."""
        return self.ttft_s[WaitOrCompute.CHOOSE] / self.better_s

    @property
    def waiting_wins(self) -> bool:
        return self.ttft_s[WaitOrCompute.WAIT] < self.ttft_s[WaitOrCompute.COMPUTE]


@dataclass(frozen=True, slots=True)
class WaitResult:
    """All pairs, and the smallest share from which waiting wins for each stagger, None where it
    never does."""

    pairs: tuple[PairResult, ...]
    break_even: Mapping[float, float | None]


def sweep(plan: WaitPlan, config: EngineConfig, say: Callable[[str], None]) -> WaitResult:
    """Every pair and every stagger. Raises BenchError."""
    pairs = tuple(
        PairResult(
            share,
            stagger_s,
            {
                choice: _mean_ttft_s(plan, config, choice, share, stagger_s)
                for choice in WaitOrCompute
            },
        )
        for share in plan.shares
        for stagger_s in plan.staggers_s
    )
    say(f"wait or compute, {plan.model.name}: {len(pairs)} pairs")
    return WaitResult(
        pairs,
        {stagger_s: _break_even(plan, config, stagger_s) for stagger_s in plan.staggers_s},
    )


def _break_even(plan: WaitPlan, config: EngineConfig, stagger_s: float) -> float | None:
    """The smallest share from which on waiting wins; None if it never does."""
    wins: float | None = None
    for share in reversed(_FINE_SHARES):
        waited, computed = (
            _mean_ttft_s(plan, config, choice, share, stagger_s)
            for choice in (WaitOrCompute.WAIT, WaitOrCompute.COMPUTE)
        )
        if waited >= computed:
            break
        wins = share
    return wins


def _mean_ttft_s(
    plan: WaitPlan, config: EngineConfig, choice: WaitOrCompute, share: float, stagger_s: float
) -> float:
    """Of an engine that knows from another prompt what prefill takes."""
    engine = SimulatedEngine(plan.model, replace(config, wait_or_compute=choice))
    known = engine.run(burst(1, plan.prompt_tokens, 1, seed=2)).outcomes
    pair_of = overlap(share, stagger_s, plan.prompt_tokens, plan.answer_tokens)
    simulated = engine.run(pair_of).checked()
    pair: tuple[Outcome, ...] = simulated.outcomes[len(known) :]
    return sum(outcome.ttft_s for outcome in pair) / len(pair)
