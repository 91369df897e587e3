"""A run of `ondol bench lookup` as a table for people and as JSON for programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from app.bench.conditions import Surroundings
from app.bench.lookup import Lookup, LookupSize, Tree, TreeResult
from app.bench.report import software, table
from app.bench.stats import Estimate
from app.bench.verdict import Verdict, against_bars, verdicts_json

SCHEMA = "ondol-bench-lookup"
SCHEMA_VERSION = 1

BAR_TOKENS = 100_000
BAR_MS = 20.0

_MB = 1_000_000
_GROUPS = (
    ("prompt", ("tokens",)),
    ("index", ("MB", "B/token")),
    ("other prompts", ("in the index",)),
    *((lookup.value, ("found", "ms")) for lookup in Lookup),
)


@dataclass(frozen=True, slots=True)
class LookupConditions(Surroundings):
    """Where and how a run was made."""

    page_tokens: int
    repeats: int


def verdicts(sizes: Sequence[LookupSize]) -> tuple[Verdict, ...]:
    """The slowest look-up of a prompt of BAR_TOKENS, whatever stands beside it (design §5); none
    where no prompt had that size."""
    times = [
        (found.time_s, f"{lookup.value}, others: {result.others}")
        for size in sizes
        if size.prompt_tokens == BAR_TOKENS
        for result in size.trees.values()
        for lookup, found in result.found.items()
    ]
    if not times:
        return ()
    slowest, which = max(times, key=lambda each: each[0].median)
    what = f"slowest look-up ({which})"
    return (Verdict(what, BAR_TOKENS, _milliseconds(slowest), BAR_MS, "ms"),)


def render(sizes: Sequence[LookupSize], conditions: LookupConditions) -> str:
    """The conditions, the table and the bar, ready to print."""
    judged = verdicts(sizes)
    return "\n".join(
        [
            f"device    cores: {conditions.cores}, load before: {conditions.load_before:.2f}",
            *software(conditions),
            "",
            *table(_GROUPS, [row for size in sizes for row in _rows(size)]),
            "",
            "found: tokens of the prompt that the index knows. Times are medians of "
            f"{conditions.repeats}.",
            f"index: memory of the prompt's own pages, of {conditions.page_tokens} tokens each.",
            "",
            *against_bars(judged, "look-up"),
        ]
    )


def to_json(sizes: Sequence[LookupSize], conditions: LookupConditions) -> dict[str, Any]:
    """Everything measured. Times in seconds, memory in bytes, the verdict in its unit."""
    judged = verdicts(sizes)
    return {
        "schema": SCHEMA,
        "schema_version": SCHEMA_VERSION,
        "conditions": asdict(conditions),
        "sizes": [
            {
                "prompt_tokens": size.prompt_tokens,
                "index_bytes": size.index_bytes,
                "bytes_per_token": size.bytes_per_token,
                "trees": {_key(tree): _tree_json(result) for tree, result in size.trees.items()},
            }
            for size in sizes
        ],
        "verdicts": verdicts_json(judged),
    }


def _tree_json(result: TreeResult) -> dict[str, Any]:
    return {
        "num_others": result.num_others,
        "num_pages": result.num_pages,
        "lookups": {
            _key(lookup): {
                "found_tokens": found.num_tokens,
                "time_s": asdict(found.time_s),
                "seconds": found.seconds,
            }
            for lookup, found in result.found.items()
        },
    }


def _key(name: Tree | Lookup) -> str:
    return name.name.lower()


def _milliseconds(value: Estimate) -> Estimate:
    return Estimate(1000 * value.median, 1000 * value.low, 1000 * value.high, value.n)


def _rows(size: LookupSize) -> Iterator[tuple[str, ...]]:
    weight = (f"{size.index_bytes / _MB:,.2f}", f"{size.bytes_per_token:.1f}")
    for result in size.trees.values():
        yield (
            f"{size.prompt_tokens:,}",
            *weight,
            result.others,
            *(
                cell
                for found in result.found.values()
                for cell in (f"{found.num_tokens:,}", f"{1000 * found.time_s.median:.2f}")
            ),
        )
        weight = ("", "")
