"""What the dashboard computes: ten minutes of seconds, a day of quarters, and today."""

from __future__ import annotations

import math
import time
from dataclasses import replace

import pytest

from app.gui.charts.series import extent
from app.gui.pages.dashboard_curves import MIB
from app.gui.pages.dashboard_day import day_curves
from app.gui.pages.dashboard_live import SECONDS, LiveFigures
from app.gui.pages.dashboard_today import Today, prefill_s_per_token
from app.hit_rate import Cause, Span
from app.storage.aggregates import MinuteRow, row_of
from engine.request import Timings, Usage
from engine.snapshot import EvictionTotal, Snapshot, Totals
from tests.support.fake_desk import make_record, quiet_day

NOON = time.mktime((2026, 3, 2, 12, 0, 0, 0, 0, -1))
COLD = {
    "usage": Usage(prompt_tokens=1000, cached_tokens=0, completion_tokens=20),
    "timings": Timings(prefill_s=5.0, decode_s=2.0, ttft_s=5.0, total_s=7.0),
}
WARM = {
    "usage": Usage(prompt_tokens=1000, cached_tokens=999, completion_tokens=20),
    "timings": Timings(prefill_s=0.1, decode_s=1.0, ttft_s=0.2, total_s=1.2),
}


def totals(requests: int, prompt: int, cached: int, evicted: int = 0) -> Snapshot:
    """The engine with these totals; `evicted` pages of a MiB each made room."""
    return Snapshot(
        totals=Totals(
            requests=requests, prompt_tokens=prompt, cached_tokens=cached, evicted_pages=evicted
        ),
        evictions=(EvictionTotal("capacity", "", evicted, evicted * MIB),),
    )


# Ten minutes


def test_counters_become_tokens_per_second() -> None:
    live = LiveFigures(NOON, totals(7, 5000, 3000, 4))
    live.observe(NOON + 1, totals(8, 6000, 3800, 10), [])
    curves = live.curves()
    assert len(curves.reused) == SECONDS
    assert (curves.reused[-1], curves.computed[-1]) == (80.0, 20.0)  # a tenth: mean of ten seconds
    assert curves.hit_rate[-1] == pytest.approx(0.8)
    assert curves.overall_hit_rate == pytest.approx(0.8)
    assert curves.evicted_bytes == 6 * MIB
    assert math.isnan(curves.reused[-2])


def test_ten_seconds_later_the_mean_is_nothing_again() -> None:
    live = LiveFigures(NOON, totals(0, 0, 0))
    live.observe(NOON + 1, totals(1, 1000, 0), [])
    for second in range(2, 12):
        live.observe(NOON + second, totals(1, 1000, 0), [])
    assert live.curves().computed[-1] == 0
    assert max(live.curves().computed[-11:]) == 100


def test_two_looks_in_one_second_are_one_point() -> None:
    live = LiveFigures(NOON, totals(0, 0, 0))
    live.observe(NOON + 0.4, totals(1, 100, 0), [])
    live.observe(NOON + 1.1, totals(2, 300, 0), [])
    curves = live.curves()
    assert curves.sum_computed == 300
    assert math.isnan(curves.computed[-2])


def test_times_and_speeds_come_from_ended_requests() -> None:
    live = LiveFigures(NOON, totals(0, 0, 0))
    records = [make_record(1, **COLD), make_record(2, **WARM)]
    live.observe(NOON + 1, totals(2, 2000, 999), records)
    curves = live.curves()
    assert (curves.cold[-1], curves.warm[-1]) == (5.0, 0.2)
    assert curves.times_sooner == pytest.approx(25)
    assert curves.prefill[-1] == 200.0  # the warm one's single token says nothing of speed
    assert curves.decode[-1] == pytest.approx(40 / 3)


def test_a_short_gap_was_quiet_and_a_long_one_is_unknown() -> None:
    live = LiveFigures(NOON, totals(0, 0, 0))
    live.observe(NOON + 1, totals(0, 0, 0), [])
    live.observe(NOON + 4, totals(0, 0, 0), [])
    assert list(live.curves().reused[-4:]) == [0, 0, 0, 0]
    live.observe(NOON + 64, totals(0, 0, 0), [])
    reused = live.curves().reused
    assert reused[-1] == 0
    assert all(math.isnan(figure) for figure in reused[-60:-1])


def test_a_clock_that_is_set_back_costs_one_point_at_most() -> None:
    live = LiveFigures(NOON, totals(0, 0, 0))
    live.observe(NOON + 1, totals(1, 100, 0), [])
    live.observe(NOON - 3600, totals(2, 200, 0), [])
    live.observe(NOON - 3599, totals(3, 300, 0), [])
    assert live.curves().sum_computed == 300


def test_another_engine_begins_at_zero() -> None:
    live = LiveFigures(NOON, totals(50, 9000, 9000, 100))
    live.observe(NOON + 1, totals(1, 200, 50, 3), [])
    curves = live.curves()
    assert (curves.sum_reused, curves.sum_computed) == (50, 150)
    assert curves.evicted_bytes == 3 * MIB


def test_evictions_are_told_apart_by_reason_in_bins_of_ten_seconds() -> None:
    live = LiveFigures(NOON, Snapshot())
    for second in (1, 2):
        evictions = (
            EvictionTotal("capacity", "a", 0, 4 * MIB * second),
            EvictionTotal("capacity", "b", 0, 2 * MIB * second),
            EvictionTotal("quota", "b", 0, MIB),
            EvictionTotal("memory pressure", "", 0, MIB // 2),
        )
        live.observe(NOON + second, Snapshot(evictions=evictions), [])
    columns = live.curves().evicted
    assert [column[-1] for column in columns.by_reason] == [12, 1, 0, 0.5]
    assert len(columns.capacity) == 60


def test_a_request_that_made_way_marks_its_second() -> None:
    live = LiveFigures(NOON, Snapshot())
    live.observe(NOON + 1, Snapshot(totals=Totals(preemptions=2)), [])
    live.observe(NOON + 2, Snapshot(totals=Totals(preemptions=2)), [])
    made_way = live.curves().made_way
    assert made_way[-2] == 2
    assert math.isnan(made_way[-1])


def test_the_last_two_minutes_are_compared_with_those_before() -> None:
    live = LiveFigures(NOON, Snapshot())
    live.observe(NOON + 1, totals(10, 10_000, 9000), [])
    for second in range(2, 122):
        live.observe(NOON + second, totals(10, 10_000, 9000), [])
    before = totals(10, 10_000, 9000)
    losses = replace(
        totals(20, 20_000, 11_000).totals,
        preemptions=2,
        lost_tokens=4800,
        new_tokens=3000,
        starts=1,
    )
    live.observe(NOON + 122, replace(before, totals=losses), [])
    curves = live.curves()
    assert curves.earlier == Span(reused_tokens=9000, computed_tokens=1000)
    assert curves.lately == Span(2000, 8000, 2, 4800, 3000, 1)
    assert curves.why_it_fell is Cause.PREEMPTION


def test_what_was_asked_before_the_first_look_says_nothing_of_the_prompts() -> None:
    live = LiveFigures(NOON, Snapshot())
    warm = [make_record(number, ended_at=NOON - 300, **WARM) for number in range(3)]
    cold = [make_record(number, ended_at=NOON - 60, **COLD) for number in range(3)]
    live.backfill([*warm, *cold])
    curves = live.curves()
    assert (round(curves.earlier.hit_rate, 3), curves.lately.hit_rate) == (0.999, 0.0)
    assert curves.why_it_fell is Cause.NOTHING


def test_a_request_that_never_started_computed_nothing() -> None:
    live = LiveFigures(NOON, Snapshot())
    expired = Timings(queue_s=5.0, total_s=5.0)
    live.backfill([make_record(1, ended_at=NOON - 100, usage=Usage(8000), timings=expired)])
    assert live.curves().sum_computed == 0


def test_requests_before_the_first_look_are_there() -> None:
    live = LiveFigures(NOON, totals(2, 2000, 999))
    live.backfill(
        [make_record(1, ended_at=NOON - 100, **COLD), make_record(2, ended_at=NOON - 9000, **WARM)]
    )
    curves = live.curves()
    assert curves.cold[-101] == 5.0
    assert curves.sum_computed == 1000
    assert curves.sum_reused == 0
    assert curves.reused[-1] == 0


# 24 hours


def test_a_day_is_quarters_of_an_hour_on_the_clock() -> None:
    minutes = quiet_day(NOON + 7 * 60)
    started_at = int(NOON) - 30 * 60
    minutes = [
        row.plus(row_of(make_record(1, ended_at=float(started_at), **COLD)))
        if started_at <= row.started_at < started_at + 120
        else row
        for row in minutes
    ]
    curves = day_curves(minutes)
    assert len(curves.reused) == len(curves.times.labels) * 16 == 96
    assert curves.computed[-3] == 2000
    assert curves.sum_computed == 2000
    assert curves.cold[-3] == 5.0
    assert curves.prefill[-3] == 200.0
    assert math.isnan(curves.cold[-1])
    assert curves.times.moment(93) == "11:30 – 11:45"
    assert ("12:00") in [label for _, label in curves.times.labels]


def test_a_day_knows_reasons_preemptions_and_its_last_hour() -> None:
    minutes = quiet_day(NOON + 14 * 60)
    warm = MinuteRow(minutes[600].started_at, cached_tokens=9000, computed_tokens=1000)
    short = MinuteRow(
        minutes[-1].started_at,
        cached_tokens=2000,
        computed_tokens=8000,
        evicted_pages=300,
        lost_tokens=4800,
        new_tokens=3200,
        starts=1,
        capacity_bytes=3 * MIB,
        checkpoint_bytes=MIB,
        preemptions=4,
    )
    curves = day_curves([*minutes[:600], warm, *minutes[601:-1], short])
    assert [column[-1] for column in curves.evicted.by_reason] == [3, 0, 1, 0]
    assert curves.evicted_bytes == 4 * MIB
    assert curves.made_way[-1] == 4
    assert math.isnan(curves.made_way[-2])
    assert curves.earlier == Span(reused_tokens=9000, computed_tokens=1000)
    assert curves.lately == Span(
        2000, 8000, preemptions=4, lost_tokens=4800, new_tokens=3200, starts=1
    )
    assert curves.lately_s == 3600


def test_a_quiet_day_has_nothing_to_say() -> None:
    curves = day_curves(quiet_day(NOON))
    assert curves.overall_hit_rate is None
    assert curves.times_sooner is None
    assert extent(curves.warm) is None
    assert curves.why_it_fell is Cause.NOTHING


# Today


def at(moment: float, **fields: object) -> MinuteRow:
    return row_of(make_record(1, ended_at=moment, **fields))


def test_today_begins_at_midnight() -> None:
    today = Today()
    today.begin_reading()
    today.finish_reading([at(NOON - 13 * 3600, **WARM), at(NOON - 11 * 3600, **WARM)])
    figures = today.figures(NOON)
    assert (figures.requests, figures.hits) == (1, 1)
    assert (figures.reused_tokens, figures.prompt_tokens) == (999, 1000)
    assert figures.hit_rate == pytest.approx(0.999)
    tomorrow = today.figures(NOON + 13 * 3600)
    assert tomorrow.requests == 0
    assert tomorrow.hit_rate is None


def test_a_request_counts_once_before_and_after_the_storage_is_read() -> None:
    today = Today()
    today.add([make_record(1, ended_at=NOON, **COLD)])
    today.begin_reading()
    today.add([make_record(2, ended_at=NOON, **COLD)])
    assert today.figures(NOON).requests == 2
    today.finish_reading([at(NOON, **COLD)])  # the first alone: the second came too late
    assert today.figures(NOON).requests == 2


def test_a_failed_reading_loses_nothing() -> None:
    today = Today()
    today.begin_reading()
    today.add([make_record(1, ended_at=NOON, **COLD)])
    today.fail_reading()
    assert today.figures(NOON).requests == 1
    assert today.knows_requests


def test_the_first_tokens_are_medians_of_both_kinds() -> None:
    today = Today()
    slow = replace(COLD["timings"], ttft_s=50.0)  # type: ignore[type-var]
    today.add([make_record(3, ended_at=NOON, **COLD | {"timings": slow})])
    today.add_older_ttfts(
        [make_record(2, ended_at=NOON - 5, **COLD), make_record(1, ended_at=NOON - 9, **WARM)]
    )
    figures = today.figures(NOON)
    assert figures.cold_ttft_s == 27.5
    assert figures.warm_ttft_s == 0.2


def test_saved_time_is_reused_tokens_times_the_measured_cost_of_one() -> None:
    today = Today()
    assert today.figures(NOON).saved_s is None
    today.begin_reading()
    today.finish_reading([at(NOON - 60, **COLD), at(NOON, **WARM)])
    figures = today.figures(NOON)
    assert figures.prefill_s_per_token == pytest.approx(0.005)
    assert figures.saved_s == pytest.approx(999 * 0.005)


def test_the_overhead_of_warm_requests_is_not_the_cost_of_a_token() -> None:
    warm = [at(NOON + minute * 60, **WARM) for minute in range(100)]  # 0.1 s for one token each
    assert prefill_s_per_token([at(NOON - 60, **COLD), *warm]) == pytest.approx(0.005)
