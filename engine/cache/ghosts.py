"""Names of pages that are gone, to see whether eviction takes what is asked for again (S0-15)."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Iterable

from engine.cache.identity import Digest
from engine.cache.kept import Use

_LEAST_NAMES = 256
_FADING = 1 / 32  # weight of each page in the share of pages that were there before
_THRASHES = 0.25


class Ghosts:
    """As many evicted pages, the latest, as there are pages in the cache.

    A set of prompts used in turn that is larger than the cache defeats every order by recency: each
    page goes just before it is needed. That shows here: what has to be computed was there before.
    While that is so of more than a quarter of the pages that were asked for lately, the cache
    `thrashes`, and newcomers should not push out what stands.

    Else a set that has changed would never get in: what stood before had been used, and each of the
    new ones goes before anybody finds it. So the uses of those that come back are remembered, each
    as a cold one (the retained information of LRU-K, O'Neil et al., SIGMOD 1993). In a cycle they
    stay behind those that are found in it as often.
    """

    def __init__(self) -> None:
        self._names: OrderedDict[Digest, None] = OrderedDict()  # in the order in which they went
        self._heats: OrderedDict[Digest, float] = OrderedDict()  # of those that came back
        self._returning = 0.0

    @property
    def thrashes(self) -> bool:
        return self._returning > _THRASHES

    def went(self, name: Digest, num_pages: int) -> None:
        """A full page was evicted; `num_pages` are left."""
        self._names[name] = None
        most = max(_LEAST_NAMES, num_pages)
        for remembered in (self._names, self._heats):
            while len(remembered) > most:
                remembered.popitem(last=False)

    def heat_of(self, name: Digest) -> float:
        """Of all the times it came back (`Kept.heat`)."""
        return self._heats.get(name, -math.inf)

    def asked(self, names: Iterable[Digest], num_pages: int, at_s: float) -> int:
        """So many pages of a prompt were asked for and not found. `names` are theirs, in order,
        and taken only as far as they are known here, since ends go before beginnings. Returns how
        many are."""
        known: list[Digest] = []
        for name in names:
            if name not in self._names:
                break
            del self._names[name]
            known.append(name)
        use = Use(0, at_s, cold=True)
        for name in reversed(known):  # what is entered first is forgotten first
            self._heats[name] = use.added_to(self._heats.pop(name, -math.inf))
        num_known = len(known)
        self._returning = 1 - (1 - self._returning) * (1 - _FADING) ** num_known
        self._returning *= (1 - _FADING) ** (num_pages - num_known)
        return num_known
