"""A run as a table for people and as JSON for programs."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from app.bench.results import Conditions, Results, SizeResult, WarmSummary
from app.bench.stats import MIN_PAIRS
from app.bench.verdicts import Verdict, verdicts
from app.console import say

SCHEMA = "ondol-bench-warm"
SCHEMA_VERSION = 1

Groups = Sequence[tuple[str, Sequence[str]]]

_GAP = "  "
_GROUPS = (
    ("prompt", ("tokens",)),
    ("cold, ms", ("Ondol", "mlx-lm", "ratio")),
    ("same prompt again, ms", ("cached", "warm", "of cold", "saving", "limit", "ratio")),
    ("next question, ms", ("cached", "new", "warm", "of cold", "limit", "ratio")),
)


def render(results: Results) -> str:
    """The conditions, the table and the verdicts, ready to print."""
    judged = verdicts(results.sizes)
    missed = sum(not verdict.met for verdict in judged)
    return "\n".join(
        [
            *describe(results.conditions),
            "",
            *table(_GROUPS, [_cells(size) for size in results.sizes]),
            "",
            *_legend(results),
            "",
            "Against the bars",
            *(verdict_line(verdict) for verdict in judged),
            "",
            f"{len(judged) - missed} of {len(judged)} bars met, {missed} missed.",
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
        "verdicts": [
            asdict(verdict) | {"met": verdict.met, "unsure": verdict.unsure}
            for verdict in verdicts(results.sizes)
        ],
    }


def present(text: str, data: Mapping[str, Any], json_file: Path | None) -> None:
    """Print a report, and write its data where somebody wants it. Raises OSError."""
    say("")
    say(text)
    if json_file is not None:
        write_whole(data, json_file)


def write_whole(data: Mapping[str, Any], path: Path) -> None:
    """Write JSON whole or not at all. Raises OSError."""
    fd, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name)
    try:
        with os.fdopen(fd, "w", encoding="utf-8") as file:
            json.dump(data, file, indent=1)
            file.write("\n")
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


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


def describe(conditions: Conditions) -> list[str]:
    """Lines that say on what a run was made."""
    device, versions = conditions.device, conditions.versions
    blas = f"{device['blas']}, threads: {device['blas_threads']}" if device["blas"] else "none"
    return [
        f"model     {conditions.model}, {conditions.dtype}",
        f"device    {device['kind']}: {device['name']}, cores: {conditions.cores}, "
        f"load before: {conditions.load_before:.2f}",
        f"BLAS      {blas} (the same on both sides)",
        "versions  " + ", ".join(f"{name} {version}" for name, version in versions.items()),
        f"          on {conditions.platform}",
        *(f"warning   {warning}" for warning in device["warnings"]),
    ]


def table(groups: Groups, rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines of a table whose columns stand in titled groups, every cell at its column's right. A
    line of dashes stands for no rows."""
    names = [name for _, columns in groups for name in columns]
    rows = rows or [["-"] * len(names)]
    widths = [max(len(name), *(len(row[at]) for row in rows)) for at, name in enumerate(names)]
    titles, at = [], 0
    for title, columns in groups:
        last = at + len(columns) - 1
        text = f" {title} " if len(columns) > 1 else title
        width = sum(widths[at : last + 1]) + len(_GAP) * (last - at)
        widths[last] += max(0, len(text) - width)
        width = max(width, len(text))
        titles.append(text.center(width, "-") if len(columns) > 1 else text.rjust(width))
        at = last + 1
    return [_GAP.join(titles), *(_aligned(row, widths) for row in (names, *rows))]


def _aligned(cells: Sequence[str], widths: Sequence[int]) -> str:
    return _GAP.join(cell.rjust(width) for cell, width in zip(cells, widths, strict=True))


def _cells(size: SizeResult) -> list[str]:
    same, another = size.same, size.another
    return [
        f"{size.prompt_tokens:,}",
        _ms(size.cold_s),
        _ms(size.plain_s),
        f"{size.cold_over_plain.median:.2f}",
        f"{same.cached_tokens:,}",
        _ms(same.ttft_s),
        f"{same.over_cold.median:.3f}",
        f"{100 * same.saving:.1f} %",
        _ms(same.limit_s),
        f"{same.over_limit.median:.2f}",
        f"{another.cached_tokens:,}",
        f"{another.computed_tokens:,}",
        _ms(another.ttft_s),
        f"{another.over_cold.median:.3f}",
        _ms(another.limit_s),
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


def verdict_line(verdict: Verdict, sample: str = "pair") -> str:
    """For people; `sample` names what the figure is the median of."""
    sign = "≥" if verdict.at_least else "≤"
    unit = f" {verdict.unit}" if verdict.unit in ("ms", "%") else ""
    value = verdict.value
    text = (
        f"  {'met   ' if verdict.met else 'MISSED'}  {verdict.prompt_tokens:>5,} tokens  "
        f"{verdict.what} {_number(value.median, verdict)}{unit} (bar {sign} {verdict.bar:g}{unit})"
    )
    if verdict.unsure:
        return f"{text}; too near for {_counted(value.n, sample)}: judge with --pairs {MIN_PAIRS}"
    if value.n >= MIN_PAIRS and value.low < value.high:
        interval = f"{_number(value.low, verdict)} to {_number(value.high, verdict)}"
        return f"{text}; 95 % interval {interval}, {_counted(value.n, sample)}"
    return text


def _number(value: float, verdict: Verdict) -> str:
    match verdict.unit:
        case "":
            return f"{value:.3f}"
        case "tokens":
            return f"{value:.0f}"
        case _:
            return f"{value:.1f}"


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _ms(seconds: float) -> str:
    return f"{1000 * seconds:,.0f}"
