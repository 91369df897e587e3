"""A run of `ondol bench warm` as a table for people and as JSON for programs."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from app.bench.report import describe, ms, table
from app.bench.verdict import against_bars, verdicts_json
from app.bench.warm_results import Results, SizeResult, WarmSummary
from app.bench.warm_verdicts import verdicts

SCHEMA = "ondol-bench-warm"
SCHEMA_VERSION = 1

_GROUPS = (
    ("prompt", ("tokens",)),
    ("cold, ms", ("Ondol", "mlx-lm", "ratio")),
    ("same prompt again, ms", ("cached", "warm", "of cold", "saving", "limit", "ratio")),
    ("next question, ms", ("cached", "new", "warm", "of cold", "limit", "ratio")),
)


def render(results: Results) -> str:
    """The conditions, the table and the verdicts, ready to print."""
    judged = verdicts(results.sizes)
    return "\n".join(
        [
            *describe(results.conditions),
            "",
            *table(_GROUPS, [_cells(size) for size in results.sizes]),
            "",
            *_legend(results),
            "",
            *against_bars(judged),
        ]
    )


def to_json(results: Results) -> dict[str, Any]:
    """Everything measured: conditions, every sample, medians, ratios, verdicts. Times in seconds,
    units of verdicts as given with each."""
    return {
        "schema": SCHEMA,
        "schema_version": SCHEMA_VERSION,
        "conditions": asdict(results.conditions),
        "sizes": [_size_json(size) for size in results.sizes],
        "verdicts": verdicts_json(verdicts(results.sizes)),
    }


def _size_json(size: SizeResult) -> dict[str, Any]:
    return {
        "target": size.target,
        "prompt_tokens": size.prompt_tokens,
        "cold": {
            "cached_tokens": size.cold_cached_tokens,
            "ttft_s": size.cold_s,
            "plain_s": size.plain_s,
            "over_plain": asdict(size.cold_over_plain),
        },
        "same": _warm_json(size.same),
        "another": _warm_json(size.another),
        "rounds": [asdict(one) for one in size.rounds],
    }


def _warm_json(warm: WarmSummary) -> dict[str, Any]:
    return asdict(warm) | {"saving": warm.saving}


def _cells(size: SizeResult) -> list[str]:
    same, another = size.same, size.another
    return [
        f"{size.prompt_tokens:,}",
        ms(size.cold_s),
        ms(size.plain_s),
        f"{size.cold_over_plain.median:.2f}",
        f"{same.cached_tokens:,}",
        ms(same.ttft_s),
        f"{same.over_cold.median:.3f}",
        f"{100 * same.saving:.1f} %",
        ms(same.limit_s),
        f"{same.over_limit.median:.2f}",
        f"{another.cached_tokens:,}",
        f"{another.computed_tokens:,}",
        ms(another.ttft_s),
        f"{another.over_cold.median:.3f}",
        ms(another.limit_s),
        f"{another.over_limit.median:.2f}",
    ]


def _legend(results: Results) -> list[str]:
    conditions = results.conditions
    lines = [
        "Time to the first token; Ondol's over HTTP, mlx-lm's from tokens. Medians; ratios are",
        f"medians of pairs. Rounds: {conditions.rounds}, warm requests of a kind in each: "
        f"{conditions.repeats}, prefill chunk: {conditions.prefill_chunk} tokens on both sides.",
        "limit: plain mlx-lm computes the uncached tokens with all other KV in place.",
    ]
    found = max(size.cold_cached_tokens for size in results.sizes)
    if found:
        lines.append(f"Not quite cold: a cold request found {found} tokens in the cache.")
    return lines
