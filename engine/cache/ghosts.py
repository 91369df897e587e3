"""Names of pages that are gone, to see whether eviction takes what is asked for again (S0-15)."""

from __future__ import annotations

from collections import OrderedDict

from engine.cache.identity import Digest

_LEAST_NAMES = 256
_FADING = 1 / 32  # weight of each new page in the share of pages that were there before
_THRASHES = 0.25


class Ghosts:
    """As many evicted pages, the latest, as there are pages in the cache.

    A set of prompts used in turn that is larger than the cache defeats every order by recency: each
    page goes just before it is needed. That shows here: what is computed was there before. While
    more than a quarter of the pages that were computed lately were, the cache `thrashes`, and
    newcomers should not push out what stands.
    """

    def __init__(self) -> None:
        self._names: OrderedDict[Digest, None] = OrderedDict()  # in the order in which they went
        self._returning = 0.0

    @property
    def thrashes(self) -> bool:
        return self._returning > _THRASHES

    def went(self, name: Digest, num_pages: int) -> None:
        """A full page was evicted; `num_pages` are left."""
        self._names[name] = None
        most = max(_LEAST_NAMES, num_pages)
        while len(self._names) > most:
            self._names.popitem(last=False)

    def came(self, name: Digest) -> None:
        """A full page was computed."""
        was_there = name in self._names
        if was_there:
            del self._names[name]
        self._returning += _FADING * (was_there - self._returning)
