"""What a run of `ondol bench batch` says, from known figures."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from app.bench.batch import (
    BatchPlan,
    BatchResults,
    ChunkPlan,
    ChunkResult,
    Knee,
    Point,
    SimulatedPlan,
    SimulatedResults,
    Sweep,
    SweepPlan,
)
from app.bench.batch_report import render, to_json
from app.bench.batch_traffic import Traffic
from app.bench.batch_verdicts import verdicts
from app.bench.conditions import Conditions
from app.bench.simulation.model import A100_8B
from engine.config import AdmissionMode

MODES = (AdmissionMode.MAX_THROUGHPUT, AdmissionMode.PROTECT_CACHE)
SIMULATED = SweepPlan(
    Traffic(52, 640, (512, 1_024), one_off_share=0.2),
    46_000,
    (8, 32, 64, 128),
    MODES,
    requests=300,
    rounds=3,
)
MEASURED = SweepPlan(Traffic(8, 240, (12, 20)), 2_000, (1, 4, 8), MODES, 32, 4)
PLAN = BatchPlan(
    SimulatedPlan(
        A100_8B,
        SIMULATED,
        Knee(32, 64),
        replace(SIMULATED, clients=(8,)),
        ChunkPlan(Traffic(8, 4_096, (128, 384)), 48_000, 32, (512,), 64),
    ),
    MEASURED,
)


def point(
    clients: int, hit_rate: float, tokens_per_s: float, *, ttft_s: float = 0.1, preempted: int = 0
) -> Point:
    return Point(
        clients=clients,
        requests=300,
        hit_rate=hit_rate,
        ttft_p50_s=ttft_s,
        ttft_p99_s=3.5,
        gap_p50_s=0.017,
        gap_p99_s=0.061,
        longest_gap_s=4.2,
        tokens_per_s=tokens_per_s,
        preemptions=preempted,
        most_preempted=preempted // 10,
        recomputed_tokens=100 * preempted,
        evicted_pages=1_234,
        most_running=42,
        mean_running=7.9,
        running_share=0.65,
    )


def results(
    *,
    after: float = 0.31,
    redrawn: tuple[float, ...] = (),
    late_rate: float = 2_200.0,
    kept: float = 0.6,
    preempted: int = 0,
) -> BatchResults:
    unprotected = Sweep(
        MODES[0],
        (
            point(8, 0.62, 600),
            point(32, 0.58, 1_900),
            point(64, after, late_rate, preempted=195),
            point(128, after, late_rate, preempted=323),
        ),
    )
    protected = Sweep(
        MODES[1],
        tuple(point(clients, kept, 1_000) for clients in (32, 64, 128)),
    )
    protected = replace(protected, points=(point(8, 0.62, 600), *protected.points))
    measured = Sweep(
        MODES[1],
        (point(1, 0.8, 12), point(4, 0.79, 30), point(8, 0.78, 40, preempted=preempted)),
    )
    chunks = (
        ChunkResult(512, point(32, 0.5, 900)),
        ChunkResult(None, replace(point(32, 0.5, 910), gap_p99_s=0.433)),
    )
    return BatchResults(
        SimulatedResults(
            (unprotected, protected),
            chunks,
            point(8, 0.62, 600),
            point(8, 0.0, 500, ttft_s=0.2),
            tuple(
                Sweep(MODES[0], (point(32, 0.58, 1_900), point(64, rate, 2_100)))
                for rate in redrawn
            ),
        ),
        (replace(measured, mode=MODES[0]), measured),
    )


def met(found: BatchResults) -> dict[str, bool]:
    return {verdict.what: verdict.met for verdict in verdicts(found, PLAN)}


def test_every_bar_is_judged() -> None:
    assert met(results()) == {
        "simulated, max throughput: points of hit rate lost from 32 to 64 clients": True,
        "simulated, max throughput: tokens/s with 64 clients / with 32": True,
        "simulated, protect cache: lowest hit rate, of that with 8 clients": True,
        "simulated, protect cache: preemptions, of all requests": True,
        "simulated, 8 clients: first token saved beside prompts that share nothing": True,
        "measured, protect cache: lowest hit rate, of that with 1 clients": True,
        "measured, protect cache: preemptions, of all requests": True,
    }


@pytest.mark.parametrize(
    ("found", "missed"),
    [
        (results(after=0.34), "points of hit rate lost"),
        (results(late_rate=1_800.0), "tokens/s with 64 clients"),
        (results(kept=0.55), "simulated, protect cache: lowest hit rate"),
        (results(preempted=1), "measured, protect cache: preemptions"),
    ],
)
def test_each_bar_can_be_missed(found: BatchResults, missed: str) -> None:
    assert [missed in what for what, is_met in met(found).items() if not is_met] == [True]


@pytest.mark.parametrize(("redrawn", "is_met"), [((0.32, 0.4), True), ((0.35, 0.4), False)])
def test_the_median_draw_decides(redrawn: tuple[float, float], is_met: bool) -> None:
    """Of 27 points lost with the first seed, and 26 or 23 and 18 with the others."""
    found = met(results(redrawn=redrawn))
    assert found["simulated, max throughput: points of hit rate lost from 32 to 64 clients"] == (
        is_met
    )


def test_the_report_tells_everything(conditions: Conditions) -> None:
    said = render(results(redrawn=(0.4, 0.35)), conditions, PLAN)
    assert "Prompts of 640 tokens, 80 % of them the system prompt of one of 52 assistants;" in said
    assert "Measured on Tiny-1B" in said
    lines = [line.split() for line in said.splitlines()]
    # Clients; then the article's figure, without protection and with it, for each of four.
    rows = (
        "64 31 31 60 490 100 100 6,400 3,500 3,500 1,150 2,200 1,000",
        "64 300 31.0 100 3,500 2,200 195 1,234 7.9 65 42",
        "1 58.0 31.0 27.0 1,900 2,200",
        "3 58.0 35.0 23.0 1,900 2,100",
        "512 100 3,500 17 61 4,200 900 0 0 0",
        "whole 100 3,500 17 433 4,200 910 0 0 0",
    )
    assert all(row.split() in lines for row in rows)
    assert ["2,048", "188"] in lines
    assert ["8,192", "47"] in lines
    assert "6 of 7 bars met, 1 missed." in said


def test_the_json_has_every_point(conditions: Conditions) -> None:
    found = results(redrawn=(0.4, 0.35))
    data = json.loads(json.dumps(to_json(found, conditions, PLAN)))
    assert data["simulated"]["seeds"] == [1, 2, 3]
    assert [each["points"][1]["hit_rate"] for each in data["simulated"]["redrawn"]] == [0.4, 0.35]
    assert (data["schema"], data["schema_version"]) == ("ondol-bench-batch", 1)
    sweep = data["simulated"]["sweeps"][0]
    assert sweep["mode"] == "max-throughput"
    assert [each["preemptions"] for each in sweep["points"]] == [0, 0, 195, 323]
    assert [each["chunk"] for each in data["simulated"]["chunks"]] == [512, None]
    assert len(data["measured"]["sweeps"]) == 2
    assert data["example"] == {"2048": 188, "8192": 47}
    assert [each["hit_rate"] for each in data["article"]] == [0.65, 0.6, 0.31, 0.18]
    assert len(data["verdicts"]) == 7
