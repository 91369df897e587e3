"""Figures in words."""

from __future__ import annotations

import time

import pytest
from PySide6.QtCore import QLocale

from app.gui import text


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.0, "0 ms"),
        (0.0004, "0 ms"),
        (0.3504, "350 ms"),
        (0.9994, "999 ms"),
        (0.9996, "1.0 s"),
        (1, "1.0 s"),
        (1.24, "1.2 s"),
        (9.949, "9.9 s"),
        (9.96, "10 s"),
        (59.4, "59 s"),
        (59.6, "1 min 0 s"),
        (125, "2 min 5 s"),
        (3599.6, "1 h 0 min"),
        (11_400, "3 h 10 min"),
    ],
)
def test_duration_keeps_two_figures(seconds: float, words: str) -> None:
    assert text.duration(seconds) == words


@pytest.mark.parametrize(
    ("num_bytes", "words"),
    [
        (0, "0 bytes"),
        (900, "900 bytes"),
        (2048, "2 KiB"),
        (320 * 1024**2, "320 MiB"),
        (int(1.4 * 1024**3), "1.4 GiB"),
    ],
)
def test_size_in_binary_units(num_bytes: int, words: str) -> None:
    assert text.size(num_bytes) == words


@pytest.mark.parametrize(
    ("share", "words"),
    [(0.0, "0 %"), (0.001, "1 %"), (0.874, "87 %"), (0.999, "99 %"), (1.0, "100 %")],
)
def test_percent_says_all_only_for_all(share: float, words: str) -> None:
    assert text.percent(share) == words


def test_counts_have_group_separators() -> None:
    assert text.count(140_000) == "140,000"


@pytest.mark.parametrize(("rate", "words"), [(7.44, "7.4"), (99.96, "100"), (12_400.2, "12,400")])
def test_rate_loses_digits_that_say_nothing(rate: float, words: str) -> None:
    assert text.rate(rate) == words


def test_a_system_without_a_language_still_groups_digits() -> None:
    before = QLocale()
    QLocale.setDefault(QLocale.c())
    try:
        assert text.count(140_000) == "140,000"
    finally:
        QLocale.setDefault(before)


def test_moment_of_today_is_a_time_and_an_older_one_has_its_day() -> None:
    now = time.time()
    assert text.moment(now).count(":") == 2
    assert "/" in text.moment(now - 3 * 86_400)
