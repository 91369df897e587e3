"""Where a prompt's prefill stops to leave a checkpoint."""

from __future__ import annotations

import pytest

from engine.request import Prompt, Segment
from engine.schedule.checkpoints import checkpoint_positions


def positions(
    num_tokens: int,
    system: int = 0,
    messages: int = 0,
    *,
    cached: int = 0,
    shared: int = 0,
    unit: int = 1,
    spacing: int = 8192,
) -> tuple[int, ...]:
    segments = [
        Segment("system", 0, system),
        Segment("messages", system, messages),
        Segment("generation", messages, num_tokens),
    ]
    prompt = Prompt(tuple(range(num_tokens)), tuple(s for s in segments if s.end > s.start))
    return checkpoint_positions(
        prompt, num_cached=cached, num_shared=max(shared, cached), unit=unit, spacing=spacing
    )


@pytest.mark.parametrize(
    ("expected", "found"),
    [
        ((500, 795), positions(800, 500, 795)),  # the last token is near the message's end
        ((500, 779, 799), positions(800, 500, 779)),
        ((99,), positions(100)),  # no segments: a bare completion
        ((), positions(16)),
        ((), positions(100, cached=99)),
        ((795,), positions(800, 500, 795, cached=500)),
        ((795,), positions(800, 500, 795, cached=490)),  # ten more tokens are worth no stop
        ((300, 500, 795), positions(800, 500, 795, shared=300)),  # a junction
        ((490, 795), positions(800, 500, 795, shared=490)),  # the earlier serves more prompts
        ((8192, 16384, 19999), positions(20_000)),
        ((9984,), positions(10_000, unit=32, spacing=100_000)),
        ((96, 160, 192), positions(200, shared=100, unit=32, spacing=160)),
    ],
)
def test_positions(expected: tuple[int, ...], found: tuple[int, ...]) -> None:
    assert found == expected
