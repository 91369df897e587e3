"""Which of several prompts is computed next (S0-17, algorithms §2.7).

All orders but one speak in seconds: what is left to compute, what was found, what was waited. The
lowest key goes first. A key falls by a second with every second of waiting, so whoever came early
enough goes before everybody who comes later, however short they are: nobody starves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from engine.config import PrefillOrder

Key = tuple[int, float, float]


@dataclass(frozen=True, slots=True)
class Prefill:
    """A prompt as an order sees it: its class (smaller is more urgent), seconds that remain to be
    computed, seconds that what was found has saved, when it came, and its latest turn. `lent` is
    the best key among those who wait for it: it goes when they would."""

    urgency: int
    remaining_s: float
    saved_s: float
    submitted_at: float
    turn: int = 0
    lent: Key | None = None


def key(order: PrefillOrder, prefill: Prefill) -> Key:
    """What to compare prompts by at one moment. Ties go to who came first."""
    match order:
        case PrefillOrder.FIRST_COME:
            rank = 0.0
        case PrefillOrder.SHORTEST:
            rank = prefill.remaining_s + prefill.submitted_at
        case PrefillOrder.LONGEST_CACHED:
            # Warm prompts first, as their pages are there now; of equally warm ones the shorter.
            rank = prefill.remaining_s - prefill.saved_s + prefill.submitted_at
        case _:
            rank = float(prefill.turn)
    own = (prefill.urgency, rank, prefill.submitted_at)
    return own if prefill.lent is None else min(own, prefill.lent)


def advance(
    order: PrefillOrder, prefill: Prefill, seconds: float, others: Sequence[Prefill]
) -> tuple[float, list[Prefill]]:
    """How long it takes until a prompt has got so many seconds of its own, if nobody else comes,
    and what of the others is left then."""
    if order is PrefillOrder.ROUND_ROBIN:
        done = [
            min(other.remaining_s, seconds) if other.urgency <= prefill.urgency else 0.0
            for other in others
        ]
        left = [
            replace(other, remaining_s=other.remaining_s - got)
            for other, got in zip(others, done, strict=True)
            if got < other.remaining_s
        ]
        return seconds + sum(done), left
    mine = key(order, prefill)
    ahead_s = sum(other.remaining_s for other in others if key(order, other) < mine)
    return seconds + ahead_s, [other for other in others if key(order, other) >= mine]
