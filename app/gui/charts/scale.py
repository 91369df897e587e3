"""Round numbers for an axis."""

from __future__ import annotations

import math

_STEPS = (1, 2, 5, 10)
_NOTHING = 1e-9  # below this a figure is nothing: an axis needs no finer steps


def ticks(highest: float, count: int = 3, smallest: float = 0.0) -> tuple[float, ...]:
    """Round numbers from 0 to the first that is not below `highest`; at least 0 and one more.

    count      at most so many steps
    smallest   no step is smaller: 1 for what is counted in whole numbers
    """
    if highest < _NOTHING:
        return (0.0, smallest or 1.0)
    step = _round_up(max(highest / count, smallest))
    steps = max(1, math.ceil(highest / step - 1e-9))
    return tuple(step * number for number in range(steps + 1))


def _round_up(number: float) -> float:
    """To 1, 2 or 5 times a power of ten."""
    magnitude = 10.0 ** math.floor(math.log10(number))
    return next(step * magnitude for step in _STEPS if step * magnitude >= number * (1 - 1e-9))
