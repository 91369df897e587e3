"""Attention of rows over parts and tails (design D2, D5, D10).

A model of mlx-lm sees one cache object a layer. Here that object stands for a whole batch of rows,
each with a chain of shared parts and a private tail. Every part is read once for all rows that
stand on it: their queries are folded into one query axis. What is gathered for a row are scores,
never keys or values.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import mlx.core as mx
from mlx_lm.models.base import create_causal_mask

from engine.cache.part import View
from engine.cache.row import Row
from engine.model.kv import PartStorage
from engine.model.softmax import softmax

Attention = Callable[..., mx.array]
Users = tuple[int, ...]


Rotate = Callable[[mx.array, int], mx.array]


@dataclass(frozen=True, slots=True)
class SharedView:
    """Tokens [start, end) of a part, and the batch rows (indices) that attend to them.

    `position` is where their first token stands in those rows; its key is rotated for `position` -
    `shift`. A plain prefix stands where it was computed: its shift is 0.
    """

    storage: PartStorage
    start: int
    end: int
    rows: tuple[int, ...]
    position: int
    shift: int = 0


class RowsCache:
    """One layer's cache for a batch of rows, in the place of an mlx-lm cache object.

    Row i computes `counts[i]` tokens from position `starts[i]` on; where they differ, the batch is
    filled up behind the shorter rows, and what stands there is neither stored nor attended to.
    `update_and_fetch` returns one pair of tail arrays a row, which only `rows_attention`
    understands; with a `window`, no more of them than it sees. `rotate` turns queries by a number
    of positions, for views that are shifted. `masks` are shared by the layers of a pass, which all
    need the same.
    """

    __slots__ = (
        "counts",
        "leaf",
        "masks",
        "offset",
        "rotate",
        "shared",
        "starts",
        "tails",
        "window",
    )

    def __init__(
        self,
        leaf: int,
        starts: Sequence[int],
        counts: Sequence[int],
        shared: Sequence[SharedView],
        tails: Sequence[Any],
        *,
        window: int = 0,
        offset: int | mx.array | None = None,
        rotate: Rotate | None = None,
        masks: dict[object, mx.array] | None = None,
    ) -> None:
        self.masks = {} if masks is None else masks
        self.leaf = leaf
        self.starts = starts
        self.counts = counts
        self.shared = shared
        self.tails = tails
        self.window = window
        self.rotate = rotate
        self.offset = mx.array(list(starts), dtype=mx.int32) if offset is None else offset

    def update_and_fetch(
        self, keys: mx.array, values: mx.array
    ) -> tuple[list[mx.array], list[mx.array]]:
        num_rows = keys.shape[0]
        pairs = [
            self._append(*of_row)
            for of_row in zip(
                self.tails,
                self.counts,
                _split(keys, num_rows, axis=0),
                _split(values, num_rows, axis=0),
                strict=True,
            )
        ]
        return [k for k, _ in pairs], [v for _, v in pairs]

    def _append(
        self, tail: Any, count: int, keys: mx.array, values: mx.array
    ) -> tuple[mx.array, mx.array]:
        """Give a row's tail what is its own of these; what of it the row sees."""
        if count < keys.shape[2]:
            keys, values = keys[:, :, :count], values[:, :, :count]
        keys, values = tail.update_and_fetch(keys, values)
        if self.window:
            seen = self.window - 1 + count
            keys, values = keys[..., -seen:, :], values[..., -seen:, :]
        return keys, values

    def make_mask(self, num_tokens: int, **_: Any) -> str | None:
        return None if num_tokens == 1 else "causal"


def shared_views(rows: Sequence[Row], reach: int | None = None) -> list[SharedView]:
    """What these rows attend to in their parts: everything, or the last `reach` tokens before the
    next one of each.

    Tokens that several rows see are read once: where rows leave a part at different places, it is
    cut there.
    """
    seen: dict[int, dict[tuple[int, int], list[int]]] = {}
    views: dict[int, View] = {}
    for i, row in enumerate(rows):
        first = 0 if reach is None else row.num_computed - reach
        for view in row.hold.views:
            start = max(0, first - view.part.base)
            if start < view.num_tokens:
                views[view.part.serial] = view
                spans = seen.setdefault(view.part.serial, {})
                spans.setdefault((start, view.num_tokens), []).append(i)
    shared = []
    for serial, spans in seen.items():
        part = views[serial].part
        storage = part_storage(part.storage)
        for start, end, users in _cut(spans) if reach is None else _as_they_are(spans):
            position = part.base + start + views[serial].shift
            shared.append(SharedView(storage, start, end, users, position, views[serial].shift))
    return shared


def _cut(spans: Mapping[tuple[int, int], Sequence[int]]) -> Iterator[tuple[int, int, Users]]:
    """Spans that all begin at 0, cut where any of them ends."""
    start = 0
    for _, end in sorted(spans):
        users = sorted(i for (_, to), of in spans.items() if to >= end for i in of)
        yield start, end, tuple(users)
        start = end


def _as_they_are(
    spans: Mapping[tuple[int, int], Sequence[int]],
) -> Iterator[tuple[int, int, Users]]:
    """Windows begin at another token for every row: equal ones are read together."""
    for (start, end), users in spans.items():
        yield start, end, tuple(users)


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

    # Some models tie other work to these arrays.

    @property
    def keys(self) -> mx.array:
        keys: mx.array = self.tail.keys
        return keys

    @keys.setter
    def keys(self, keys: mx.array) -> None:
        self.tail.keys = keys

    @property
    def values(self) -> mx.array:
        values: mx.array = self.tail.values
        return values

    @values.setter
    def values(self, values: mx.array) -> None:
        self.tail.values = values

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
    num_rows, heads, width, _ = queries.shape
    if num_rows == width == 1 and sinks is None and _plain(cache.shared):
        return _one_token(queries * scale, keys[0], values[0], cache)
    kv_heads = keys[0].shape[1]
    rows = _folded(queries * scale, cache.counts, kv_heads)
    groups = _groups(cache.shared, num_rows)
    scores: list[list[mx.array]] = [[] for _ in groups]
    readers = [
        [g for g, group in enumerate(groups) if n in group.views] for n in range(len(cache.shared))
    ]
    asking = [_fold([rows[i] for i in group.rows]) for group in groups]
    for view, reading in zip(cache.shared, readers, strict=True):
        part_keys, _ = view.storage.read(cache.leaf, view.start, view.end)
        queries_of = [asking[g] for g in reading]
        if view.shift:
            queries_of = _turned(queries_of, cache, view.shift)
        over_part = _fold(queries_of) @ part_keys.swapaxes(-1, -2)
        for g, own in zip(reading, _unfold(over_part, queries_of), strict=True):
            scores[g].append(_in_window(own, cache, groups[g].rows, view.position))
    outputs: list[mx.array] = [rows[0]] * num_rows
    weights: list[list[mx.array]] = []
    for group, own_scores in zip(groups, scores, strict=True):
        if not own_scores:
            weights.append([])
            for i in group.rows:
                outputs[i] = _alone(fused, queries, keys, values, cache, i, scale, sinks)
            continue
        over_tails = _over_tails([rows[i] for i in group.rows], keys, cache, group.rows)
        counts = [cache.counts[i] for i in group.rows]
        weights.append(_weights([*own_scores, over_tails], counts, sinks))
        of_rows = _unfold(weights[-1][-1], [rows[i] for i in group.rows])
        for i, own in zip(group.rows, of_rows, strict=True):
            outputs[i] = own[..., : values[i].shape[2]] @ values[i]
    totals = [_fold([outputs[i] for i in group.rows]) for group in groups]
    for view, reading in zip(cache.shared, readers, strict=True):
        _, part_values = view.storage.read(cache.leaf, view.start, view.end)
        weights_of = [weights[g].pop(0) for g in reading]
        over_part = _fold(weights_of) @ part_values
        for g, own in zip(reading, _unfold(over_part, weights_of), strict=True):
            totals[g] = totals[g] + own
    return _in_order(totals, groups, cache.counts, (num_rows, heads, width))


def _plain(shared: Sequence[SharedView]) -> bool:
    """Whether there are parts, all of them read where they were computed."""
    return bool(shared) and not any(view.shift for view in shared)


def _one_token(queries: mx.array, keys: mx.array, values: mx.array, cache: RowsCache) -> mx.array:
    """The next token of a row that is alone, with nothing to fold, to mask or to put in order:
    `queries` [1, heads, 1, head_dim], scaled, over its parts and its tail, [1, kv_heads, tokens,
    head_dim] each. Returns [1, heads, 1, value_dim]."""
    _, heads, _, dim = queries.shape
    kv_heads = keys.shape[1]
    asking = queries.reshape(1, kv_heads, heads // kv_heads, dim)
    pieces = [view.storage.read(cache.leaf, view.start, view.end) for view in cache.shared]
    pieces.append((keys, values))
    weights = _weights([asking @ k.swapaxes(-1, -2) for k, _ in pieces], (1,), None)
    total = weights[0] @ pieces[0][1]
    for own, (_, of_piece) in zip(weights[1:], pieces[1:], strict=True):
        total = total + own @ of_piece
    return total.reshape(1, heads, 1, -1)


@dataclass(frozen=True, slots=True)
class _Group:
    """Rows that attend to the same views (indices of both)."""

    rows: tuple[int, ...]
    views: tuple[int, ...]


def _groups(shared: Sequence[SharedView], num_rows: int) -> list[_Group]:
    """Rows by the views they attend to, so that what is done for all of them is done once."""
    views: list[list[int]] = [[] for _ in range(num_rows)]
    for n, view in enumerate(shared):
        for i in view.rows:
            views[i].append(n)
    alike: dict[tuple[int, ...], list[int]] = {}
    for i, of_row in enumerate(views):
        alike.setdefault(tuple(of_row), []).append(i)
    return [_Group(tuple(rows), of_rows) for of_rows, rows in alike.items()]


def _over_tails(
    rows: Sequence[mx.array], keys: Sequence[mx.array], cache: RowsCache, indices: Sequence[int]
) -> mx.array:
    """Scores of a group's rows over their own tails, behind each other in the query axis; behind a
    shorter tail they are -inf."""
    most = max(keys[i].shape[2] for i in indices)
    pieces = []
    for row, i in zip(rows, indices, strict=True):
        over_tail = _causal(row @ keys[i].swapaxes(-1, -2), cache, i)
        tokens = over_tail.shape[3]
        over_tail = _in_window(over_tail, cache, (i,), cache.starts[i] + cache.counts[i] - tokens)
        if tokens < most:
            over_tail = mx.pad(
                over_tail,
                [(0, 0), (0, 0), (0, 0), (0, most - tokens)],
                constant_values=mx.array(-mx.inf, over_tail.dtype),
            )
        pieces.append(over_tail)
    return _fold(pieces)


def _in_order(
    totals: Sequence[mx.array],
    groups: Sequence[_Group],
    counts: Sequence[int],
    shape: tuple[int, int, int],
) -> mx.array:
    """The groups' outputs as [rows, heads, width, value_dim], rows in order, filled up to the
    width."""
    num_rows, heads, width = shape
    if len(groups) == 1 and min(counts) == width:  # queries of a row lie together
        kv_heads, _, dim = totals[0].shape[1:]
        apart = totals[0].reshape(kv_heads, num_rows, heads // kv_heads * width, dim)
        return apart.swapaxes(0, 1).reshape(num_rows, heads, width, dim)
    outputs: list[mx.array | None] = [None] * num_rows
    for group, total in zip(groups, totals, strict=True):
        ends = list(itertools.accumulate(heads // total.shape[1] * counts[i] for i in group.rows))
        for i, own in zip(group.rows, _split(total, ends[:-1], axis=2), strict=True):
            outputs[i] = _filled(own.reshape(1, heads, counts[i], -1), width)
    return mx.concatenate([own for own in outputs if own is not None])


def _folded(queries: mx.array, counts: Sequence[int], kv_heads: int) -> list[mx.array]:
    """Each row's queries with the heads of a KV head in one axis, [1, kv_heads, repeats * count,
    head_dim]. Four axes throughout: dropping one from a slice of a longer buffer would copy it."""
    num_rows, heads, width, dim = queries.shape
    repeats = heads // kv_heads
    if min(counts) == width:
        whole = queries.reshape(num_rows, kv_heads, repeats * width, dim)
        return _split(whole, num_rows, axis=0)
    return [
        queries[i : i + 1, :, :count].reshape(1, kv_heads, repeats * count, dim)
        for i, count in enumerate(counts)
    ]


def _turned(rows: Sequence[mx.array], cache: RowsCache, shift: int) -> list[mx.array]:
    """Queries turned back by `shift` positions: against keys that are rotated for as many less,
    the scores are those of keys rotated for where they stand (design D10)."""
    if cache.rotate is None:
        raise ValueError("this layer's keys cannot be read at another position")
    return [cache.rotate(row, -shift) for row in rows]


def _alone(
    fused: Attention,
    queries: mx.array,
    keys: Sequence[mx.array],
    values: Sequence[mx.array],
    cache: RowsCache,
    row: int,
    scale: float,
    sinks: mx.array | None,
) -> mx.array:
    """Attention of a row that stands on nothing, [1, kv_heads, repeats * count, value_dim]."""
    count = cache.counts[row]
    mask: Any = "causal" if count > 1 else None
    if count > 1 and cache.window and keys[row].shape[2] > cache.window:
        mask = create_causal_mask(count, keys[row].shape[2] - count, window_size=cache.window)
    out = fused(
        queries[row : row + 1, :, :count],
        keys[row],
        values[row],
        cache=None,
        scale=scale,
        mask=mask,
        sinks=sinks,
    )
    kv_heads = keys[row].shape[1]
    return out.reshape(1, kv_heads, out.shape[1] // kv_heads * count, -1)


def _causal(over_tail: mx.array, cache: RowsCache, row: int) -> mx.array:
    """Scores over a tail, [1, kv_heads, repeats * count, tokens], whose last `count` keys are the
    queries' own tokens."""
    count = cache.counts[row]
    if count == 1:
        return over_tail
    queries, tokens = over_tail.shape[2:]
    key = ("causal", queries, tokens, count)
    if (mask := cache.masks.get(key)) is None:
        causal = mx.arange(tokens - count, tokens)[:, None] >= mx.arange(tokens)[None]
        mask = cache.masks[key] = mx.tile(causal, (queries // count, 1))
    return mx.where(mask, over_tail, -mx.inf)


def _in_window(scores: mx.array, cache: RowsCache, rows: Sequence[int], position: int) -> mx.array:
    """Scores of some rows over keys from `position` on, without those that a row's later queries
    see no more. Its first query sees all of them."""
    if not cache.window or max(cache.counts[i] for i in rows) == 1:
        return scores
    queries, tokens = scores.shape[2:]
    repeats = queries // sum(cache.counts[i] for i in rows)
    firsts = tuple(cache.starts[i] - position for i in rows)  # counted from the first key
    key = (cache.window, tokens, repeats, firsts, tuple(cache.counts[i] for i in rows))
    if (mask := cache.masks.get(key)) is None:
        asked = [
            mx.tile(mx.arange(first, first + cache.counts[i]), repeats)
            for first, i in zip(firsts, rows, strict=True)
        ]
        seen = mx.arange(tokens)[None] > mx.concatenate(asked)[:, None] - cache.window
        mask = cache.masks[key] = seen
    return mx.where(mask, scores, -mx.inf)


def _weights(
    pieces: Sequence[mx.array], counts: Sequence[int], sinks: mx.array | None
) -> list[mx.array]:
    """Softmax over all pieces of a group's scores, [1, kv_heads, queries, tokens] each, cut into
    its pieces again; sums in float32 whatever the KV's dtype."""
    pieces = list(pieces)
    if sinks is not None:
        _, kv_heads, queries, _ = pieces[0].shape
        of_heads = sinks.astype(pieces[0].dtype).reshape(1, kv_heads, queries // sum(counts), 1)
        pieces.append(mx.concatenate([mx.repeat(of_heads, n, axis=2) for n in counts], axis=2))
    ends: list[int] = []
    for piece in pieces[:-1]:
        ends.append(piece.shape[-1] + (ends[-1] if ends else 0))
    whole = softmax(mx.concatenate(pieces, axis=-1))
    weights = _split(whole, ends, axis=-1)
    return weights if sinks is None else weights[:-1]


def _fold(rows: Sequence[mx.array]) -> mx.array:
    """Arrays [1, kv_heads, queries, width], one a row, behind each other in the query axis."""
    return rows[0] if len(rows) == 1 else mx.concatenate(list(rows), axis=2)


def _unfold(folded: mx.array, rows: Sequence[mx.array]) -> list[mx.array]:
    """The reverse of `_fold`: pieces as long as those of `rows`."""
    ends = list(itertools.accumulate(row.shape[2] for row in rows[:-1]))
    return _split(folded, ends, axis=2)


def _filled(own: mx.array, width: int) -> mx.array:
    """A row's outputs [1, heads, count, value_dim], filled up to the batch's width."""
    return mx.pad(own, [(0, 0), (0, 0), (0, width - own.shape[2]), (0, 0)])


def _split(whole: mx.array, pieces: int | list[int], axis: int) -> list[mx.array]:
    """As `mx.split`, but always a list."""
    split: Any = [whole] if pieces in (1, []) else mx.split(whole, pieces, axis=axis)
    return list(split)


def part_storage(storage: object) -> PartStorage:
    """The storage of a part, of which the cache knows nothing. Raises TypeError."""
    if not isinstance(storage, PartStorage):
        raise TypeError("a private state cannot be attended over in rows")
    return storage
