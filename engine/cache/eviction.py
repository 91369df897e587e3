"""What to give up first. A policy only ranks; `Reclaimer` sees to it that nothing in use is
ranked."""

from __future__ import annotations

from typing import Protocol


class Kept(Protocol):
    """What a policy knows of a page or a checkpoint: when it was last used (a count of events), how
    often it was hit, and the position it ends at."""

    last_used: int
    hits: int

    @property
    def end(self) -> int: ...


class EvictionPolicy(Protocol):
    """Ranks evictable leaf pages and checkpoints."""

    def rank(self, kept: Kept) -> float:
        """Value of keeping it; the lowest goes first. Not negative. Must not grow from a page to
        its child."""


class LeastRecentlyUsed:
    """What was last used longest ago goes first. Using a page uses every page before it."""

    def rank(self, kept: Kept) -> float:
        return kept.last_used
