"""The cache objects that a model's forward pass is given: one a layer, for one row or for several.

Which they are depends on what the layer keeps, on how many tokens are computed, and on whether the
rows stand on parts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import mlx.core as mx
from mlx_lm.models.cache import ArraysCache, CacheList

from engine.cache.layout import Layer, LayerKind, Layout
from engine.cache.row import Row
from engine.model.attention import JoinedCache, Rotate, RowsCache
from engine.model.common_tail import CommonTail
from engine.model.kv import PartStorage
from engine.model.reading import Reading, Unit, part_storage, shared_views
from engine.model.window import JoinedWindow

# A longer chunk over parts would hold a large score matrix; copying the keys together for the
# model's own fused kernel costs little beside computing so many tokens (design D10).
MOST_TOKENS_OVER_PARTS = 64


class BatchCaches:
    """Caches for one forward pass of rows, of which each computes its own number of tokens
    (`counts`).

    `layers` is what the model takes. With `in_place`, parts are read where they lie, else they are
    copied behind each other; several rows need it. `rotations` are those of the leaves, for views
    that are shifted; `commons` are the tails that some rows have in common. `scatter` gives every
    row its recurrent states back after the pass.
    """

    def __init__(
        self,
        layout: Layout,
        rows: Sequence[Row],
        counts: Sequence[int],
        *,
        in_place: bool,
        rotations: Sequence[Rotate | None],
        commons: Sequence[CommonTail] = (),
    ) -> None:
        self._rows = rows
        self._storages = [part_storage(row.tail.storage) for row in rows]
        self._shape = self._storages[0].shape
        self._counts = tuple(counts)
        self._rotations = rotations
        self._in_rows = in_place and (
            len(rows) > 1 or (bool(rows[0].hold.views) and counts[0] <= MOST_TOKENS_OVER_PARTS)
        )
        self._starts = tuple(row.num_computed for row in rows)
        self._offset = _offset(self._starts)
        self._commons = commons
        self._readings: dict[int | None, Reading] = {}
        self._masks: dict[object, Any] = {}
        self._stacked: dict[int, Any] = {}
        leaves = iter([self._leaf(i) for i in range(len(self._shape.leaves))])
        self.layers = [_assembled(layer, leaves) for layer in layout.layers]

    def scatter(self) -> None:
        """Take the states of a batch apart."""
        for leaf, stacked in self._stacked.items():
            for i, storage in enumerate(self._storages):
                storage.leaves[leaf].cache = [
                    None if arrays is None else arrays[i : i + 1] for arrays in stacked.cache
                ]

    def _leaf(self, leaf: int) -> Any:
        match self._shape.leaves[leaf].kind:
            case LayerKind.FULL:
                return self._full(leaf)
            case LayerKind.SLIDING:
                return self._sliding(leaf)
            case _:
                return self._recurrent(leaf)

    def _full(self, leaf: int) -> Any:
        if self._in_rows:
            return self._over_rows(leaf, None)
        row, tail = self._rows[0], self._storages[0].leaves[leaf]
        if not row.hold.views:
            return tail  # nothing shared: the model's own fused path
        return JoinedCache(row.tail.base, list(_pieces(row, leaf, row.num_computed)), tail)

    def _sliding(self, leaf: int) -> Any:
        if self._in_rows:
            return self._over_rows(leaf, self._shape.leaves[leaf].window)
        row, tail = self._rows[0], self._storages[0].leaves[leaf]
        return JoinedWindow(row.num_computed, list(_pieces(row, leaf, tail.window - 1)), tail)

    def _over_rows(self, leaf: int, window: int | None) -> RowsCache:
        if window not in self._readings:
            self._readings[window] = self._reading(window)
        reading = self._readings[window]
        tails = [
            self._storages[unit.rows[0]].leaves[leaf] if unit.common is None else unit.common
            for unit in reading.units
        ]
        return RowsCache(leaf, reading, tails, offset=self._offset, rotate=self._rotations[leaf])

    def _reading(self, window: int | None) -> Reading:
        commons = self._commons if window is None else ()
        units = [Unit(common.rows, common) for common in commons]
        own = {*range(len(self._rows))}.difference(*(unit.rows for unit in units))
        units += [Unit((i,)) for i in own]
        return Reading(
            self._starts,
            self._counts,
            shared_views(self._rows, None if window is None else window - 1),
            sorted(units, key=lambda unit: unit.rows),
            self._masks,
            window or 0,
        )

    def _recurrent(self, leaf: int) -> Any:
        states = [storage.leaves[leaf] for storage in self._storages]
        if len(states) == 1:
            return states[0]
        if any(state.empty() for state in states):
            raise ValueError("a row without a state cannot join a batch")
        if len(set(self._counts)) > 1:
            raise ValueError("recurrent rows of a batch compute equally many tokens")
        stacked: Any = ArraysCache(len(states[0].cache))
        stacked.cache = [
            None if arrays[0] is None else mx.concatenate(list(arrays))
            for arrays in zip(*(state.cache for state in states), strict=True)
        ]
        self._stacked[leaf] = stacked
        return stacked


def _offset(starts: Sequence[int]) -> int | mx.array:
    """Where rows stand, as models take it; one number for all is cheaper to rotate by."""
    return starts[0] if len({*starts}) == 1 else mx.array(list(starts), dtype=mx.int32)


def starts_without_state(row: Row) -> bool:
    """Whether a row has recurrent layers and no state yet: it cannot join a batch."""
    storage = row.tail.storage
    return isinstance(storage, PartStorage) and any(
        storage.leaves[i].empty() for i in storage.shape.of(LayerKind.RECURRENT)
    )


def _pieces(row: Row, leaf: int, reach: int) -> Iterator[tuple[mx.array, mx.array]]:
    """Keys and values of the last `reach` tokens before the row's next one, as far as they lie in
    its parts."""
    seen = row.num_computed - reach
    for view in row.hold.views:
        start = max(0, seen - view.part.base)
        if start < view.num_tokens:
            yield part_storage(view.part.storage).read(leaf, start, view.num_tokens)


def _assembled(layer: Layer, leaves: Iterator[Any]) -> Any:
    if layer.kind is not LayerKind.COMPOSITE:
        return next(leaves)
    return CacheList(*[_assembled(inner, leaves) for inner in layer.inner])  # type: ignore[no-untyped-call]
