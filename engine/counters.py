"""What is counted for as long as the engine object lives."""

from __future__ import annotations

from dataclasses import dataclass, field, fields

from engine.snapshot import EvictionTotal, Totals

MOST_CLIENTS = 32  # beyond that all others are counted as one
OTHERS = "others"


@dataclass(slots=True)
class Counters:
    """Totals that outlive a loop, and the number of its latest snapshot. Written on the engine
    thread only. `evicted` has pages and bytes by reason and client."""

    seq: int = 0
    requests: int = 0
    hits: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    awaited_tokens: int = 0
    completion_tokens: int = 0
    evicted_pages: int = 0
    evicted_bytes: int = 0
    preemptions: int = 0
    recomputed_tokens: int = 0
    lost_tokens: int = 0
    new_tokens: int = 0
    starts: int = 0
    restarts: int = 0
    evicted: dict[tuple[str, str], tuple[int, int]] = field(default_factory=dict)

    def totals(self) -> Totals:
        return Totals(**{each.name: getattr(self, each.name) for each in fields(Totals)})

    def evictions(self) -> tuple[EvictionTotal, ...]:
        return tuple(
            EvictionTotal(reason, client, *total)
            for (reason, client), total in sorted(self.evicted.items())
        )

    def count_eviction(self, reason: str, client: str, num_pages: int, num_bytes: int) -> None:
        """Pages of a client were given up, for one of a few fixed reasons."""
        self.evicted_pages += num_pages
        self.evicted_bytes += num_bytes
        if client not in self._clients() and len(self._clients()) >= MOST_CLIENTS:
            client = OTHERS
        pages, total = self.evicted.get((reason, client), (0, 0))
        self.evicted[reason, client] = (pages + num_pages, total + num_bytes)

    def _clients(self) -> set[str]:
        return {client for _, client in self.evicted}
