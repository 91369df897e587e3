"""What the engine's running totals have grown by, and its evictions as bytes for each reason."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import astuple, dataclass, fields
from typing import TypeVar

from engine.snapshot import EvictionTotal, Snapshot, Totals

_NO_LOSS = "empty room"


@dataclass(frozen=True, slots=True)
class Evicted:
    """Bytes of KV that could have been taken up again, by why they went.

    capacity     for what running requests append
    quota        their owner kept more than its share
    checkpoint   windows and recurrent states had more than theirs
    pressure     the machine was short of memory
    """

    capacity: int = 0
    quota: int = 0
    checkpoint: int = 0
    pressure: int = 0


_FIELD_OF = {
    "capacity": "capacity",
    "quota": "quota",
    "checkpoint limit": "checkpoint",
    "memory pressure": "pressure",
}


def evicted_bytes(totals: Iterable[EvictionTotal]) -> Evicted:
    """All clients together. Empty room was no loss; a reason that is not known here counts as want
    of room."""
    sums = dict.fromkeys(_FIELD_OF.values(), 0)
    for total in totals:
        if total.reason != _NO_LOSS:
            sums[_FIELD_OF.get(total.reason, "capacity")] += total.num_bytes
    return Evicted(**sums)


@dataclass(frozen=True, slots=True)
class Growth:
    """What happened between two looks."""

    totals: Totals
    evicted: Evicted


class GrowthWatch:
    """Remembers where the totals stood; at first at zero, or where `snapshot` has them."""

    def __init__(self, snapshot: Snapshot | None = None) -> None:
        start = snapshot or Snapshot()
        self._totals = start.totals
        self._evicted = evicted_bytes(start.evictions)

    def look(self, snapshot: Snapshot) -> Growth:
        """What happened since the last look. Totals that shrank are those of another engine, which
        began at zero."""
        before, evicted_before = self._totals, self._evicted
        self._totals, self._evicted = snapshot.totals, evicted_bytes(snapshot.evictions)
        if any(grown < 0 for grown in astuple(_difference(self._totals, before))):
            before, evicted_before = Totals(), Evicted()
        return Growth(_difference(self._totals, before), _difference(self._evicted, evicted_before))


Sums = TypeVar("Sums", Totals, Evicted)


def _difference(now: Sums, before: Sums) -> Sums:
    return type(now)(
        *(getattr(now, each.name) - getattr(before, each.name) for each in fields(now))
    )
