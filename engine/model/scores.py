"""Scores of queries over keys and their softmax, where a CPU has a faster way than the obvious."""

from __future__ import annotations

import math

import mlx.core as mx
import numpy as np

# On a CPU MLX computes an exponential at a time, in 12 ns on an AMD EPYC; a power takes it 5, and
# numpy, which computes several at once, 1. But MLX must wait for numpy, where it else computes
# while the rest of the pass is put together, so few scores are left to it.
LEAST_SCORES = 1 << 15
_E = math.e  # in float32 wrong by 3e-8: less than rounding a score of 1 is

# OpenBLAS packs the right matrix of a product, and a transposed one slowly: few queries go there
# rather than many keys. With 2 to 8 queries over 512 to 4,096 keys it takes 0.6 to 0.9 of the time;
# over 256 and fewer, what it takes to turn the scores is more.
_FEW_QUERIES = 8
_MANY_KEYS = 512


def scores(queries: mx.array, keys: mx.array) -> mx.array:
    """Products of queries [..., queries, head_dim] and keys [..., tokens, head_dim], [..., queries,
    tokens]."""
    if queries.shape[-2] > _FEW_QUERIES or keys.shape[-2] < _MANY_KEYS or not _on_cpu():
        return queries @ keys.swapaxes(-1, -2)
    return (keys @ queries.swapaxes(-1, -2)).swapaxes(-1, -2)


def softmax(of: mx.array) -> mx.array:
    """Softmax over the last axis, in the scores' dtype, accumulated in float32."""
    if of.dtype != mx.float32 or not _on_cpu():
        return mx.softmax(of, axis=-1, precise=True)
    if of.size < LEAST_SCORES:
        powers = mx.power(_E, of - of.max(axis=-1, keepdims=True))
        return powers / powers.sum(axis=-1, keepdims=True)
    mx.eval(of)
    weights = np.array(of)
    # What only fills up a row has no score, and scores may lie further apart than float32 goes.
    with np.errstate(invalid="ignore", over="ignore"):
        weights -= weights.max(axis=-1, keepdims=True)
        np.exp(weights, out=weights)
        weights /= weights.sum(axis=-1, keepdims=True)
    return mx.array(weights)


def _on_cpu() -> bool:
    return bool(mx.default_device() == mx.Device(mx.cpu))
