"""Virtual time only moves forwards."""

from __future__ import annotations

import pytest

from app.bench.simulation.clock import START_S, VirtualClock


def test_time_passes_when_somebody_says_so() -> None:
    clock = VirtualClock()
    assert clock() == START_S > 0
    clock.advance(0.5)
    clock.advance(0.0)
    assert clock() == START_S + 0.5
    clock.jump(START_S + 2)
    assert clock() == START_S + 2


def test_time_never_goes_backwards() -> None:
    clock = VirtualClock()
    clock.jump(START_S - 1)
    assert clock() == START_S
    with pytest.raises(ValueError, match="backwards"):
        clock.advance(-0.1)
    assert clock() == START_S
