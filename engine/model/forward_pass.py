"""One forward pass of rows, which counts wholly or not at all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from engine.cache.row import Row
from engine.model.common_tail import CommonTail


class ForwardPass:
    """Rows, how many of their next tokens each computes (`counts`), and the tails that some of them
    have in common. Made before anything grows; then either `settle` or `undo`."""

    __slots__ = ("_marks", "_storages", "commons", "counts", "rows")

    def __init__(
        self, rows: Sequence[Row], counts: Sequence[int], commons: Sequence[CommonTail]
    ) -> None:
        self.rows = rows
        self.counts = counts
        self.commons = commons
        self._storages: list[Any] = [row.tail.storage for row in rows]
        self._marks = [storage.mark() for storage in self._storages]

    def arrays(self) -> list[object]:
        """What has grown, to be evaluated before `settle`."""
        return [grown.arrays() for grown in (*self._storages, *self.commons)]

    def settle(self) -> None:
        """It has been evaluated."""
        for common in self.commons:
            common.settle()
        for storage, count in zip(self._storages, self.counts, strict=True):
            storage.advance(count)

    def undo(self) -> frozenset[int]:
        """Take every row back to where it stood; indices of those whose arrays are lost."""
        lost: set[int] = set()
        for common in self.commons:
            try:
                common.go_back()
            except Exception:
                lost.update(common.rows)
        for i, (storage, mark) in enumerate(zip(self._storages, self._marks, strict=True)):
            try:
                storage.go_back(mark)
            except Exception:
                lost.add(i)
        return frozenset(lost)
