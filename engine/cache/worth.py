"""The default policy: what is worth least goes first."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from engine.cache.eviction import Group, Loss, Rank
from engine.cache.kept import HALF_LIFE_S, Kept
from engine.cache.standing import Standing

# How much longer than ordinary KV a class stays worth as much, in half-lives of a use.
HEAD_START = {
    Standing.BACKGROUND: 0.0,
    Standing.ORDINARY: 0.0,
    Standing.SESSION: 4.0,
    Standing.TEMPLATE: 8.0,
}
STALE_HALF_LIVES = 4.0  # an ordinary use longer ago protects from nothing

_A_TOKEN_S = 1 / 200.0  # before anything was measured


class ByWorth:
    """P(reuse) x seconds saved / bytes (algorithms §2.9).

    P(reuse) goes with the uses so far, each of which counts half after every half-life, and with
    the class. All of it is kept as logarithms to base 2, so that a rank needs no multiplication and
    does not age. Work in the background goes before everything else, since nobody waits for it;
    then what is stale; then what a client keeps beyond its share.

    `seconds(start, end)` is what computing tokens [start, end) of a prompt takes. `now` is the
    clock, in seconds, by which uses were counted.
    """

    def __init__(
        self,
        seconds: Callable[[int, int], float] = lambda start, end: (end - start) * _A_TOKEN_S,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._seconds = seconds
        self._now = now

    def price(self, loss: Loss) -> float:
        """log2 of the time saved for a byte, in that of a prompt's first token: prices of different
        hours compare, however busy the machine was."""
        saved_s, token_s = self._seconds(loss.start, loss.end), self._seconds(0, 1)
        if saved_s <= 0 or token_s <= 0 or loss.num_bytes <= 0:
            return -math.inf
        return math.log2(saved_s / token_s / loss.num_bytes)

    def rank(self, kept: Kept, price: float, *, over_share: bool) -> Rank:
        likely = kept.heat + HEAD_START[kept.standing]
        return Rank(self._group(kept.standing, likely, over_share), likely + price)

    def _group(self, standing: Standing, likely: float, over_share: bool) -> Group:
        if standing is Standing.BACKGROUND:
            return Group.BACKGROUND_OVER_SHARE if over_share else Group.BACKGROUND
        if likely < self._now() / HALF_LIFE_S - STALE_HALF_LIVES:
            return Group.STALE
        return Group.OVER_SHARE if over_share else Group.FAIR
