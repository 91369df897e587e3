"""The figures of a household, from known segments."""

from __future__ import annotations

import pytest

from app.bench.house import OFF, ON, CaseResult, Pair, Segment, Turn
from app.bench.server_metrics import Reading, read
from engine.metrics import EngineMetrics
from engine.snapshot import Memory, Snapshot


def turn(client: int, number: int, cached: int, ttft_s: float) -> Turn:
    return Turn(client, number, "chat", 500, cached, ttft_s)


def segment(
    *turns: Turn, seconds: float = 30.0, prefill_s: float = 10.0, evicted: int = 0, most: int = 9
) -> Segment:
    """Turns whose tokens the server has counted as the clients did."""
    before = Reading(prompt_tokens=1_000, reused_tokens=100, prefill_s=5.0, evicted_pages=7)
    after = Reading(
        prompt_tokens=1_000 + sum(each.prompt_tokens for each in turns),
        reused_tokens=100 + sum(each.cached_tokens for each in turns),
        prefill_s=5.0 + prefill_s,
        evicted_pages=7 + evicted,
        preemptions=1,
    )
    return Segment(turns, seconds, before, after, most)


def test_ratios_are_over_the_questions_that_both_sides_answered() -> None:
    on = segment(turn(0, 0, 0, 2.0), turn(0, 1, 400, 0.5), turn(0, 2, 490, 0.1))
    off = segment(turn(0, 0, 0, 3.0), turn(0, 1, 0, 2.0), turn(1, 0, 0, 9.0))
    pair = Pair(on, off)
    assert [(one.number, other.number) for one, other in pair.common] == [(0, 0), (1, 1)]
    assert pair.ttft_ratio == 2.5 / 5.0
    assert pair.computed_ratio == (500 + 100) / (500 + 500)


def test_pairs_without_a_common_question_are_empty() -> None:
    assert Pair(segment(turn(0, 0, 0, 1.0)), segment(turn(1, 0, 0, 1.0))).common == ()


def test_the_six_figures() -> None:
    on = segment(
        turn(0, 0, 0, 2.0), turn(0, 1, 400, 0.4), turn(1, 0, 350, 0.6), prefill_s=3.0, evicted=60
    )
    again = segment(turn(0, 0, 450, 0.2), prefill_s=0.5, evicted=30, most=11)
    off = segment(turn(0, 0, 0, 2.0), turn(0, 1, 400, 0.4))
    case = CaseResult(2, (Pair(on, off), Pair(again, off)))
    figures = case.figures(ON)
    assert figures.requests == 4
    assert figures.reused_tokens == 400 + 350 + 450
    assert figures.hit_rate == 1_200 / 2_000
    assert figures.ttft_p50_s == 0.5
    assert figures.ttft_p95_s == 2.0
    assert figures.prefill_rate == pytest.approx(800 / 3.5)
    assert figures.most_kv_bytes == 11
    assert figures.evictions_per_minute == 90
    assert figures.preemptions == 2
    assert case.figures(OFF).hit_rate == 800 / 2_000
    assert case.ttft_ratio.median == pytest.approx((2.4 / 2.4 + 0.2 / 2.0) / 2)
    assert case.ttft_ratio.n == 2
    assert case.computed_ratio.median == pytest.approx((600 / 600 + 50 / 500) / 2)
    assert case.prompt_tokens == 500


def test_what_the_server_has_counted() -> None:
    metrics = EngineMetrics("Tiny-1B")
    metrics.configured(
        16, 512, kv_budget=4_096, weights=2_048, dtype="float32", peak_memory=lambda: 9_000
    )
    metrics.admitted(500, 400, 16)
    metrics.admitted(300, 0, 16)
    metrics.evicted(3, 1_000, "room", "ordinary")
    metrics.evicted(2, 500, "share", "background")
    metrics.preempted()
    snapshot = Snapshot(memory=Memory(budget=4_096, running=1_024, resident=512))
    body, _ = metrics.render(snapshot)
    assert read(body.decode()) == Reading(
        prompt_tokens=800,
        reused_tokens=400,
        prefill_s=0.0,
        evicted_pages=5,
        preemptions=1,
        kv_bytes=1_536,
        budget_bytes=4_096,
        weights_bytes=2_048,
        process_peak_bytes=9_000,
    )


def test_an_engine_that_has_counted_nothing() -> None:
    assert read("") == Reading()
