"""Turning queries to other positions, so that a part can be read where it was not computed (design
D7, D10): its keys stay as they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mlx.core as mx

from engine.cache.layout import LayerKind, Layout
from engine.model.attention import Rotate


def rotations(model: Any, layout: Layout) -> list[Rotate | None]:
    """For each leaf of the layout, what turns the queries of its layer: the layer's own rotary
    embedding. None where there is none to be found, as in layers that keep a state."""
    found: list[Rotate | None] = []
    for layer, kind in zip(model.layers, layout.layers, strict=False):
        ropes = [module.rope for module in layer.modules() if callable(_rope_of(module))]
        rotate = _rotate_by(ropes[0]) if len(ropes) == 1 else None
        found += [
            rotate if leaf.kind in (LayerKind.FULL, LayerKind.SLIDING) else None
            for leaf in kind.leaves()
        ]
    return found + [None] * (len(layout.leaves) - len(found))


def _rope_of(module: Any) -> Any:
    return getattr(module, "rope", None)


def _rotate_by(rope: Any) -> Rotate:
    def rotate(queries: mx.array, positions: int) -> mx.array:
        """Turn every query of [1, kv_heads, queries, head_dim] by the same number of positions."""
        rows: Sequence[int] = queries.shape
        apart = queries.reshape(1, rows[1] * rows[2], 1, rows[3])
        turned: mx.array = rope(apart, offset=positions)
        return turned.reshape(rows)

    return rotate
