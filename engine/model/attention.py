"""Attention of rows over parts and tails (design D2, D5, D10).

A model of mlx-lm sees one cache object a layer. Here that object stands for a whole batch of rows, each with a
chain of shared parts and a private tail. Every part is read once for all rows that stand on it: their queries are
folded into one query axis. The pieces are merged by their log-sum-exp, so the result is exact.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import mlx.core as mx

from engine.cache.row import Row
from engine.model.kv import PartStorage

Attention = Callable[..., mx.array]


@dataclass(frozen=True, slots=True)
class SharedView:
    """The first `num_tokens` tokens of a part, and the batch rows (indices) that stand on them."""

    storage: PartStorage
    num_tokens: int
    rows: tuple[int, ...]


class RowsCache:
    """One layer's cache for a batch of rows, in the place of an mlx-lm cache object.

    `offset` is the RoPE position of each row's next token, int32 [rows]. `update_and_fetch` returns one pair of
    tail arrays a row, which only `rows_attention` understands.
    """

    __slots__ = ("layer", "offset", "shared", "tails")

    def __init__(self, layer: int, offset: mx.array, shared: Sequence[SharedView], tails: Sequence[Any]) -> None:
        self.layer = layer
        self.offset = offset
        self.shared = shared
        self.tails = tails

    def update_and_fetch(self, keys: mx.array, values: mx.array) -> tuple[list[mx.array], list[mx.array]]:
        pairs = [tail.update_and_fetch(keys[i : i + 1], values[i : i + 1]) for i, tail in enumerate(self.tails)]
        return [k for k, _ in pairs], [v for _, v in pairs]

    def make_mask(self, num_tokens: int, **_: Any) -> str | None:
        return None if num_tokens == 1 else "causal"


def rows_caches(rows: Sequence[Row]) -> list[RowsCache]:
    """One RowsCache a layer for these rows; their tails must be PartStorages."""
    views: dict[tuple[int, int], list[int]] = {}
    storages: dict[int, PartStorage] = {}
    for i, row in enumerate(rows):
        for view in row.hold.views:
            storages[view.part.serial] = _part_storage(view.part.storage)
            views.setdefault((view.part.serial, view.num_tokens), []).append(i)
    shared = [SharedView(storages[serial], n, tuple(users)) for (serial, n), users in views.items()]
    tails = [_part_storage(row.tail.storage) for row in rows]
    offset = mx.array([row.num_computed for row in rows], dtype=mx.int32)
    return [
        RowsCache(layer, offset, shared, [tail.layers[layer] for tail in tails])
        for layer in range(len(tails[0].layers))
    ]


class JoinedCache:
    """One layer's cache for a single row, its parts copied behind each other at every step: exact for any model that
    uses plain KV caches, and the way for those that cannot take rows."""

    __slots__ = ("base", "prefix", "tail")

    def __init__(self, base: int, prefix: Sequence[tuple[mx.array, mx.array]], tail: Any) -> None:
        self.base = base
        self.prefix = prefix
        self.tail = tail

    @property
    def offset(self) -> int:
        return self.base + int(self.tail.offset)

    def update_and_fetch(self, keys: mx.array, values: mx.array) -> tuple[mx.array, mx.array]:
        keys, values = self.tail.update_and_fetch(keys, values)
        if not self.prefix:
            return keys, values
        return (
            mx.concatenate([*(k for k, _ in self.prefix), keys], axis=2),
            mx.concatenate([*(v for _, v in self.prefix), values], axis=2),
        )

    def make_mask(self, num_tokens: int, return_array: bool = False, window_size: int | None = None) -> Any:
        from mlx_lm.models.cache import create_attention_mask  # noqa: PLC0415

        return create_attention_mask(
            num_tokens, offset=self.offset, return_array=return_array, window_size=window_size
        )


def joined_caches(row: Row) -> list[JoinedCache]:
    """One JoinedCache a layer for one row; its tail must be a PartStorage."""
    tail = _part_storage(row.tail.storage)
    chain = [(_part_storage(view.part.storage), view.num_tokens) for view in row.hold.views]
    return [
        JoinedCache(row.tail.base, [storage.read(layer, n) for storage, n in chain], cache)
        for layer, cache in enumerate(tail.layers)
    ]


def install(module: ModuleType) -> None:
    """Make the attention function of a model's module understand RowsCache. mlx-lm's model modules import it by name,
    so it is replaced in the module that defines the attention class. Idempotent."""
    fused: Attention = module.scaled_dot_product_attention
    if getattr(fused, "takes_rows", False):
        return

    def scaled_dot_product_attention(
        queries: mx.array, keys: Any, values: Any, cache: Any = None, **options: Any
    ) -> mx.array:
        if isinstance(cache, RowsCache):
            return rows_attention(fused, queries, keys, values, cache, **options)
        return fused(queries, keys, values, cache=cache, **options)

    scaled_dot_product_attention.takes_rows = True  # type: ignore[attr-defined]
    module.scaled_dot_product_attention = scaled_dot_product_attention  # type: ignore[attr-defined]


@dataclass(slots=True)
class _Piece:
    """Attention of some queries over some of their keys, not yet normalised: largest score and sum of exponentials
    [..., 1] and weighted values [..., head_dim], all float32."""

    peak: mx.array
    total: mx.array
    weighted: mx.array

    def merged(self, other: _Piece) -> _Piece:
        peak = mx.maximum(self.peak, other.peak)
        mine, theirs = mx.exp(self.peak - peak), mx.exp(other.peak - peak)
        return _Piece(
            peak, self.total * mine + other.total * theirs, self.weighted * mine + other.weighted * theirs
        )


def rows_attention(
    fused: Attention,
    queries: mx.array,
    keys: Sequence[mx.array],
    values: Sequence[mx.array],
    cache: RowsCache,
    *,
    scale: float,
    mask: Any,
    **options: Any,
) -> mx.array:
    """Attention of `queries` [rows, heads, n, head_dim] over each row's parts and tail; returns the same shape.

    `keys` and `values` hold each row's tail, [1, kv_heads, tokens, head_dim]. Rows without parts use `fused`.
    """
    num_rows, heads, n, dim = queries.shape
    kv_heads = keys[0].shape[1]
    folded = (queries * scale).reshape(num_rows, kv_heads, heads // kv_heads * n, dim)
    pieces: list[_Piece | None] = [None] * num_rows
    for view in cache.shared:
        piece = _over_part(folded, view, cache.layer)
        for position, i in enumerate(view.rows):
            mine = _Piece(piece.peak[position], piece.total[position], piece.weighted[position])
            known = pieces[i]
            pieces[i] = mine if known is None else known.merged(mine)
    outputs = []
    for i, shared in enumerate(pieces):
        if shared is None:
            out = fused(queries[i : i + 1], keys[i], values[i], cache=None, scale=scale, mask=mask, **options)
            outputs.append(out[0])
        else:
            whole = shared.merged(_over_tail(folded[i], keys[i][0], values[i][0], n))
            outputs.append((whole.weighted / whole.total).astype(queries.dtype).reshape(heads, n, dim))
    return mx.stack(outputs)


def _over_part(folded: mx.array, view: SharedView, layer: int) -> _Piece:
    """Pieces of the view's rows over its part, first axis = position in `view.rows`."""
    keys, values = view.storage.read(layer, view.num_tokens)
    num_rows, (_, kv_heads, per_row, dim) = len(view.rows), folded.shape
    if num_rows == folded.shape[0]:
        queries = folded
    else:
        queries = mx.stack([folded[i] for i in view.rows])
    queries = queries.swapaxes(0, 1).reshape(kv_heads, num_rows * per_row, dim)
    piece = _attend(queries, keys[0], values[0], None)

    def per_view_row(x: mx.array) -> mx.array:
        return x.reshape(kv_heads, num_rows, per_row, -1).swapaxes(0, 1)

    return _Piece(per_view_row(piece.peak), per_view_row(piece.total), per_view_row(piece.weighted))


def _over_tail(queries: mx.array, keys: mx.array, values: mx.array, n: int) -> _Piece:
    """A row's piece over its own tail, causal: the last `n` keys are the queries' own tokens.

    queries [kv_heads, repeats * n, dim], keys and values [kv_heads, tokens, dim].
    """
    if n == 1:
        return _attend(queries, keys, values, None)
    tokens = keys.shape[1]
    causal = mx.arange(tokens - n, tokens)[:, None] >= mx.arange(tokens)[None]
    return _attend(queries, keys, values, mx.tile(causal, (queries.shape[1] // n, 1)))


def _attend(queries: mx.array, keys: mx.array, values: mx.array, mask: mx.array | None) -> _Piece:
    """Scores and sums in float32 whatever the KV's dtype; every query must see at least one key."""
    scores = (queries @ keys.swapaxes(-1, -2)).astype(mx.float32)
    if mask is not None:
        scores = mx.where(mask, scores, -mx.inf)
    peak = scores.max(axis=-1, keepdims=True)
    weights = mx.exp(scores - peak)
    weighted = (weights.astype(values.dtype) @ values).astype(mx.float32)
    return _Piece(peak, weights.sum(axis=-1, keepdims=True), weighted)


def _part_storage(storage: object) -> PartStorage:
    if not isinstance(storage, PartStorage):
        raise TypeError("only parts of full-attention KV can be attended over in rows")
    return storage
