"""What a model's state costs, found out by running two tokens through it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import mlx.core as mx
from mlx_lm.models.cache import CacheList, make_prompt_cache

from engine.cache.cost import EMPTY_SHARE, WINDOW_SLACK_TOKENS, KVCost, WindowCost
from engine.cache.layout import LayerKind, Layout
from engine.model.kv import Shape, shape_of

_ALLOCATION_STEP = 256  # tokens by which a cache grows at most


def measure(model: Any, layout: Layout, prefill_chunk: int) -> Shape:
    """The shape of a model's storages. `prefill_chunk` is the most tokens of one forward pass."""
    caches = make_prompt_cache(model)
    mx.eval(model(mx.array([[5, 6]]), cache=caches))
    leaves = list(_leaves(caches))
    if not layout.reusable:
        return Shape((), KVCost(sum(map(_bytes_per_token, leaves))))
    by_kind = list(zip(layout.leaves, leaves, strict=True))
    cost = KVCost(
        bytes_per_token=sum(
            _bytes_per_token(cache) for leaf, cache in by_kind if leaf.kind is LayerKind.FULL
        ),
        windows=tuple(
            WindowCost(
                window,
                sum(_bytes_per_token(cache) for leaf, cache in by_kind if leaf.window == window),
                most_window_tokens(window, prefill_chunk),
            )
            for window in layout.windows
        ),
        state_bytes=sum(
            cache.nbytes for leaf, cache in by_kind if leaf.kind is LayerKind.RECURRENT
        ),
        grows_by_eighths=True,
    )
    return shape_of(layout, leaves, cost)


def most_window_tokens(window: int, prefill_chunk: int) -> int:
    """Most tokens of a sliding layer that a row holds at a time: in its tail what the window sees,
    what is not shed yet, and a chunk; in the parts before it, as much again, and in the first of
    them what lies before the window."""
    tail = window + WINDOW_SLACK_TOKENS + prefill_chunk + 2 * _ALLOCATION_STEP
    parts = 2 * window + WINDOW_SLACK_TOKENS
    return tail + parts + parts // EMPTY_SHARE


def _leaves(caches: Iterable[Any]) -> Iterator[Any]:
    for cache in caches:
        if isinstance(cache, CacheList):
            yield from _leaves(cache.caches)
        else:
            yield cache


def _bytes_per_token(cache: Any) -> int:
    keys = getattr(cache, "keys", None)
    if not isinstance(keys, mx.array):
        return 0
    return int((keys.nbytes + cache.values.nbytes) // keys.shape[2])
