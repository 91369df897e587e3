"""Orders of prefill: who goes first, and how long the others hold one up."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.config import PrefillOrder
from engine.schedule.order import Prefill, advance, key

WARM = Prefill(0, remaining_s=2.0, saved_s=8.0, submitted_at=3.0, turn=1)
LONG = Prefill(0, remaining_s=9.0, saved_s=0.0, submitted_at=1.0, turn=3)
SHORT = Prefill(0, remaining_s=1.0, saved_s=0.0, submitted_at=3.5, turn=2)
BACKGROUND = Prefill(1, remaining_s=0.1, saved_s=5.0, submitted_at=0.0)

ORDERS = {
    PrefillOrder.FIRST_COME: [LONG, WARM, SHORT],
    PrefillOrder.SHORTEST: [SHORT, WARM, LONG],
    PrefillOrder.LONGEST_CACHED: [WARM, SHORT, LONG],
    PrefillOrder.ROUND_ROBIN: [WARM, SHORT, LONG],
}


@pytest.mark.parametrize("order", PrefillOrder)
def test_who_goes_first_S0_17(order: PrefillOrder) -> None:
    several = [BACKGROUND, SHORT, LONG, WARM]
    by_key = sorted(several, key=lambda prefill: key(order, prefill))
    assert by_key == [*ORDERS[order], BACKGROUND], "an order never puts a class before another"


@pytest.mark.parametrize("order", [PrefillOrder.SHORTEST, PrefillOrder.LONGEST_CACHED])
def test_nobody_starves(order: PrefillOrder) -> None:
    """Of two cold prompts the one that came earlier goes first, once it has waited as long as the
    other is shorter."""
    for came_after_s, first in ((7.9, "short"), (8.1, "long")):
        short = Prefill(0, 1.0, 0.0, LONG.submitted_at + came_after_s)
        assert (key(order, short) < key(order, LONG)) == (first == "short")


@pytest.mark.parametrize(
    ("order", "seconds", "left"),
    [
        (PrefillOrder.FIRST_COME, 1.0 + 9.0 + 2.0, [BACKGROUND]),
        (PrefillOrder.SHORTEST, 1.0, [WARM, LONG, BACKGROUND]),
        (PrefillOrder.LONGEST_CACHED, 1.0 + 2.0, [LONG, BACKGROUND]),
        (
            PrefillOrder.ROUND_ROBIN,
            1.0 + 1.0 + 1.0,
            [replace(WARM, remaining_s=1.0), replace(LONG, remaining_s=8.0), BACKGROUND],
        ),
    ],
)
def test_how_long_others_hold_one_up(
    order: PrefillOrder, seconds: float, left: list[Prefill]
) -> None:
    took, rest = advance(order, SHORT, 1.0, [WARM, LONG, BACKGROUND])
    assert took == pytest.approx(seconds)
    assert rest == left
