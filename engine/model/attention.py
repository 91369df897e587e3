"""Attention of rows over parts and tails (design D2, D5, D10).

A model of mlx-lm sees one cache object a layer. Here that object stands for a whole batch of rows,
each with a chain of shared parts and a private tail. Every part is read once for all rows that
stand on it: their queries are folded into one query axis. What is gathered for a row are scores,
never keys or values.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import mlx.core as mx
from mlx_lm.models.base import create_causal_mask

from engine.model.common_tail import CommonTail
from engine.model.reading import Group, Reading, Unit, ascend
from engine.model.scores import scores, softmax

Attention = Callable[..., mx.array]
Rotate = Callable[[mx.array, int], mx.array]


class RowsCache:
    """One layer's cache for a batch of rows, in the place of an mlx-lm cache object.

    Where the rows' counts differ, the batch is filled up behind the shorter ones, and what stands
    there is neither stored nor attended to. `tails` are those of the units: a `CommonTail`, or the
    layer's own cache of a row. `update_and_fetch` returns one pair of arrays a unit, which only
    `rows_attention` understands; with a window, no more of them than it sees. `rotate` turns
    queries by a number of positions, for views that are shifted.
    """

    __slots__ = ("leaf", "offset", "reading", "rotate", "tails")

    def __init__(
        self,
        leaf: int,
        reading: Reading,
        tails: Sequence[Any],
        *,
        offset: int | mx.array,
        rotate: Rotate | None = None,
    ) -> None:
        self.leaf = leaf
        self.reading = reading
        self.tails = tails
        self.rotate = rotate
        self.offset = offset

    def update_and_fetch(
        self, keys: mx.array, values: mx.array
    ) -> tuple[list[mx.array], list[mx.array]]:
        units = self.reading.units
        if len(units) == 1 and ascend(units[0].rows):
            pairs = [self._append(self.tails[0], units[0], keys, values)]
        else:
            num_rows = keys.shape[0]
            of_rows = _split(keys, num_rows, axis=0), _split(values, num_rows, axis=0)
            pairs = [
                self._append(tail, unit, *(_of_unit(unit, of) for of in of_rows))
                for tail, unit in zip(self.tails, units, strict=True)
            ]
        return [k for k, _ in pairs], [v for _, v in pairs]

    def _append(
        self, tail: Any, unit: Unit, keys: mx.array, values: mx.array
    ) -> tuple[mx.array, mx.array]:
        """Give a tail what is its own of these; what of it its rows see."""
        count = self.reading.counts[unit.rows[0]]
        if count < keys.shape[2]:
            keys, values = keys[:, :, :count], values[:, :, :count]
        if isinstance(tail, CommonTail):
            return tail.append(self.leaf, keys, values)
        keys, values = tail.update_and_fetch(keys, values)
        if self.reading.window:
            seen = self.reading.window - 1 + count
            keys, values = keys[..., -seen:, :], values[..., -seen:, :]
        return keys, values

    def make_mask(self, num_tokens: int, **_: Any) -> str | None:
        return None if num_tokens == 1 else "causal"


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

    `keys` and `values` hold the tail of each unit, [its rows, kv_heads, tokens, head_dim]. Rows
    without parts use `fused`. A row's scores over all its pieces go through one softmax, so the
    result is that of one contiguous KV. `sinks` [heads] are scores that take part in it and have no
    value.
    """
    num_rows, heads, width, _ = queries.shape
    reading, kv_heads = cache.reading, keys[0].shape[1]
    if reading.simple and sinks is None:
        return _next_tokens(queries, keys[0], values[0], cache, scale)
    asking = _asking(queries * scale, reading, kv_heads)
    over_parts: list[list[mx.array]] = [[] for _ in reading.groups]
    for view, readers in zip(reading.shared, reading.readers, strict=True):
        part_keys, _ = view.storage.read(cache.leaf, view.start, view.end)
        queries_of = [asking[g] for g in readers]
        if view.shift:
            queries_of = _turned(queries_of, cache, view.shift)
        over_part = scores(_fold(queries_of), part_keys)
        for g, own in zip(readers, _unfold(over_part, queries_of), strict=True):
            rows = reading.groups[g].rows
            over_parts[g].append(_in_window(own, reading, rows, view.position))
    totals: list[mx.array] = []
    weights: list[list[mx.array]] = []
    for group, of_group, own_scores in zip(reading.groups, asking, over_parts, strict=True):
        of_units = _of_units(of_group, reading, group)
        if not own_scores:
            weights.append([])
            alone = [
                _alone(fused, queries, keys[u], values[u], cache, u, scale, sinks)
                for u in group.units
            ]
            totals.append(_fold(alone))
            continue
        over_tails = _over_tails(of_units, keys, reading, group)
        counts = [reading.counts[i] for i in group.rows]
        weights.append(_weights([*own_scores, over_tails], counts, sinks))
        of_tails = _unfold(weights[-1].pop(), of_units)
        totals.append(
            _fold(
                [
                    _together(
                        _apart(own, values[u].shape[0])[..., : values[u].shape[2]] @ values[u]
                    )
                    for u, own in zip(group.units, of_tails, strict=True)
                ]
            )
        )
    for view, readers in zip(reading.shared, reading.readers, strict=True):
        _, part_values = view.storage.read(cache.leaf, view.start, view.end)
        weights_of = [weights[g].pop(0) for g in readers]
        over_part = _fold(weights_of) @ part_values
        for g, own in zip(readers, _unfold(over_part, weights_of), strict=True):
            totals[g] = totals[g] + own
    return _in_order(totals, reading, (num_rows, heads, width))


def _next_tokens(
    queries: mx.array, keys: mx.array, values: mx.array, cache: RowsCache, scale: float
) -> mx.array:
    """The next tokens of rows that see the same parts and have one tail, with nothing to fold or to
    put in order: `queries` [rows, heads, 1, head_dim] over parts, [1, kv_heads, tokens, head_dim]
    each, and tail, [rows, kv_heads, tokens, head_dim]. Returns [rows, heads, 1, value_dim]."""
    num_rows, heads, _, dim = queries.shape
    kv_heads, reading = keys.shape[1], cache.reading
    repeats = heads // kv_heads
    # KV heads come first from here on, which is the order in which a part is read.
    by_heads = _swapped(queries.reshape(num_rows, kv_heads, repeats, dim)) * scale
    apart, together = by_heads.shape[:3], (1, kv_heads, num_rows * repeats)
    asking = by_heads.reshape(*together, dim)
    pieces = [view.storage.read(cache.leaf, view.start, view.end) for view in reading.shared]
    over_pieces = [scores(asking, part_keys) for part_keys, _ in pieces]
    over_tail = scores(by_heads, _swapped(keys))
    if (bias := _padding_bias(over_tail, reading, reading.units[0])) is not None:
        over_tail = over_tail + _swapped(bias)
    over_pieces.append(over_tail.reshape(*together, -1))
    *weights, of_tail = _weights(over_pieces, (1,), None)
    total = (of_tail.reshape(*apart, -1) @ _swapped(values)).reshape(*together, -1)
    for own, (_, part_values) in zip(weights, pieces, strict=True):
        total = total + own @ part_values
    return _swapped(total.reshape(*apart, -1)).reshape(num_rows, heads, 1, -1)


def _over_tails(
    of_units: Sequence[mx.array], keys: Sequence[mx.array], reading: Reading, group: Group
) -> mx.array:
    """Scores of a group's rows over their own tails, behind each other in the query axis; behind a
    shorter tail they are -inf."""
    most = max(keys[u].shape[2] for u in group.units)
    pieces = []
    for u, own in zip(group.units, of_units, strict=True):
        by_rows = _apart(own, keys[u].shape[0])
        over_tail = _together(_over_tail(by_rows, keys[u], reading, reading.units[u]))
        tokens = over_tail.shape[3]
        if tokens < most:
            over_tail = mx.pad(
                over_tail,
                [(0, 0), (0, 0), (0, 0), (0, most - tokens)],
                constant_values=mx.array(-mx.inf, over_tail.dtype),
            )
        pieces.append(over_tail)
    return _fold(pieces)


def _over_tail(asking: mx.array, keys: mx.array, reading: Reading, unit: Unit) -> mx.array:
    """Scores of the queries of a unit's rows, [rows, kv_heads, queries, head_dim], over its tail,
    -inf over what they do not see."""
    over_tail = scores(asking, keys)
    if unit.common is not None:
        bias = _padding_bias(over_tail, reading, unit)
        return over_tail if bias is None else over_tail + bias
    (row,) = unit.rows
    end = reading.starts[row] + reading.counts[row]
    seen = _causal(over_tail, reading, row)
    return _in_window(seen, reading, unit.rows, end - over_tail.shape[3])


def _padding_bias(over_tail: mx.array, reading: Reading, unit: Unit) -> mx.array | None:
    """What is added to the scores of a unit's rows over its tail, [rows, 1, 1, tokens], the same in
    all layers of a pass; None if nothing is."""
    if unit.common is None:
        return None
    key = (id(unit.common), over_tail.dtype)
    if key not in reading.masks:
        reading.masks[key] = unit.common.bias(over_tail.dtype)
    bias: mx.array | None = reading.masks[key]
    return bias


def _asking(queries: mx.array, reading: Reading, kv_heads: int) -> list[mx.array]:
    """Queries [rows, heads, n, head_dim] by groups, with the heads of a KV head and the rows in one
    axis, [1, kv_heads, queries, head_dim] each. Four axes throughout: dropping one from a slice of
    a longer buffer would copy it."""
    num_rows, heads, width, dim = queries.shape
    repeats = heads // kv_heads
    if min(reading.counts) == width:
        whole = queries.reshape(num_rows, kv_heads, repeats * width, dim)
        if len(reading.groups) == 1:
            return [_together(_sorted(whole, reading.groups[0].rows))]
        rows = _split(whole, num_rows, axis=0)
    else:
        rows = [
            queries[i : i + 1, :, :count].reshape(1, kv_heads, repeats * count, dim)
            for i, count in enumerate(reading.counts)
        ]
    return [_fold([rows[i] for i in group.rows]) for group in reading.groups]


def _of_units(of_group: mx.array, reading: Reading, group: Group) -> list[mx.array]:
    """A group's queries by its units."""
    num_tokens = [sum(reading.counts[i] for i in reading.units[u].rows) for u in group.units]
    repeats = of_group.shape[2] // sum(num_tokens)
    ends = list(itertools.accumulate(repeats * n for n in num_tokens))
    return _split(of_group, ends[:-1], axis=2)


def _in_order(
    totals: Sequence[mx.array], reading: Reading, shape: tuple[int, int, int]
) -> mx.array:
    """The groups' outputs as [rows, heads, width, value_dim], rows in order, filled up to the
    width."""
    num_rows, heads, width = shape
    if len(totals) == 1 and min(reading.counts) == width:  # queries of a row lie together
        rows = reading.groups[0].rows
        places = sorted(range(num_rows), key=rows.__getitem__)
        return _sorted(_apart(totals[0], num_rows), places).reshape(num_rows, heads, width, -1)
    outputs: list[mx.array | None] = [None] * num_rows
    for group, total in zip(reading.groups, totals, strict=True):
        repeats = heads // total.shape[1]
        ends = list(itertools.accumulate(repeats * reading.counts[i] for i in group.rows))
        for i, own in zip(group.rows, _split(total, ends[:-1], axis=2), strict=True):
            outputs[i] = _filled(own.reshape(1, heads, reading.counts[i], -1), width)
    return mx.concatenate([own for own in outputs if own is not None])


def _swapped(of: mx.array) -> mx.array:
    """[rows, kv_heads, ...] as [kv_heads, rows, ...], or the reverse. Where the first is one, it
    stays, since nothing would lie in another order: what follows must not ask which is which."""
    return of if of.shape[0] == 1 else of.swapaxes(0, 1)


def _together(of_rows: mx.array) -> mx.array:
    """[rows, kv_heads, queries, dim], behind each other: [1, kv_heads, rows * queries, dim]."""
    num_rows, kv_heads, queries, dim = of_rows.shape
    if num_rows == 1:
        return of_rows
    return of_rows.swapaxes(0, 1).reshape(1, kv_heads, num_rows * queries, dim)


def _apart(together: mx.array, num_rows: int) -> mx.array:
    """The reverse of `_together`."""
    _, kv_heads, queries, dim = together.shape
    if num_rows == 1:
        return together
    return together.reshape(kv_heads, num_rows, queries // num_rows, dim).swapaxes(0, 1)


def _sorted(of_rows: mx.array, rows: Sequence[int]) -> mx.array:
    """Rows, all there are, in another order."""
    if ascend(rows):
        return of_rows
    return mx.take(of_rows, mx.array(list(rows)), axis=0)


def _turned(rows: Sequence[mx.array], cache: RowsCache, shift: int) -> list[mx.array]:
    """Queries turned back by `shift` positions: against keys that are rotated for as many less,
    the scores are those of keys rotated for where they stand (design D10)."""
    if cache.rotate is None:
        raise ValueError("this layer's keys cannot be read at another position")
    return [cache.rotate(row, -shift) for row in rows]


def _alone(
    fused: Attention,
    queries: mx.array,
    keys: mx.array,
    values: mx.array,
    cache: RowsCache,
    unit: int,
    scale: float,
    sinks: mx.array | None,
) -> mx.array:
    """Attention of a row that stands on nothing, [1, kv_heads, repeats * count, value_dim]."""
    (row,), window = cache.reading.units[unit].rows, cache.reading.window
    count = cache.reading.counts[row]
    mask: Any = "causal" if count > 1 else None
    if count > 1 and window and keys.shape[2] > window:
        mask = create_causal_mask(count, keys.shape[2] - count, window_size=window)
    out = fused(
        queries[row : row + 1, :, :count],
        keys,
        values,
        cache=None,
        scale=scale,
        mask=mask,
        sinks=sinks,
    )
    kv_heads = keys.shape[1]
    return out.reshape(1, kv_heads, out.shape[1] // kv_heads * count, -1)


def _causal(over_tail: mx.array, reading: Reading, row: int) -> mx.array:
    """Scores over a tail, [1, kv_heads, repeats * count, tokens], whose last `count` keys are the
    queries' own tokens."""
    count = reading.counts[row]
    if count == 1:
        return over_tail
    queries, tokens = over_tail.shape[2:]
    key = ("causal", queries, tokens, count)
    if (mask := reading.masks.get(key)) is None:
        causal = mx.arange(tokens - count, tokens)[:, None] >= mx.arange(tokens)[None]
        mask = reading.masks[key] = mx.tile(causal, (queries // count, 1))
    return mx.where(mask, over_tail, -mx.inf)


def _in_window(
    over_keys: mx.array, reading: Reading, rows: Sequence[int], position: int
) -> mx.array:
    """Scores of some rows over keys from `position` on, without those that a row's later queries
    see no more. Its first query sees all of them."""
    if not reading.window or max(reading.counts[i] for i in rows) == 1:
        return over_keys
    queries, tokens = over_keys.shape[2:]
    repeats = queries // sum(reading.counts[i] for i in rows)
    firsts = tuple(reading.starts[i] - position for i in rows)  # counted from the first key
    key = (reading.window, tokens, repeats, firsts, tuple(reading.counts[i] for i in rows))
    if (mask := reading.masks.get(key)) is None:
        asked = [
            mx.tile(mx.arange(first, first + reading.counts[i]), repeats)
            for first, i in zip(firsts, rows, strict=True)
        ]
        seen = mx.arange(tokens)[None] > mx.concatenate(asked)[:, None] - reading.window
        mask = reading.masks[key] = seen
    return mx.where(mask, over_keys, -mx.inf)


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


def _of_unit(unit: Unit, of_rows: Sequence[mx.array]) -> mx.array:
    """Keys or values of a unit's rows, [rows, kv_heads, n, dim], of those of all."""
    own = [of_rows[i] for i in unit.rows]
    return own[0] if len(own) == 1 else mx.concatenate(own)


def _filled(own: mx.array, width: int) -> mx.array:
    """A row's outputs [1, heads, count, value_dim], filled up to the batch's width."""
    return mx.pad(own, [(0, 0), (0, 0), (0, width - own.shape[2]), (0, 0)])


def _split(whole: mx.array, pieces: int | list[int], axis: int) -> list[mx.array]:
    """As `mx.split`, but always a list."""
    split: Any = [whole] if pieces in (1, []) else mx.split(whole, pieces, axis=axis)
    return list(split)
