"""A run of `ondol bench partial` as tables for people and as JSON for programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from app.bench.conditions import Conditions
from app.bench.partial import BlockResult, ColdResult, PartialResults, SightingResult
from app.bench.report import describe, ms, table
from app.bench.verdict import Verdict, against_bars, counted, scaled, verdicts_json

SCHEMA = "ondol-bench-partial"
SCHEMA_VERSION = 1

JUDGED_BLOCK = 1_024
SAVING = 28.5  # percent, the article's (S1-11)
COLD_FACTOR = 1.07
FOUND_PERCENT = 90

_COLD_COLUMNS = (
    ("cold prompt", ("tokens",)),
    ("ms", ("Ondol", "cache off", "mlx-lm")),
    ("Ondol over", ("cache off", "mlx-lm")),
)
_BLOCK_COLUMNS = (
    ("block", ("tokens",)),
    ("whole blocks", ("found", "computed", "ms")),
    ("partial hits", ("found", "computed", "ms")),
    ("saved", ("",)),
)
_SIGHTING_COLUMNS = (
    ("prompt", ("tokens",)),
    ("first sighting, ms", ("Ondol", "cache off", "ratio")),
    ("second sighting", ("found", "share", "ms")),
)


@dataclass(frozen=True, slots=True)
class PartialConditions:
    """Where and how a run was made: `layers` are the model's, `rounds` of `common` the pairs and
    its `repeats` the sightings."""

    common: Conditions
    layers: str
    added_tokens: int


def verdicts(results: PartialResults) -> tuple[Verdict, ...]:
    """Every bar that applies to what was measured."""
    cold = results.cold
    return (
        Verdict("cold / cache off", cold.prompt_tokens, cold.over_no_cache, COLD_FACTOR),
        Verdict("cold / plain mlx-lm", cold.prompt_tokens, cold.over_plain, COLD_FACTOR),
        *(_saving(result) for result in results.blocks if JUDGED_BLOCK in result.blocks),
        *(_found(result) for result in results.sightings),
    )


def render(results: PartialResults, conditions: PartialConditions) -> str:
    """The conditions, the tables and the verdicts, ready to print."""
    judged = verdicts(results)
    common = conditions.common
    return "\n".join(
        [
            *describe(common),
            f"layers    {conditions.layers}",
            "",
            *table(_COLD_COLUMNS, [_cold_cells(results.cold)]),
            "",
            f"The same prompt and {conditions.added_tokens} tokens more",
            *table(_BLOCK_COLUMNS, [_block_cells(result) for result in results.blocks]),
            "",
            "Another prompt, twice",
            *table(_SIGHTING_COLUMNS, [_sighting_cells(result) for result in results.sightings]),
            "",
            "Time to the first token, from tokens on all sides. Medians; ratios are medians of",
            f"pairs. Pairs: {common.rounds}, sightings: {common.repeats}, prefill chunk: "
            f"{common.prefill_chunk} tokens on all sides.",
            "whole blocks: the cache was shown no more of the prompt than its whole blocks.",
            "",
            *against_bars(judged),
        ]
    )


def to_json(results: PartialResults, conditions: PartialConditions) -> dict[str, Any]:
    """Everything measured. Times in seconds, units of verdicts as given with each."""
    cold = results.cold
    return {
        "schema": SCHEMA,
        "schema_version": SCHEMA_VERSION,
        "conditions": asdict(conditions.common)
        | {"layers": conditions.layers, "added_tokens": conditions.added_tokens},
        "cold": {
            "prompt_tokens": cold.prompt_tokens,
            "ondol_s": cold.ondol_s,
            "no_cache_s": cold.no_cache_s,
            "plain_s": cold.plain_s,
            "over_no_cache": asdict(cold.over_no_cache),
            "over_plain": asdict(cold.over_plain),
            "pairs": [asdict(pair) for pair in cold.pairs],
        },
        "blocks": [_block_json(result) for result in results.blocks],
        "sightings": [_sighting_json(result) for result in results.sightings],
        "verdicts": verdicts_json(verdicts(results)),
    }


def _saving(result: BlockResult) -> Verdict:
    return Verdict(
        f"saved by partial hits, blocks of {JUDGED_BLOCK:,}",
        result.prompt_tokens,
        scaled(result.over_blocks, -100, 100),
        SAVING,
        "%",
        at_least=True,
    )


def _found(result: SightingResult) -> Verdict:
    value = counted(100 * result.found_share)
    return Verdict(
        "second sighting, found", result.prompt_tokens, value, FOUND_PERCENT, "%", at_least=True
    )


def _block_json(result: BlockResult) -> dict[str, Any]:
    return {
        "blocks": result.blocks,
        "prompt_tokens": result.prompt_tokens,
        "known_tokens": result.known_tokens,
        "partial_found_tokens": result.partial_found,
        "blocks_s": result.blocks_s,
        "partial_s": result.partial_s,
        "over_blocks": asdict(result.over_blocks),
        "pairs": [asdict(pair) for pair in result.pairs],
    }


def _sighting_json(result: SightingResult) -> dict[str, Any]:
    return {
        "prompt_tokens": result.prompt_tokens,
        "first_s": result.first_s,
        "no_cache_s": result.no_cache_s,
        "second_s": result.second_s,
        "over_no_cache": asdict(result.over_no_cache),
        "found_tokens": result.found_tokens,
        "sightings": [asdict(one) for one in result.sightings],
    }


def _cold_cells(cold: ColdResult) -> Sequence[str]:
    return [
        f"{cold.prompt_tokens:,}",
        ms(cold.ondol_s),
        ms(cold.no_cache_s),
        ms(cold.plain_s),
        f"{cold.over_no_cache.median:.3f}",
        f"{cold.over_plain.median:.3f}",
    ]


def _block_cells(result: BlockResult) -> Sequence[str]:
    def hit(found: int, seconds: float) -> list[str]:
        return [f"{found:,}", f"{result.prompt_tokens - found:,}", ms(seconds)]

    return [
        ", ".join(f"{block:,}" for block in result.blocks),
        *hit(result.known_tokens, result.blocks_s),
        *hit(result.partial_found, result.partial_s),
        f"{100 - 100 * result.over_blocks.median:.1f} %",
    ]


def _sighting_cells(result: SightingResult) -> Sequence[str]:
    return [
        f"{result.prompt_tokens:,}",
        ms(result.first_s),
        ms(result.no_cache_s),
        f"{result.over_no_cache.median:.2f}",
        f"{result.found_tokens:,}",
        f"{100 * result.found_share:.1f} %",
        ms(result.second_s),
    ]
