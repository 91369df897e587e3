"""Chunks of a prompt end on the grid, and their size follows the measured speed."""

from __future__ import annotations

import hypothesis.strategies as st
import pytest
from hypothesis import given

from engine.schedule.chunks import GRID, PrefillRate, chunk_tokens
from tests.support.effort import effort


def chunks(start: int, num_tokens: int, limit: int) -> list[int]:
    """All chunks of a prompt that stands at `start` with so many tokens to go."""
    found = []
    while num_tokens:
        found.append(chunk_tokens(start, num_tokens, limit))
        start += found[-1]
        num_tokens -= found[-1]
        assert found[-1] > 0
        assert num_tokens >= 0
    return found


@pytest.mark.parametrize(
    ("start", "num_tokens", "limit", "expected"),
    [
        (0, 1, 256, [1]),
        (0, 64, 256, [64]),
        (0, 65, 64, [64, 1]),
        (0, 65, 256, [65]),
        (0, 256, 256, [256]),
        (0, 257, 256, [256, 1]),
        (0, 300, 256, [256, 44]),
        (0, 300, 128, [128, 128, 44]),
        (0, 320, 512, [320]),
        (299, 1, 256, [1]),
        (200, 100, 64, [56, 44]),
        (200, 300, 256, [248, 52]),
        (63, 66, 64, [1, 64, 1]),
        (1, 500, 100, [63, 64, 64, 64, 64, 64, 64, 53]),
        (1, 300, 150, [127, 128, 45]),
        (0, 200, 1, [64, 64, 64, 8]),
    ],
)
def test_chunks(start: int, num_tokens: int, limit: int, expected: list[int]) -> None:
    assert chunks(start, num_tokens, limit) == expected


@given(st.integers(0, 3000), st.integers(1, 3000), st.integers(1, 2048))
@effort(300)
def test_chunks_cover_the_prompt_on_the_grid(start: int, num_tokens: int, limit: int) -> None:
    sizes = chunks(start, num_tokens, limit)
    assert sum(sizes) == num_tokens
    assert max(sizes) <= max(GRID, limit)
    at = start
    for size in sizes[:-1]:
        at += size
        assert at % GRID == 0


@given(st.integers(1, 60), st.integers(1, 3000), st.integers(1, 8))
@effort(100)
def test_a_cold_and_a_warm_run_are_cut_alike(hit: int, rest: int, grid_steps: int) -> None:
    """A run that restored a number of whole chunks ends its chunks where a cold run does."""
    limit = grid_steps * GRID
    start = hit * limit
    cold, warm = chunks(0, start + rest, limit), chunks(start, rest, limit)
    assert cold == [limit] * hit + warm


def test_the_rate_follows_what_is_measured() -> None:
    rate = PrefillRate()
    rates = []
    for _ in range(4):
        rate.observe(100, 0.1)
        rates.append(round(rate.tokens_per_s, 3))
    assert rates == [440.0, 608.0, 725.6, 807.92]
    for _ in range(60):
        rate.observe(64, 1.0)
    assert rate.tokens_per_s == pytest.approx(64.0, rel=1e-3)


@pytest.mark.parametrize(
    ("num_tokens", "seconds"), [(31, 0.001), (1, 1.0), (256, 0.0), (256, -1.0)]
)
def test_a_chunk_that_tells_nothing_is_ignored(num_tokens: int, seconds: float) -> None:
    rate = PrefillRate()
    before = rate.tokens_per_s
    rate.observe(num_tokens, seconds)
    assert rate.tokens_per_s == before
    rate.observe(32, 0.001)
    assert rate.tokens_per_s > before, "half a grid step is enough"


@pytest.mark.parametrize(
    ("tokens_per_s", "seconds", "most", "expected"),
    [
        (1000.0, 0.6, 2048, 576),
        (1000.0, 0.6, 256, 256),
        (1000.0, 0.01, 256, 64),
        (10.0, 0.6, 256, 64),
        (640.0, 0.1, 256, 64),
        (1279.0, 0.1, 256, 64),
        (1280.0, 0.1, 256, 128),
    ],
)
def test_tokens_within_a_time(
    tokens_per_s: float, seconds: float, most: int, expected: int
) -> None:
    rate = PrefillRate()
    rate.tokens_per_s = tokens_per_s
    assert rate.tokens_within(seconds, most) == expected
