"""What evictions took, from whom and why."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from dataclasses import dataclass

from engine.cache.standing import Standing


class Reason(enum.Enum):
    """Why something was given up."""

    CAPACITY = "capacity"
    QUOTA = "quota"  # its owner kept more than its share
    CHECKPOINT_LIMIT = "checkpoint limit"
    MEMORY_PRESSURE = "memory pressure"  # the machine is short of memory
    EMPTY_ROOM = "empty room"  # nothing was lost that could be taken up


@dataclass(frozen=True, slots=True)
class Evicted:
    """What was given up of one client and standing for one reason. Empty room is nobody's."""

    client: str
    standing: Standing
    reason: Reason
    num_pages: int
    num_bytes: int


def merged(evicted: Iterable[Evicted]) -> tuple[Evicted, ...]:
    """One entry for each client, standing and reason."""
    totals: dict[tuple[str, Standing, Reason], tuple[int, int]] = {}
    for each in evicted:
        key = (each.client, each.standing, each.reason)
        pages, num_bytes = totals.get(key, (0, 0))
        totals[key] = (pages + each.num_pages, num_bytes + each.num_bytes)
    return tuple(Evicted(*key, *total) for key, total in totals.items())
