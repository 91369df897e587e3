"""The bars of `ondol bench batch` (S3-6, S3-7, S3-11)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from app.bench.batch import (
    BatchPlan,
    BatchResults,
    Knee,
    SimulatedResults,
    Sweep,
    SweepPlan,
    sweep_of,
)
from app.bench.stats import median
from app.bench.verdict import Verdict, counted
from engine.config import AdmissionMode

FALL_POINTS = 25
GAIN_FACTOR = 1.0
KEPT_PERCENT = 90
PREEMPTED_PERCENT = 0
SAVED_PERCENT = 40  # the article's 40 to 60


def verdicts(results: BatchResults, plan: BatchPlan) -> tuple[Verdict, ...]:
    """Every bar that applies to what was simulated and measured."""
    simulated, sweep_plan = results.simulated, plan.simulated.sweep
    return (
        *_unprotected(simulated, sweep_plan, plan.simulated.knee),
        *_protected("simulated", simulated.sweeps, sweep_plan),
        _saved(simulated, plan.simulated.few),
        *_protected("measured", results.measured, plan.measured),
    )


def _unprotected(simulated: SimulatedResults, plan: SweepPlan, knee: Knee) -> Iterator[Verdict]:
    """By the median of all seeds, so that no lucky draw decides."""
    sweeps = simulated.unprotected
    if not sweeps:
        return
    name = "simulated, max throughput"
    yield Verdict(
        f"{name}: points of hit rate lost from {knee.before} to {knee.after} clients",
        plan.traffic.prompt_tokens,
        counted(median([sweep.fall(knee) for sweep in sweeps])),
        FALL_POINTS,
        "%",
        at_least=True,
    )
    yield Verdict(
        f"{name}: tokens/s with {knee.after} clients / with {knee.before}",
        plan.traffic.prompt_tokens,
        counted(median([sweep.gain(knee) for sweep in sweeps])),
        GAIN_FACTOR,
        at_least=True,
    )


def _protected(name: str, sweeps: Sequence[Sweep], plan: SweepPlan) -> Iterator[Verdict]:
    sweep = sweep_of(sweeps, AdmissionMode.PROTECT_CACHE)
    if sweep is None:
        return
    yield Verdict(
        f"{name}, protect cache: lowest hit rate, of that with {plan.clients[0]} clients",
        plan.traffic.prompt_tokens,
        counted(100 * sweep.kept_share),
        KEPT_PERCENT,
        "%",
        at_least=True,
    )
    requests = sum(point.requests for point in sweep.points)
    yield Verdict(
        f"{name}, protect cache: preemptions, of all requests",
        plan.traffic.prompt_tokens,
        counted(100 * sweep.preemptions / requests),
        PREEMPTED_PERCENT,
        "%",
    )


def _saved(simulated: SimulatedResults, plan: SweepPlan) -> Verdict:
    few, distinct = simulated.few, simulated.few_distinct
    return Verdict(
        f"simulated, {few.clients} clients: first token saved beside prompts that share nothing",
        plan.traffic.prompt_tokens,
        counted(100 - 100 * few.ttft_p50_s / distinct.ttft_p50_s),
        SAVED_PERCENT,
        "%",
        at_least=True,
    )
