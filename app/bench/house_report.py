"""A run of `ondol bench house` as a table for people and as JSON for programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from app.bench.conditions import Surroundings
from app.bench.house import NAMES, ON, CaseResult, HouseResults, Plan
from app.bench.house_verdicts import verdicts
from app.bench.report import software, table
from app.bench.verdict import against_bars, verdicts_json
from app.settings import format_size

SCHEMA = "ondol-bench-house"
SCHEMA_VERSION = 1

_MB = 1_000_000
_COLUMNS = (
    ("clients", ("",)),
    ("coordination", ("",)),
    ("requests", ("",)),
    ("hit rate", ("",)),
    ("reused", ("tokens",)),
    ("first token, ms", ("p50", "p95")),
    ("prefill", ("tokens/s",)),
    ("most KV", ("MB",)),
    ("evictions", ("pages/min",)),
)


@dataclass(frozen=True, slots=True)
class HouseConditions(Surroundings):
    """Where and how a run was made."""

    model: str
    threads: int


def render(results: HouseResults, conditions: HouseConditions, plan: Plan) -> str:
    """The conditions, the table and the verdicts, ready to print."""
    judged = verdicts(results)
    return "\n".join(
        [
            f"model     {conditions.model}, cores: {conditions.cores}, "
            f"BLAS threads: {conditions.threads}, load before: {conditions.load_before:.2f}",
            f"memory    KV budget {format_size(plan.kv_budget_bytes)}",
            *software(conditions),
            "",
            *table(_COLUMNS, list(_rows(results))),
            "",
            f"Pairs of segments: {plan.pairs}, seconds of each: {plan.seconds:g}. Each household "
            "is new to both sides.",
            "off: nobody waits for another, and nothing is found before its request has ended.",
            "prefill: prompt tokens computed / time between a request's start and its first token.",
            "Ratios are medians of pairs, over the questions that both sides answered.",
            "",
            *against_bars(judged),
        ]
    )


def to_json(results: HouseResults, conditions: HouseConditions, plan: Plan) -> dict[str, Any]:
    """Everything measured. Times in seconds, verdicts in their units."""
    return {
        "schema": SCHEMA,
        "schema_version": SCHEMA_VERSION,
        "conditions": asdict(conditions),
        "plan": asdict(plan),
        "cases": [_case_json(case) for case in results.cases],
        "verdicts": verdicts_json(verdicts(results)),
    }


def _case_json(case: CaseResult) -> dict[str, Any]:
    return {
        "clients": case.clients,
        "figures": {name: asdict(case.figures(side)) for side, name in NAMES.items()},
        "ttft_ratio": asdict(case.ttft_ratio),
        "computed_ratio": asdict(case.computed_ratio),
        "pairs": [asdict(pair) for pair in case.pairs],
    }


def _rows(results: HouseResults) -> Iterator[Sequence[str]]:
    for case in results.cases:
        for side, name in NAMES.items():
            figures = case.figures(side)
            yield [
                str(case.clients) if side is ON else "",
                name,
                f"{figures.requests:,}",
                f"{100 * figures.hit_rate:.1f} %",
                f"{figures.reused_tokens:,}",
                f"{1000 * figures.ttft_p50_s:,.0f}",
                f"{1000 * figures.ttft_p95_s:,.0f}",
                f"{figures.prefill_rate:,.0f}",
                f"{figures.most_kv_bytes / _MB:,.1f}",
                f"{figures.evictions_per_minute:,.0f}",
            ]
