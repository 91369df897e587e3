"""Keeps KV within its budget on the engine thread, and the books of what was evicted for it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from engine.cache.prefix_cache import PrefixCache
from engine.cache.row import Row
from engine.counters import Counters
from engine.metrics import EngineMetrics
from engine.schedule.admission import Admission

log = logging.getLogger(__name__)

SHRUNK = (
    "This machine is short of memory: only prefixes that were used again lately stay warm until"
    " there is more."
)


class MemoryKeeper:
    """Makes room for what running requests append, and gives memory back when the machine needs
    it."""

    def __init__(
        self, cache: PrefixCache, admission: Admission, metrics: EngineMetrics, counters: Counters
    ) -> None:
        self._cache = cache
        self._admission = admission
        self._metrics = metrics
        self._counters = counters
        self.notice = ""
        self._growth_bytes = 0

    @property
    def spare_bytes(self) -> int:
        """No more than what is free beside that for which room was made last."""
        return max(0, -self._admission.missing_bytes(self._growth_bytes))

    def make_room(self, growth: Sequence[tuple[Row, int]], let_go_kept: Callable[[], bool]) -> bool:
        """Evict as much as these rows need to grow by so many tokens; `let_go_kept` releases what
        is kept for those who wait, and says whether there was anything. Returns whether there is
        room."""
        needed = sum(row.tail.storage.growth_bytes(num_tokens) for row, num_tokens in growth)
        self._growth_bytes = needed
        while (missing := self._admission.bytes_to_evict(needed)) > 0:
            self._cache.reclaim(missing)
            if self._admission.missing_bytes(needed) <= 0:
                return True
            if not let_go_kept():
                return False
        return True

    def relieve(self, pressed: bool, now: float) -> None:
        """The machine is short of memory, or no longer: keep only what is in use and what is hot
        (design D6)."""
        if not pressed:
            self.notice = ""
            return
        given = self._cache.keep_hot(now)
        if given.num_bytes:
            log.warning("The machine is short of memory: %d bytes of KV given up.", given.num_bytes)
        self.notice = SHRUNK

    def book(self) -> None:
        """Count everything that was evicted since the last time."""
        for each in self._cache.take_evicted():
            reason = each.reason.value
            self._counters.count_eviction(reason, each.client, each.num_pages, each.num_bytes)
            self._metrics.evicted(
                each.num_pages, each.num_bytes, reason, each.standing.name.lower()
            )
