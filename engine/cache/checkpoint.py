"""Checkpoints: positions at which a model with other than full attention can be taken up again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.cache.kept import Kept

if TYPE_CHECKING:
    from engine.cache.cost import KVCost
    from engine.cache.page import Page
    from engine.cache.part import Part


class Checkpoint(Kept):
    """The end of a part whose recurrent states and windows are kept there.

    It is found below `node`, the last full page before it, by the tokens from there on (`key`). It
    is never trimmed or reset, only restored at its own position.
    """

    __slots__ = ("computed_by_prefill", "holds", "key", "node", "part")

    def __init__(self, node: Page, key: bytes, part: Part, *, computed_by_prefill: bool) -> None:
        super().__init__()
        self.node = node
        self.key = key
        self.part = part
        self.computed_by_prefill = computed_by_prefill
        self.holds = 0  # pins that stand here

    @property
    def end(self) -> int:
        return self.part.end

    def price(self, cost: KVCost) -> int:
        return cost.end_bytes(self.end)
