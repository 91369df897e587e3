"""What each client alone keeps in the cache: the books over fairness."""

from __future__ import annotations

from collections.abc import Iterable

from engine.cache.cost import KVCost
from engine.cache.kept import Kept


class Shares:
    """Bytes by client. What a second client used is charged to nobody. `most_bytes` is what one
    client may keep while others keep something too; None sets no limit."""

    def __init__(self, cost: KVCost, most_bytes: int | None = None) -> None:
        self.bytes_of: dict[str, int] = {}
        self._cost = cost
        self._most_bytes = most_bytes

    def charge(self, kept: Kept) -> None:
        if not kept.shared:
            self._change(kept.owner, kept.price(self._cost))

    def release(self, kept: Kept) -> None:
        if not kept.shared:
            self._change(kept.owner, -kept.price(self._cost))

    def share(self, kept: Kept) -> None:
        """Another client than its owner used it, for the first time."""
        self.release(kept)
        kept.shared = True

    def is_over(self, client: str) -> bool:
        """Whether a client keeps more than its share while others keep something too."""
        return (
            self._most_bytes is not None
            and len(self.bytes_of) > 1
            and self.bytes_of.get(client, 0) > self._most_bytes
        )

    def counted(self, everything: Iterable[Kept]) -> dict[str, int]:
        """`bytes_of` as it should be, from everything that is kept."""
        check = Shares(self._cost)
        for kept in everything:
            check.charge(kept)
        return check.bytes_of

    def _change(self, client: str, num_bytes: int) -> None:
        now = self.bytes_of.get(client, 0) + num_bytes
        if now:
            self.bytes_of[client] = now
        else:
            self.bytes_of.pop(client, None)
