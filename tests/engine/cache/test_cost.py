"""Prices of KV by kind of layer."""

from __future__ import annotations

import pytest

from engine.cache.cost import KVCost, WindowCost

DENSE = KVCost(100)
HYBRID = KVCost(100, (WindowCost(8, 10, 40), WindowCost(512, 30, 1000)), state_bytes=5000)
STATES = KVCost(0, (), 5000)


@pytest.mark.parametrize(
    ("cost", "num_tokens", "append", "prefix"),
    [
        (DENSE, 0, 0, 0),
        (DENSE, 7, 700, 700),
        # Empty room at checkpoints takes up to an eighth more.
        (HYBRID, 5, 562 + 50 + 150 + 5000, 500 + 50 + 150 + 5000),
        (HYBRID, 60, 6750 + 400 + 1800 + 5000, 6000 + 70 + 1800 + 5000),
        (HYBRID, 5000, 562_500 + 400 + 30_000 + 5000, 500_000 + 70 + 511 * 30 + 5000),
        (STATES, 9000, 5000, 5000),
    ],
)
def test_prices(cost: KVCost, num_tokens: int, append: int, prefix: int) -> None:
    assert (cost.append_bytes(num_tokens), cost.prefix_bytes(num_tokens)) == (append, prefix)
    assert cost.end_bytes(num_tokens) == prefix - num_tokens * cost.bytes_per_token


@pytest.mark.parametrize("num_bytes", [0, 99, 100, 5000, 5139, 5140, 123_456, 10_000_000])
@pytest.mark.parametrize("cost", [DENSE, HYBRID])
def test_tokens_within_is_the_most_that_fits(cost: KVCost, num_bytes: int) -> None:
    most = cost.tokens_within(num_bytes)
    assert cost.append_bytes(most + 1) > num_bytes
    assert most == 0 or cost.append_bytes(most) <= num_bytes


def test_what_is_dense() -> None:
    assert DENSE.dense
    assert not HYBRID.dense
    assert not STATES.dense
    assert (HYBRID.recurrent, STATES.recurrent, DENSE.recurrent) == (True, True, False)
