"""What to give up first. A policy only ranks; `Reclaimer` sees to it that nothing in use is
ranked."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from engine.cache.kept import Kept


@dataclass(frozen=True, slots=True)
class Loss:
    """What is lost with something: tokens [start, end), which would have to be computed again, for
    `num_bytes` given back."""

    start: int
    end: int
    num_bytes: int


class Group(enum.IntEnum):
    """The groups go one after another."""

    BACKGROUND_OVER_SHARE = 1
    BACKGROUND = 2
    STALE = 3  # nobody has used it for long
    OVER_SHARE = 4
    FAIR = 5


class Rank(NamedTuple):
    """The lowest goes first: by group, within it by value."""

    group: Group
    value: float


class EvictionPolicy(Protocol):
    """Ranks what could be given up: the end of a part, named by its last page or checkpoint."""

    def price(self, loss: Loss) -> float:
        """What computing it again would cost. Asked again only when the loss has changed."""

    def rank(self, kept: Kept, price: float, *, over_share: bool) -> Rank:
        """What keeping something of such a price is worth; `over_share`: its owner keeps more than
        one client should. For the same price, a page must not rank above the page it stands on."""


class LeastRecentlyUsed:
    """What was last used longest ago goes first. Using a page uses every page before it."""

    def price(self, loss: Loss) -> float:
        return 0.0

    def rank(self, kept: Kept, price: float, *, over_share: bool) -> Rank:
        return Rank(Group.FAIR, kept.last_used)
