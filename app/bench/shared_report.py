"""A run of `ondol bench shared` as tables for people and as JSON for programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from app.bench.conditions import Conditions
from app.bench.report import describe, table
from app.bench.shared import (
    ClientsResult,
    Plan,
    PrefixResult,
    SharedResults,
    middle,
)
from app.bench.stats import median
from app.bench.verdict import Verdict, against_bars, counted, scaled, verdicts_json

SCHEMA = "ondol-bench-shared"
SCHEMA_VERSION = 1

BYTES_FACTOR = 1.1
STEP_FACTOR = 1.0
FAST_PREFIX, FAST_CLIENTS, FAST_GAIN = 4_096, 8, 1.3  # on a CPU (design D10)
ALONE_FACTOR = 1.03
JOIN_MS = 5.0
TOGETHER_FACTOR = 0.4
LIMIT_FACTOR = 1.15
TIMES_AS_MANY = 3.0

_NONE = "-"
_MB = 1_000_000
_CLIENTS_COLUMNS = (
    ("prefix", ("tokens",)),
    ("clients", ("",)),
    ("KV, MB", ("shared", "copies", "over one copy")),
    ("a step, ms", ("shared", "copies", "ratio")),
    ("first token, ms", ("shared", "last", "copies", "last")),
)
_CHANGE_COLUMNS = (
    ("prefix", ("tokens",)),
    ("joining, ms", ("suffix", "shared", "copies")),
    ("leaving, ms", ("shared", "copies")),
)
_FOLLOW_COLUMNS = (
    ("prefix", ("tokens",)),
    (
        "first tokens of all, ms",
        ("together", "on copies", "ratio", "on the part", "mlx-lm joining"),
    ),
)
_ONE_COLUMNS = (
    ("prefix", ("tokens",)),
    ("first token, ms", ("warm", "limit", "ratio")),
    ("a step, ms", ("on a part", "mlx-lm", "ratio")),
)


def verdicts(results: SharedResults, *, on_cpu: bool) -> tuple[Verdict, ...]:
    """Every bar that applies to what was measured, bar by bar."""
    every = results.prefixes
    rows = [(of, each) for of in every for each in of.clients]
    found = [
        *(_bytes(of, each) for of, each in rows),
        *(_step(of, each, on_cpu) for of, each in rows),
        *(
            Verdict(
                "joining beyond the suffix",
                of.prefix_tokens,
                scaled(of.join_beyond_suffix_s, 1000),
                JOIN_MS,
                "ms",
            )
            for of in every
        ),
        *(
            Verdict(
                f"first tokens of {of.group - 1}, together / one by one on copies",
                of.prefix_tokens,
                of.together,
                TOGETHER_FACTOR,
            )
            for of in every
        ),
        *(Verdict("warm / limit", of.prefix_tokens, of.over_limit, LIMIT_FACTOR) for of in every),
        *(_alone(of, each) for of, each in rows),
        _capacity(results),
    ]
    return tuple(verdict for verdict in found if verdict is not None)


def render(results: SharedResults, conditions: Conditions, plan: Plan) -> str:
    """The conditions, the tables and the verdicts, ready to print."""
    judged = verdicts(results, on_cpu=conditions.device["kind"] == "cpu")
    return "\n".join(
        [
            *describe(conditions),
            "",
            f"Clients on one prefix, each with {plan.suffix_tokens} tokens of its own",
            *table(
                _CLIENTS_COLUMNS,
                [_clients_cells(of, each) for of in results.prefixes for each in of.clients],
            ),
            "",
            f"A row joins {plan.group - 1} others, and one of {plan.group} leaves",
            *table(_CHANGE_COLUMNS, [_change_cells(of) for of in results.prefixes]),
            "",
            f"{plan.followers} followers",
            *table(_FOLLOW_COLUMNS, [_follow_cells(of) for of in results.prefixes]),
            "",
            "One client",
            *table(_ONE_COLUMNS, [_one_cells(of) for of in results.prefixes]),
            "",
            *_capacity_lines(results),
            f"Medians; ratios are medians of pairs. Pairs: {conditions.rounds} of "
            f"{plan.block_steps} steps each, repeats of the rest: {conditions.repeats}.",
            "copies: mlx-lm's BatchGenerator, each row on a copy of the prefix.",
            "over one copy: allocated KV of rows that share / one copy of the prefix and what each",
            "has of its own.",
            "joining, leaving: beyond the steps that the others made meanwhile.",
            "on copies, on the part: one follower after the other, by plain mlx-lm with a copy of",
            "the prefix each, and by Ondol on the shared part.",
            "suffix, limit: plain mlx-lm computes the suffix with all other KV in place.",
            "",
            *against_bars(judged),
        ]
    )


def to_json(results: SharedResults, conditions: Conditions, plan: Plan) -> dict[str, Any]:
    """Everything measured. Times in seconds, memory in bytes, verdicts in their units."""
    return {
        "schema": SCHEMA,
        "schema_version": SCHEMA_VERSION,
        "conditions": asdict(conditions),
        "plan": asdict(plan),
        "prefixes": [_prefix_json(of) for of in results.prefixes],
        "capacity": None if results.capacity is None else asdict(results.capacity),
        "verdicts": verdicts_json(verdicts(results, on_cpu=conditions.device["kind"] == "cpu")),
    }


def _prefix_json(of: PrefixResult) -> dict[str, Any]:
    return asdict(of) | {
        "join_beyond_suffix_s": asdict(of.join_beyond_suffix_s),
        "together_over_one_by_one": asdict(of.together),
        "warm_over_limit": asdict(of.over_limit),
        "clients": [
            asdict(each)
            | {
                "needed_bytes": of.needed_bytes(each.clients),
                "over_copies": None if each.over_copies is None else asdict(each.over_copies),
                "over_alone": None if each.over_alone is None else asdict(each.over_alone),
            }
            for each in of.clients
        ],
    }


def _bytes(of: PrefixResult, each: ClientsResult) -> Verdict:
    return Verdict(
        f"KV of {_clients(each)} / one copy and suffixes",
        of.prefix_tokens,
        counted(each.shared.kv_bytes / of.needed_bytes(each.clients)),
        BYTES_FACTOR,
    )


def _step(of: PrefixResult, each: ClientsResult, on_cpu: bool) -> Verdict | None:
    if each.over_copies is None:
        return None
    fast = on_cpu and (of.prefix_tokens, each.clients) == (FAST_PREFIX, FAST_CLIENTS)
    bar = round(1 / FAST_GAIN, 3) if fast else STEP_FACTOR
    return Verdict(f"a step of {_clients(each)} / copies", of.prefix_tokens, each.over_copies, bar)


def _alone(of: PrefixResult, each: ClientsResult) -> Verdict | None:
    if each.over_alone is None:
        return None
    return Verdict(
        "a step of one client / plain mlx-lm", of.prefix_tokens, each.over_alone, ALONE_FACTOR
    )


def _capacity(results: SharedResults) -> Verdict | None:
    capacity = results.capacity
    if capacity is None:
        return None
    return Verdict(
        f"rows in the same bytes, {100 * capacity.shared_share:.0f} % shared / copies",
        capacity.prefix_tokens,
        counted(capacity.times_as_many),
        TIMES_AS_MANY,
        at_least=True,
    )


def _clients(each: ClientsResult) -> str:
    return f"{each.clients} client{'' if each.clients == 1 else 's'}"


def _clients_cells(of: PrefixResult, each: ClientsResult) -> Sequence[str]:
    shared, copies, ratio = each.shared, each.copies, each.over_copies
    return [
        f"{of.prefix_tokens:,}",
        str(each.clients),
        _mb(shared.kv_bytes),
        _NONE if copies is None else _mb(copies.kv_bytes),
        f"{shared.kv_bytes / of.needed_bytes(each.clients):.2f}",
        _ms(middle(shared.step_s)),
        _NONE if copies is None else _ms(middle(copies.step_s)),
        _NONE if ratio is None else f"{ratio.median:.2f}",
        *_first(shared.ttft_s),
        *([_NONE, _NONE] if copies is None else _first(copies.ttft_s)),
    ]


def _first(ttft_s: Sequence[float]) -> list[str]:
    return [_ms(median(ttft_s)), _ms(max(ttft_s))]


def _change_cells(of: PrefixResult) -> Sequence[str]:
    copies = [one.copies for one in of.regroups if one.copies is not None]
    return [
        f"{of.prefix_tokens:,}",
        _ms(median([one.suffix_s for one in of.regroups])),
        _ms(median([one.shared.join_s for one in of.regroups])),
        _ms(median([one.join_s for one in copies])) if copies else _NONE,
        _ms(median([one.shared.leave_s for one in of.regroups])),
        _ms(median([one.leave_s for one in copies])) if copies else _NONE,
    ]


def _follow_cells(of: PrefixResult) -> Sequence[str]:
    joined = [one.joined_s for one in of.follows if one.joined_s is not None]
    return [
        f"{of.prefix_tokens:,}",
        _ms(median([one.together_s for one in of.follows])),
        _ms(median([one.on_copies_s for one in of.follows])),
        f"{of.together.median:.2f}",
        _ms(median([one.one_by_one_s for one in of.follows])),
        _ms(median(joined)) if joined else _NONE,
    ]


def _one_cells(of: PrefixResult) -> Sequence[str]:
    one = next((each for each in of.clients if each.over_alone is not None), None)
    ratio = None if one is None else one.over_alone
    return [
        f"{of.prefix_tokens:,}",
        _ms(median([each.ttft_s for each in of.warm])),
        _ms(median([each.limit_s for each in of.warm])),
        f"{of.over_limit.median:.2f}",
        *(
            [_NONE, _NONE, _NONE]
            if one is None or ratio is None
            else [
                _ms(middle(one.shared.step_s)),
                _ms(middle(one.alone_step_s)),
                f"{ratio.median:.2f}",
            ]
        ),
    ]


def _capacity_lines(results: SharedResults) -> Iterator[str]:
    capacity = results.capacity
    if capacity is None:
        return
    yield (
        f"{capacity.copies_rows} rows on copies took {_mb(capacity.copies_bytes)} MB; "
        f"{capacity.shared_rows} rows that share {100 * capacity.shared_share:.0f} % of their "
        f"tokens took {_mb(capacity.shared_bytes)} MB."
    )
    yield ""


def _ms(seconds: float) -> str:
    return f"{1000 * seconds:,.1f}"


def _mb(num_bytes: int) -> str:
    return f"{num_bytes / _MB:,.1f}"
