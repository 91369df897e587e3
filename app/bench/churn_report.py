"""A run of `ondol bench churn` as a table for people and as JSON for programs."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from app.bench.churn import Cycle, Plan, Side
from app.bench.conditions import Surroundings
from app.bench.report import Groups, software, table
from app.bench.verdict import Verdict, against_bars, counted, verdicts_json
from engine.config import Eviction

SCHEMA = "ondol-bench-churn"
SCHEMA_VERSION = 1

JUDGED_CYCLE = 2

_NAMES = {Eviction.LRU: "LRU", Eviction.WORTH: "by worth"}


@dataclass(frozen=True, slots=True)
class ChurnConditions(Surroundings):
    """Where and how a run was made. `model` is "" where the cache ran alone."""

    model: str = ""
    threads: int = 0


@dataclass(frozen=True, slots=True)
class Churn:
    """One workload and what every policy made of it."""

    plan: Plan
    sides: tuple[Side, ...]


@dataclass(frozen=True, slots=True)
class ChurnResults:
    """The cache alone, and the engine with a model, if there was one."""

    alone: Churn
    engine: Churn | None = None


def verdicts(results: ChurnResults) -> tuple[Verdict, ...]:
    """What the second cycle restores: the control nothing, the default policy the bar (S0-15)."""
    judged = [("cache alone", results.alone), ("engine", results.engine)]
    return tuple(
        verdict for where, churn in judged if churn is not None for verdict in _judged(where, churn)
    )


def _judged(where: str, churn: Churn) -> Iterator[Verdict]:
    for side in churn.sides:
        is_default = side.eviction is Eviction.WORTH
        yield Verdict(
            f"{where}, {_NAMES[side.eviction]}, restored in cycle {JUDGED_CYCLE}",
            churn.plan.asked_tokens,
            counted(side.cycles[JUDGED_CYCLE - 1].restored_tokens),
            churn.plan.bar_tokens if is_default else 0,
            "tokens",
            at_least=is_default,
        )


def render(results: ChurnResults, conditions: ChurnConditions) -> str:
    """The conditions, the tables and the bars, ready to print."""
    lines = [
        *([f"model     {conditions.model}"] if conditions.model else []),
        f"device    cores: {conditions.cores}, load before: {conditions.load_before:.2f}",
        *software(conditions),
        "",
        *_tokens(results.alone),
    ]
    if results.engine is not None:
        lines += ["", *_tokens(results.engine), "", *_times(results.engine)]
    return "\n".join([*lines, "", *against_bars(verdicts(results))])


def to_json(results: ChurnResults, conditions: ChurnConditions) -> dict[str, Any]:
    """Everything measured. Times in seconds, verdicts in tokens."""
    return {
        "schema": SCHEMA,
        "schema_version": SCHEMA_VERSION,
        "conditions": asdict(conditions),
        "alone": _json(results.alone),
        "engine": None if results.engine is None else _json(results.engine),
        "verdicts": verdicts_json(verdicts(results)),
    }


def _json(churn: Churn) -> dict[str, Any]:
    plan = churn.plan
    return {
        "plan": asdict(plan),
        "asked_tokens": plan.asked_tokens,
        "same_kept_tokens": plan.same_kept_tokens,
        "sides": {
            side.eviction.value: [asdict(cycle) for cycle in side.cycles] for side in churn.sides
        },
    }


def _tokens(churn: Churn) -> list[str]:
    plan = churn.plan
    cells = [
        [_NAMES[side.eviction], *(f"{cycle.restored_tokens:,}" for cycle in side.cycles)]
        for side in churn.sides
    ]
    same = ["keeping the same", "0", *[f"{plan.same_kept_tokens:,}"] * (plan.cycles - 1)]
    return [
        f"{plan.prompts} prompts of {plan.prompt_tokens:,} tokens in turn, {plan.asked_tokens:,} a "
        f"cycle, in a cache of {plan.pool_tokens:,}",
        *table(_columns("restored tokens in cycle", plan.cycles), [*cells, same]),
    ]


def _times(churn: Churn) -> list[str]:
    cells = [
        [_NAMES[side.eviction], *(f"{1000 * mean_ttft_s(cycle):,.0f}" for cycle in side.cycles)]
        for side in churn.sides
    ]
    return table(_columns("mean TTFT in cycle, ms", churn.plan.cycles), cells)


def mean_ttft_s(cycle: Cycle) -> float:
    """Mean seconds to the first token. Raises StatisticsError where no model ran."""
    return statistics.fmean(cycle.ttft_s)


def _columns(title: str, cycles: int) -> Groups:
    numbers: Sequence[str] = [str(number) for number in range(1, cycles + 1)]
    return (("policy", ("",)), (title, numbers))
