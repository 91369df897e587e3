"""A run of `ondol bench flights` as tables for people and as JSON for programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from app.bench.conditions import Conditions
from app.bench.flights import (
    CaseResult,
    FlightsResults,
    Kind,
    Measured,
    Server,
    Side,
    followers_ttft_s,
    mean_ttft_s,
    slowest_s,
)
from app.bench.flights_bench import case_name
from app.bench.flights_verdicts import choice_over_better, verdicts
from app.bench.report import describe, ms, table
from app.bench.stats import median
from app.bench.verdict import against_bars, verdicts_json

SCHEMA = "ondol-bench-flights"
SCHEMA_VERSION = 1

_NONE = "-"
_CASE_COLUMNS = (
    ("prompts", ("",)),
    ("at once", ("",)),
    ("tokens", ("prompt", "same", "answer")),
    ("policy", ("",)),
    ("first token, ms", ("mean", "followers", "p95")),
    ("last token, ms", ("slowest",)),
    ("prompt tokens", ("computed", "restored")),
)
_CHOICE_COLUMNS = (
    ("the same", ("",)),
    ("requests", ("",)),
    ("apart, s", ("",)),
    ("mean first token, ms", ("waiting", "computing", "as chosen")),
    ("waited", ("",)),
    ("chosen / better", ("",)),
)
_SERVED_COLUMNS = (
    ("prompts", ("",)),
    ("at once", ("",)),
    ("tokens", ("",)),
    ("server", ("",)),
    ("first token, ms", ("mean", "last")),
    ("last token, ms", ("slowest",)),
    ("prompt tokens", ("computed",)),
)


def render(results: FlightsResults, conditions: Conditions) -> str:
    """The conditions, the tables and the verdicts, ready to print."""
    judged = verdicts(results)
    return "\n".join(
        [
            *describe(conditions),
            "",
            *table(_CASE_COLUMNS, list(_case_rows(results))),
            "",
            *_choice_lines(results),
            *_served_lines(results),
            f"Medians of rounds; ratios are medians of ratios within a round. Rounds: "
            f"{conditions.rounds}, prefill chunk: {conditions.prefill_chunk} tokens on all sides.",
            "followers: all but the first. late: they arrive when that one has its first token.",
            "computed: by all requests together. restored: by the follower that restored least.",
            "",
            *against_bars(judged),
        ]
    )


def to_json(results: FlightsResults, conditions: Conditions) -> dict[str, Any]:
    """Everything measured. Times in seconds, verdicts in their units."""
    return {
        "schema": SCHEMA,
        "schema_version": SCHEMA_VERSION,
        "conditions": asdict(conditions),
        "cases": [_case_json(result) for result in results.cases],
        "served": [asdict(served) for served in results.served],
        "verdicts": verdicts_json(verdicts(results)),
    }


def _case_json(result: CaseResult) -> dict[str, Any]:
    share = result.scheduling_share
    return result.to_json() | {
        "sides": {
            side: {
                "mean_ttft_s": result.middle(side, mean_ttft_s),
                "followers_ttft_s": (
                    result.middle(side, followers_ttft_s) if result.case.requests > 1 else None
                ),
                "p95_ttft_s": result.p95_ttft_s(side),
                "slowest_s": result.middle(side, slowest_s),
                "computed_tokens": result.computed_tokens(side),
                "restored_tokens": result.restored_tokens(side),
            }
            for side in result.case.sides
        },
        "scheduling_share": None if share is None else asdict(share),
    }


def _case_rows(results: FlightsResults) -> Iterator[Sequence[str]]:
    for result in results.cases:
        case = result.case
        if case.kind is Kind.OVERLAP:
            continue
        for at, side in enumerate(case.sides):
            names = (
                case_name(case),
                str(case.requests),
                f"{case.prompt_tokens:,}",
                f"{case.shared_tokens:,}",
                f"{case.answer_tokens:,}",
            )
            restored = result.restored_tokens(side)
            yield [
                *(names if at == 0 else ("",) * len(names)),
                side,
                ms(result.middle(side, mean_ttft_s)),
                _NONE if restored is None else ms(result.middle(side, followers_ttft_s)),
                ms(result.p95_ttft_s(side)),
                ms(result.middle(side, slowest_s)),
                f"{result.computed_tokens(side):,}",
                _NONE if restored is None else f"{restored:,}",
            ]


def _choice_lines(results: FlightsResults) -> Iterator[str]:
    overlaps = results.of_kind(Kind.OVERLAP)
    if overlaps:
        yield "Wait or compute"
        yield from table(_CHOICE_COLUMNS, [_choice_cells(result) for result in overlaps])
        yield ""


def _choice_cells(result: CaseResult) -> Sequence[str]:
    case = result.case
    return [
        f"{100 * case.overlap:.0f} %",
        str(case.requests),
        f"{case.stagger_s:g}",
        *(ms(result.middle(side, mean_ttft_s)) for side in (Side.WAIT, Side.COMPUTE, Side.ONDOL)),
        f"{sum(result.waited)}/{len(result.waited)}" if result.waited else _NONE,
        f"{choice_over_better(result).median:.3f}",
    ]


def _served_lines(results: FlightsResults) -> Iterator[str]:
    rows = [
        _served_cells(kind, server, rounds)
        for kind in Kind
        for server, rounds in results.served_of(kind).items()
        if rounds
    ]
    if rows:
        yield "Over HTTP"
        yield from table(_SERVED_COLUMNS, rows)
        yield ""


def _served_cells(kind: Kind, server: Server, rounds: Sequence[Measured]) -> Sequence[str]:
    return [
        kind,
        str(len(rounds[0].ttft_s)),
        f"{rounds[0].prompt_tokens[0]:,}",
        server,
        ms(median([mean_ttft_s(one) for one in rounds])),
        ms(median([max(one.ttft_s) for one in rounds])),
        ms(median([slowest_s(one) for one in rounds])),
        f"{round(median([one.computed_tokens for one in rounds])):,}",
    ]
