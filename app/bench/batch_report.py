"""A run of `ondol bench batch` as tables for people and as JSON for programs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from typing import Any

from app.bench.batch import (
    ARTICLE,
    EXAMPLE_TOKENS,
    BatchPlan,
    BatchResults,
    ChunkPlan,
    ChunkResult,
    Knee,
    Point,
    Quoted,
    SimulatedPlan,
    SimulatedResults,
    Sweep,
    SweepPlan,
    article_example,
    sweep_of,
)
from app.bench.batch_traffic import Traffic
from app.bench.batch_verdicts import verdicts
from app.bench.conditions import Conditions
from app.bench.report import describe, ms, table
from app.bench.verdict import against_bars, verdicts_json
from engine.config import AdmissionMode

SCHEMA = "ondol-bench-batch"
SCHEMA_VERSION = 1

_SWEEP_COLUMNS = (
    ("clients", ("",)),
    ("requests", ("",)),
    ("found", ("%",)),
    ("first token, ms", ("p50", "p99")),
    ("answers", ("tokens/s",)),
    ("preempted", ("",)),
    ("evicted", ("pages",)),
    ("running", ("mean", "% of pool")),
    ("B_max", ("",)),
)
_COMPARED_MODES = (AdmissionMode.MAX_THROUGHPUT, AdmissionMode.PROTECT_CACHE)
_SIDES = ("article", *(mode.value for mode in _COMPARED_MODES))
_ARTICLE_COLUMNS = (
    ("clients", ("",)),
    ("found, %", _SIDES),
    ("first token p50, ms", _SIDES),
    ("first token p99, ms", _SIDES),
    ("tokens/s", _SIDES),
)
_KNEE_COLUMNS = (
    ("seed", ("",)),
    ("found, %", ("before", "after")),
    ("lost", ("points",)),
    ("tokens/s", ("before", "after")),
)
_CHUNK_COLUMNS = (
    ("prompts in", ("tokens",)),
    ("first token, ms", ("p50", "p99")),
    ("between two tokens, ms", ("p50", "p99", "longest")),
    ("answers", ("tokens/s",)),
    ("preempted", ("all", "within 1 s")),
    ("computed again", ("tokens",)),
)
_EXAMPLE_COLUMNS = (("mean context", ("tokens",)), ("B_max", ("",)))


def render(results: BatchResults, conditions: Conditions, plan: BatchPlan) -> str:
    """The conditions, the tables and the verdicts, ready to print."""
    judged = verdicts(results, plan)
    return "\n".join(
        [
            *describe(conditions),
            "",
            *_simulated_lines(results.simulated, plan.simulated),
            f"Measured on {conditions.model}",
            *_sweep_lines(results.measured, plan.measured),
            "The article's example of B_max (S3-5): 47 GiB for running requests of Llama-3-8B",
            *table(
                _EXAMPLE_COLUMNS,
                [[f"{tokens:,}", f"{article_example(tokens)}"] for tokens in EXAMPLE_TOKENS],
            ),
            "",
            *against_bars(judged, "run"),
        ]
    )


def to_json(results: BatchResults, conditions: Conditions, plan: BatchPlan) -> dict[str, Any]:
    """Everything found. Times in seconds, shares of one, verdicts in their units."""
    simulated = results.simulated
    return {
        "schema": SCHEMA,
        "schema_version": SCHEMA_VERSION,
        "conditions": asdict(conditions),
        "simulated": {
            "model": asdict(plan.simulated.model),
            "plan": plan.simulated.sweep.to_json(),
            "sweeps": [sweep.to_json() for sweep in simulated.sweeps],
            "seeds": plan.simulated.seeds,
            "redrawn": [sweep.to_json() for sweep in simulated.redrawn],
            "chunked": plan.simulated.chunked.to_sweep().to_json(),
            "chunks": [asdict(each) for each in simulated.chunks],
            "few": asdict(simulated.few),
            "few_distinct": asdict(simulated.few_distinct),
        },
        "measured": {
            "plan": plan.measured.to_json(),
            "sweeps": [sweep.to_json() for sweep in results.measured],
        },
        "article": [asdict(quoted) for quoted in ARTICLE],
        "example": {str(tokens): article_example(tokens) for tokens in EXAMPLE_TOKENS},
        "verdicts": verdicts_json(verdicts(results, plan)),
    }


def _simulated_lines(results: SimulatedResults, plan: SimulatedPlan) -> Iterator[str]:
    yield f"Simulated: {plan.model.name}"
    yield from _sweep_lines(results.sweeps, plan.sweep)
    yield from _article_lines(results.sweeps, plan.sweep)
    yield from _knee_lines(results.unprotected, plan)
    yield from _chunk_lines(results.chunks, plan.chunked)
    few, distinct = results.few, results.few_distinct
    yield (
        f"{few.clients} clients with prompts of {plan.few.traffic.prompt_tokens:,} tokens: first "
        f"token p50 {ms(few.ttft_p50_s)} ms, {ms(distinct.ttft_p50_s)} where they share nothing."
    )
    yield ""


def _sweep_lines(sweeps: Sequence[Sweep], plan: SweepPlan) -> Iterator[str]:
    yield from _traffic_lines(plan.traffic, plan.pool_tokens)
    for sweep in sweeps:
        yield ""
        yield sweep.mode.value
        yield from table(_SWEEP_COLUMNS, [_sweep_cells(point) for point in sweep.points])
    yield ""


def _traffic_lines(traffic: Traffic, pool_tokens: int) -> Iterator[str]:
    least, most = traffic.answer_tokens
    yield (
        f"Prompts of {traffic.prompt_tokens:,} tokens, {100 * traffic.common_share:.0f} % of them "
        f"the system prompt of one of {traffic.assistants} assistants;"
    )
    yield (
        f"{100 * traffic.one_off_share:.0f} % of the prompts share nothing. Answers of {least:,} "
        f"to {most:,} tokens. A pool of {pool_tokens:,} tokens."
    )


def _sweep_cells(point: Point) -> Sequence[str]:
    return [
        f"{point.clients}",
        f"{point.requests:,}",
        f"{100 * point.hit_rate:.1f}",
        ms(point.ttft_p50_s),
        ms(point.ttft_p99_s),
        _rate(point.tokens_per_s),
        f"{point.preemptions:,}",
        f"{point.evicted_pages:,}",
        f"{point.mean_running:.1f}",
        f"{100 * point.running_share:.0f}",
        f"{point.most_running}",
    ]


_FIGURES: Sequence[Callable[[Point | Quoted], str]] = (
    lambda row: f"{100 * row.hit_rate:.0f}",
    lambda row: ms(row.ttft_p50_s),
    lambda row: ms(row.ttft_p99_s),
    lambda row: _rate(row.tokens_per_s),
)


def _article_lines(sweeps: Sequence[Sweep], plan: SweepPlan) -> Iterator[str]:
    """As far as its numbers of clients were simulated, and both modes were."""
    found = [sweep_of(sweeps, mode) for mode in _COMPARED_MODES]
    compared = [sweep for sweep in found if sweep is not None]
    rows = [_article_cells(row, compared) for row in ARTICLE if row.clients in plan.clients]
    if rows and len(compared) == len(_COMPARED_MODES):
        yield "Beside the article's table (S3-6)"
        yield from table(_ARTICLE_COLUMNS, rows)
        yield ""


def _article_cells(quoted: Quoted, sweeps: Sequence[Sweep]) -> Sequence[str]:
    sides: list[Point | Quoted] = [quoted]
    sides += [sweep.at(quoted.clients) for sweep in sweeps]
    return [f"{quoted.clients}", *(figure(side) for figure in _FIGURES for side in sides)]


def _knee_lines(sweeps: Sequence[Sweep], plan: SimulatedPlan) -> Iterator[str]:
    knee = plan.knee
    yield f"Max throughput across the knee, from {knee.before} to {knee.after} clients"
    rows = zip(plan.seeds, sweeps, strict=False)  # no sweeps where the mode was left out
    yield from table(_KNEE_COLUMNS, [_knee_cells(seed, sweep, knee) for seed, sweep in rows])
    yield ""


def _knee_cells(seed: int, sweep: Sweep, knee: Knee) -> Sequence[str]:
    before, after = sweep.at(knee.before), sweep.at(knee.after)
    return [
        f"{seed}",
        f"{100 * before.hit_rate:.1f}",
        f"{100 * after.hit_rate:.1f}",
        f"{sweep.fall(knee):.1f}",
        _rate(before.tokens_per_s),
        _rate(after.tokens_per_s),
    ]


def _chunk_lines(results: Sequence[ChunkResult], plan: ChunkPlan) -> Iterator[str]:
    yield f"Prompts in chunks and whole: max throughput, {plan.clients} clients, long prompts"
    yield from _traffic_lines(plan.traffic, plan.pool_tokens)
    yield from table(_CHUNK_COLUMNS, [_chunk_cells(each) for each in results])
    yield ""


def _chunk_cells(result: ChunkResult) -> Sequence[str]:
    point = result.point
    return [
        "whole" if result.chunk is None else f"{result.chunk:,}",
        ms(point.ttft_p50_s),
        ms(point.ttft_p99_s),
        ms(point.gap_p50_s),
        ms(point.gap_p99_s),
        ms(point.longest_gap_s),
        _rate(point.tokens_per_s),
        f"{point.preemptions:,}",
        f"{point.most_preempted:,}",
        f"{point.recomputed_tokens:,}",
    ]


def _rate(tokens_per_s: float) -> str:
    return f"{tokens_per_s:,.0f}" if tokens_per_s >= 100 else f"{tokens_per_s:.1f}"
