"""Which pages to give up first. A policy only ranks; `PrefixCache` sees to it that nothing in use
is ranked."""

from __future__ import annotations

from typing import Protocol

from engine.cache.page import Page


class EvictionPolicy(Protocol):
    """Ranks evictable leaf pages."""

    def rank(self, page: Page) -> float:
        """Value of keeping the page; the page of lowest rank goes first. Must not grow from a page
        to its child."""


class LeastRecentlyUsed:
    """The page whose last use is longest ago goes first. Using a page uses every page before it."""

    def rank(self, page: Page) -> float:
        return page.last_used
