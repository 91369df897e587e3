"""What is remembered of everything that can be given up: who used it, how often and when."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from engine.cache.standing import Standing

if TYPE_CHECKING:
    from engine.cache.cost import KVCost

HALF_LIFE_S = 900.0  # after so long a use counts half; the hot set looks back as far (design §4)
COLD_HALF_LIVES = 2.0  # what thrashes comes in as if it had been used so much earlier


class Use:
    """One use: when (`clock` counts events, `at_s` seconds), by which client and of which standing.

    A `hit` is a use by somebody who had not computed it. A `cold` use is one of a newcomer while
    the cache thrashes: it counts for less. One of a conversation counts for as much as that has
    `gathered` so far, since it is asked for again as often.
    """

    __slots__ = ("at_s", "client", "clock", "heat", "hit", "standing", "sum", "summed")

    def __init__(
        self,
        clock: int,
        at_s: float,
        client: str = "",
        standing: Standing = Standing.ORDINARY,
        *,
        hit: bool = False,
        cold: bool = False,
        gathered: float | None = None,
    ) -> None:
        self.clock = clock
        self.at_s = at_s
        self.client = client
        self.standing = standing
        self.hit = hit
        self.heat = at_s / HALF_LIFE_S - (COLD_HALF_LIVES if cold else 0.0)
        if gathered is not None:
            self.heat = max(self.heat, gathered)
        self.summed = self.sum = math.nan

    def added_to(self, heat: float) -> float:
        """The heat of something after this use as well. The last `sum` and what was `summed` are
        remembered."""
        low, high = sorted((heat, self.heat))
        self.summed, self.sum = heat, high + math.log2(1 + 2 ** (low - high))
        return self.sum


class Kept:
    """A page or a checkpoint.

    `heat` is the base-2 logarithm of its uses, each of which counts half after every half-life, as
    of second 0 of the clock: two heats compare the same whenever they are looked at (the LRFU
    policy of Lee et al., IEEE ToC 2001). `owner` is the client who computed it; `shared` once
    another has used it. `hit_at` and `hit_before` are the seconds of the last two hits. `last_used`
    counts events.
    """

    __slots__ = (
        "heat",
        "hit_at",
        "hit_before",
        "hits",
        "last_used",
        "owner",
        "shared",
        "standing",
    )

    def __init__(self) -> None:
        self.last_used = 0
        self.hits = 0
        self.hit_at = self.hit_before = self.heat = -math.inf
        self.owner = ""
        self.shared = False
        self.standing = Standing.BACKGROUND

    def price(self, cost: KVCost) -> int:
        """Bytes that its owner is charged with."""
        raise NotImplementedError

    def begin(self, use: Use) -> None:
        """It was just computed."""
        self.last_used = use.clock
        self.heat = use.heat
        self.owner = use.client
        self.standing = use.standing

    def record(self, use: Use) -> None:
        """It was used. Whoever works in the background adds nothing to what others use, and what it
        added before they came does not count for them."""
        self.last_used = use.clock
        if use.standing is not self.standing:
            if use.standing is Standing.BACKGROUND:
                return
            if self.standing is Standing.BACKGROUND:
                self.hits = 0
                self.hit_at = self.heat = -math.inf
            self.standing = max(self.standing, use.standing)
        if use.hit:
            self.hits += 1
            self.hit_before, self.hit_at = self.hit_at, use.at_s
            # The pages of a chain mostly have the same history.
            self.heat = use.sum if self.heat == use.summed else use.added_to(self.heat)
        elif use.heat > self.heat:
            self.heat = use.heat

    def is_hot(self, since_s: float) -> bool:
        """Whether it was hit at least twice since then, by others than background work."""
        return self.hit_before >= since_s and self.standing > Standing.BACKGROUND

    def inherit(self, other: Kept) -> None:
        """It takes the place of another, of which it is the beginning."""
        for name in Kept.__slots__:
            setattr(self, name, getattr(other, name))
