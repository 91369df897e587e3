"""Names of pages that are gone, to see whether eviction takes what is asked for again (S0-15)."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable

from engine.cache.identity import Digest

_LEAST_NAMES = 256
_FADING = 1 / 32  # weight of each page in the share of pages that were there before
_THRASHES = 0.25


class Ghosts:
    """As many evicted pages, the latest, as there are pages in the cache.

    A set of prompts used in turn that is larger than the cache defeats every order by recency: each
    page goes just before it is needed. That shows here: what has to be computed was there before.
    While that is so of more than a quarter of the pages that were asked for lately, the cache
    `thrashes`, and newcomers should not push out what stands.
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

    def asked(self, names: Iterable[Digest], num_pages: int) -> None:
        """So many pages of a prompt were asked for and not found. `names` are theirs, in order,
        and taken only as far as they are known here, since ends go before beginnings."""
        num_known = 0
        for name in names:
            if name not in self._names:
                break
            del self._names[name]
            num_known += 1
        self._returning = 1 - (1 - self._returning) * (1 - _FADING) ** num_known
        self._returning *= (1 - _FADING) ** (num_pages - num_known)
