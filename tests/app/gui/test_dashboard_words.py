"""Sentences of the dashboard: who may run, who waits for what, and why less was reused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from app.gui.pages.dashboard_day import unknown_day
from app.gui.pages.dashboard_words import (
    capacity_details,
    capacity_words,
    waiting_words,
    why_it_fell,
)
from app.hit_rate import Span
from engine.config import AdmissionMode
from engine.snapshot import Capacity, PinState, PinStatus, Waits
from tests.support.fake_desk import READY

GIB = 1024**3
WARM = Span(reused_tokens=8700, computed_tokens=1300)


@pytest.mark.parametrize(
    ("capacity", "words"),
    [
        (Capacity(), ""),
        (Capacity(max_running=1), "One answer at a time"),
        (Capacity(max_running=12), "Up to 12 answers at once"),
        (
            Capacity(max_running=12, reserve_bytes=3 * GIB),
            "Up to 12 answers at once: 3.0 GiB stay for warm prefixes",
        ),
        (
            Capacity(AdmissionMode.MAX_THROUGHPUT, max_running=16, hot_bytes=GIB),
            "Up to 16 answers at once: warm prefixes make way for them",
        ),
        (Capacity(max_running=2, reserve_bytes=GIB, capped=True), "Up to 2 answers at once"),
    ],
)
def test_how_many_may_run_and_why(capacity: Capacity, words: str) -> None:
    assert capacity_words(capacity) == words


def test_what_the_number_is_made_of() -> None:
    details = capacity_details(Capacity(max_running=12, mean_tokens=410.4, hot_bytes=GIB))
    assert "needs 410 tokens for itself" in details
    assert details.endswith("prefixes that were used again lately take 1.0 GiB.")
    assert "needs" not in capacity_details(Capacity(max_running=12))


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({}, "Nobody waits"),
        ({"num_waiting": 1}, "1 waits for its turn"),
        ({"num_waiting": 2, "waits_for": Waits.MEMORY}, "2 wait for memory"),
        (
            {"num_waiting": 5, "num_parked": 3, "waits_for": Waits.ROWS},
            "3 wait for the same beginning to be computed\n2 wait for another answer to end",
        ),
        (
            {"num_waiting": 1, "num_parked": 1, "waits_for": Waits.MEMORY},
            "1 waits for the same beginning to be computed",
        ),
        ({"num_waiting": 1, "waits_for": Waits.PAUSE}, "1 waits for the end of the pause"),
    ],
)
def test_who_waits_and_for_what(fields: dict[str, Any], words: str) -> None:
    assert waiting_words(replace(READY, **fields)) == words


def test_a_prefix_that_waits_to_be_warmed_is_nobody() -> None:
    queued = PinStatus("zorp", PinState.QUEUED)
    assert waiting_words(replace(READY, num_waiting=1, pins=(queued,))) == "Nobody waits"


@pytest.mark.parametrize(
    ("losses", "words"),
    [
        ({"preemptions": 3, "lost_tokens": 3200}, "had to make way"),
        ({"lost_tokens": 3200}, "had been given up as memory was short"),
        ({"new_tokens": 6500}, "more was asked that had not been asked lately"),
        ({"new_tokens": 6500, "starts": 1}, "a model was started, with nothing warm yet"),
    ],
)
def test_why_less_was_reused(losses: dict[str, int], words: str) -> None:
    lately = Span(reused_tokens=3500, computed_tokens=6500, **losses)
    told = why_it_fell(replace(unknown_day(), earlier=WARM, lately=lately))
    assert told.startswith("Hit rate 87 % → 35 % in the last hour: ")
    assert words in told
    minutes = replace(unknown_day(), earlier=WARM, lately=lately, lately_s=120)
    assert "in the last 2 minutes" in why_it_fell(minutes)


def test_nothing_is_said_of_a_hit_rate_that_holds() -> None:
    assert why_it_fell(replace(unknown_day(), earlier=WARM, lately=WARM)) == ""
