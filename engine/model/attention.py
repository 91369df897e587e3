"""Attention of rows over parts and tails (design D2, D5, D10).

A model of mlx-lm sees one cache object a layer. Here that object stands for a whole batch of rows,
each with a chain of shared parts and a private tail. Every part is read once for all rows that
stand on it: their queries are folded into one query axis. What is gathered for a row are scores,
never keys or values.
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
    """Tokens [start, end) of a part, and the batch rows (indices) that attend to them."""

    storage: PartStorage
    start: int
    end: int
    rows: tuple[int, ...]


class RowsCache:
    """One layer's cache for a batch of rows, in the place of an mlx-lm cache object.

    `offset` is the RoPE position of each row's next token, int32 [rows]. `update_and_fetch` returns
    one pair of tail arrays a row, which only `rows_attention` understands; with a `window`, no more
    of them than it sees.
    """

    __slots__ = ("leaf", "offset", "shared", "tails", "window")

    def __init__(
        self,
        leaf: int,
        offset: mx.array,
        shared: Sequence[SharedView],
        tails: Sequence[Any],
        window: int = 0,
    ) -> None:
        self.leaf = leaf
        self.offset = offset
        self.shared = shared
        self.tails = tails
        self.window = window

    def update_and_fetch(
        self, keys: mx.array, values: mx.array
    ) -> tuple[list[mx.array], list[mx.array]]:
        pairs = [
            tail.update_and_fetch(keys[i : i + 1], values[i : i + 1])
            for i, tail in enumerate(self.tails)
        ]
        if self.window:
            pairs = [(k[..., -self.window :, :], v[..., -self.window :, :]) for k, v in pairs]
        return [k for k, _ in pairs], [v for _, v in pairs]

    def make_mask(self, num_tokens: int, **_: Any) -> str | None:
        return None if num_tokens == 1 else "causal"


def shared_views(rows: Sequence[Row], reach: int | None = None) -> list[SharedView]:
    """What these rows attend to in their parts: everything, or the last `reach` tokens before the
    next one of each. Tokens that several rows see are named once."""
    users: dict[tuple[int, int, int], list[int]] = {}
    storages: dict[int, PartStorage] = {}
    for i, row in enumerate(rows):
        seen = 0 if reach is None else row.num_computed - reach
        for view in row.hold.views:
            start = max(0, seen - view.part.base)
            if start < view.num_tokens:
                storages[view.part.serial] = part_storage(view.part.storage)
                users.setdefault((view.part.serial, start, view.num_tokens), []).append(i)
    return [
        SharedView(storages[serial], start, end, tuple(of))
        for (serial, start, end), of in users.items()
    ]


class JoinedCache:
    """One layer's cache for a single row, its parts copied behind each other for every forward
    pass: exact for any model that uses plain KV caches. The way for models that cannot take rows,
    and for long chunks."""

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

    def make_mask(
        self, num_tokens: int, return_array: bool = False, window_size: int | None = None
    ) -> Any:
        from mlx_lm.models.cache import create_attention_mask

        return create_attention_mask(
            num_tokens, offset=self.offset, return_array=return_array, window_size=window_size
        )


def install(module: ModuleType) -> None:
    """Make the attention function of a model's module understand RowsCache. mlx-lm's model modules
    import it by name, so it is replaced in the module that defines the attention class.
    Idempotent."""
    fused: Attention = module.scaled_dot_product_attention
    if getattr(fused, "takes_rows", False):
        return

    def scaled_dot_product_attention(
        queries: mx.array,
        keys: Any,
        values: Any,
        cache: Any,
        scale: float,
        mask: Any,
        sinks: mx.array | None = None,
    ) -> mx.array:
        if isinstance(cache, RowsCache):
            return rows_attention(
                fused, queries, keys, values, cache, scale=scale, mask=mask, sinks=sinks
            )
        return fused(queries, keys, values, cache=cache, scale=scale, mask=mask, sinks=sinks)

    scaled_dot_product_attention.takes_rows = True  # type: ignore[attr-defined]
    module.scaled_dot_product_attention = scaled_dot_product_attention  # type: ignore[attr-defined]


def rows_attention(
    fused: Attention,
    queries: mx.array,
    keys: Sequence[mx.array],
    values: Sequence[mx.array],
    cache: RowsCache,
    *,
    scale: float,
    mask: Any,
    sinks: mx.array | None = None,
) -> mx.array:
    """Attention of `queries` [rows, heads, n, head_dim] over each row's parts and tail, [rows,
    heads, n, value_dim].

    `keys` and `values` hold each row's tail, [1, kv_heads, tokens, head_dim]. Rows without parts
    use `fused`. A row's scores over all its pieces go through one softmax, so the result is that of
    one contiguous KV. `sinks` [heads] are scores that take part in it and have no value.
    """
    num_rows, heads, n, dim = queries.shape
    kv_heads = keys[0].shape[1]
    # Four axes throughout: dropping one from a slice of a longer buffer would copy it.
    folded = (queries * scale).reshape(num_rows, kv_heads, heads // kv_heads * n, dim)
    rows = _split(folded, num_rows, axis=0)
    scores: list[list[mx.array]] = [[] for _ in range(num_rows)]
    for view in cache.shared:
        part_keys, _ = view.storage.read(cache.leaf, view.start, view.end)
        over_part = _fold([rows[i] for i in view.rows]) @ part_keys.swapaxes(-1, -2)
        for i, own in zip(view.rows, _unfold(over_part, len(view.rows)), strict=True):
            scores[i].append(own)
    weights: list[list[mx.array]] = []
    outputs: list[mx.array] = []
    for i, own_scores in enumerate(scores):
        if own_scores:
            over_tail = rows[i] @ keys[i].swapaxes(-1, -2)
            weights.append(_weights(own_scores, over_tail, n, sinks))
            outputs.append(weights[i][-1] @ values[i])
        else:
            alone = fused(
                queries[i : i + 1],
                keys[i],
                values[i],
                cache=None,
                scale=scale,
                mask=mask,
                sinks=sinks,
            )
            weights.append([])
            outputs.append(alone.reshape(1, *folded.shape[1:3], -1))
    used = [0] * num_rows  # pieces of each row taken so far, in the order of `cache.shared`
    for view in cache.shared:
        _, part_values = view.storage.read(cache.leaf, view.start, view.end)
        over_part = _fold([weights[i][used[i]] for i in view.rows]) @ part_values
        for i, own in zip(view.rows, _unfold(over_part, len(view.rows)), strict=True):
            outputs[i] = outputs[i] + own
            used[i] += 1
    return mx.concatenate(outputs).reshape(num_rows, heads, n, -1)


def _weights(
    over_parts: Sequence[mx.array], over_tail: mx.array, n: int, sinks: mx.array | None
) -> list[mx.array]:
    """Softmax over all pieces of a row, cut into its pieces again; sums in float32 whatever the
    KV's dtype.

    Scores are [1, kv_heads, repeats * n, tokens]; of the tail, the last `n` keys are the queries'
    own tokens.
    """
    if n > 1:
        tokens = over_tail.shape[-1]
        causal = mx.arange(tokens - n, tokens)[:, None] >= mx.arange(tokens)[None]
        over_tail = mx.where(mx.tile(causal, (over_tail.shape[2] // n, 1)), over_tail, -mx.inf)
    pieces = [*over_parts, over_tail]
    if sinks is not None:
        _, kv_heads, queries, _ = over_tail.shape
        of_heads = sinks.astype(over_tail.dtype).reshape(1, kv_heads, queries // n, 1)
        pieces.append(mx.repeat(of_heads, n, axis=2))
    ends: list[int] = []
    for piece in pieces[:-1]:
        ends.append(piece.shape[-1] + (ends[-1] if ends else 0))
    whole = mx.softmax(mx.concatenate(pieces, axis=-1), axis=-1, precise=True)
    weights = _split(whole, ends, axis=-1)
    return weights if sinks is None else weights[:-1]


def _fold(rows: Sequence[mx.array]) -> mx.array:
    """Arrays [1, kv_heads, per_row, width], one a row, as one [1, kv_heads, rows * per_row,
    width]."""
    return rows[0] if len(rows) == 1 else mx.concatenate(list(rows), axis=2)


def _unfold(folded: mx.array, num_rows: int) -> Sequence[mx.array]:
    """The reverse of `_fold`."""
    return _split(folded, num_rows, axis=2)


def _split(whole: mx.array, pieces: int | list[int], axis: int) -> list[mx.array]:
    """As `mx.split`, but always a list."""
    split: Any = [whole] if pieces == 1 else mx.split(whole, pieces, axis=axis)
    return list(split)


def part_storage(storage: object) -> PartStorage:
    """The storage of a part, of which the cache knows nothing. Raises TypeError."""
    if not isinstance(storage, PartStorage):
        raise TypeError("a private state cannot be attended over in rows")
    return storage
