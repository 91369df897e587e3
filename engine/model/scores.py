"""Scores of queries over keys and their softmax, where a CPU has a faster way than the obvious."""

from __future__ import annotations

import mlx.core as mx
import numpy as np

# MLX computes an exponential of the CPU at a time, numpy several at once: 150,000 scores take
# 2.5 ms there and 0.4 ms here, on one core of an AMD EPYC. But MLX must wait for it, where it else
# computes while the rest of the pass is put together, so few scores are left to it.
LEAST_SCORES = 1 << 15

# OpenBLAS packs the right matrix of a product, and a transposed one slowly: few queries go there
# rather than the keys. With 2 to 8 queries over 512 to 4,096 keys it takes 0.6 to 0.9 of the time.
_FEW_QUERIES = 8


def scores(queries: mx.array, keys: mx.array) -> mx.array:
    """Products of queries [..., queries, head_dim] and keys [..., tokens, head_dim], [..., queries,
    tokens]."""
    if queries.shape[-2] > _FEW_QUERIES or not _on_cpu():
        return queries @ keys.swapaxes(-1, -2)
    return (keys @ queries.swapaxes(-1, -2)).swapaxes(-1, -2)


def softmax(of: mx.array) -> mx.array:
    """Softmax over the last axis, in the scores' dtype, accumulated in float32."""
    if of.size < LEAST_SCORES or of.dtype != mx.float32 or not _on_cpu():
        return mx.softmax(of, axis=-1, precise=True)
    mx.eval(of)
    weights = np.array(of)
    with np.errstate(invalid="ignore"):  # what only fills up a row has no score at all
        weights -= weights.max(axis=-1, keepdims=True)
        np.exp(weights, out=weights)
        weights /= weights.sum(axis=-1, keepdims=True)
    return mx.array(weights)


def _on_cpu() -> bool:
    return bool(mx.default_device() == mx.Device(mx.cpu))
