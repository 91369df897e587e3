"""Scores and their softmax are the same for all sizes, whichever way they are computed."""

from __future__ import annotations

import warnings
from typing import Any

import mlx.core as mx
import numpy as np
import pytest

from engine.model.scores import LEAST_SCORES, scores, softmax

MANY, FEW = (1, 3, 24, 2060), (1, 3, 4, 100)


def largest(array: mx.array) -> float:
    found: Any = mx.abs(array).max().item()
    return float(found)


@pytest.mark.parametrize("shape", [MANY, FEW])
@pytest.mark.parametrize("dtype", [mx.float32, mx.float16, mx.bfloat16])
def test_it_is_the_softmax_in_every_size_and_dtype(shape: tuple[int, ...], dtype: mx.Dtype) -> None:
    scores = (20 * mx.random.normal(shape, key=mx.random.key(3))).astype(dtype)
    assert (scores.size >= LEAST_SCORES) == (shape == MANY)
    weights, expected = softmax(scores), mx.softmax(scores, axis=-1, precise=True)
    assert (weights.shape, weights.dtype) == (expected.shape, dtype)
    assert largest(weights - expected) <= 1e-6


@pytest.mark.parametrize("shape", [MANY, FEW])
def test_what_is_masked_weighs_nothing(shape: tuple[int, ...]) -> None:
    scores = mx.random.normal(shape, key=mx.random.key(4))
    masked = mx.where(mx.arange(shape[-1]) % 3 == 0, -mx.inf, scores)
    weights = softmax(masked)
    assert largest(weights[..., ::3]) == 0.0
    assert largest(weights.sum(axis=-1) - 1) <= 1e-5


@pytest.mark.parametrize("shape", [MANY, FEW])
def test_a_query_without_any_score_spoils_no_other(shape: tuple[int, ...]) -> None:
    scores = mx.random.normal(shape, key=mx.random.key(5))
    nothing = mx.where(mx.arange(shape[-2])[:, None] == 1, -mx.inf, scores)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        weights = softmax(nothing)
    others = mx.concatenate([weights[:, :, :1], weights[:, :, 2:]], axis=2)
    expected = softmax(mx.concatenate([scores[:, :, :1], scores[:, :, 2:]], axis=2))
    assert largest(others - expected) == 0.0


@pytest.mark.parametrize("shape", [MANY, FEW])
def test_scores_that_lie_far_apart_neither_overflow_nor_vanish(shape: tuple[int, ...]) -> None:
    scores = 3e4 * mx.random.normal(shape, key=mx.random.key(6))
    weights, expected = softmax(scores), mx.softmax(scores, axis=-1, precise=True)
    assert largest(weights - expected) <= 1e-6
    far = mx.full(shape, -3e38)
    far[..., 7] = 3e38
    assert softmax(far)[..., 7].min().item() == 1.0


def test_small_weights_are_as_exact_as_their_scores() -> None:
    scores = mx.broadcast_to(mx.arange(-60.0, 1.0), (1, 3, 4, 61))
    exact = np.exp(np.arange(-60.0, 1.0))
    weights = np.array(softmax(scores)[0, 0, 0], dtype=np.float64)
    assert np.abs(weights / (exact / exact.sum()) - 1).max() < 4e-6


@pytest.mark.parametrize("dtype", [mx.float32, mx.float16, mx.bfloat16])
@pytest.mark.parametrize("tokens", [40, 600])
@pytest.mark.parametrize("queries", [1, 3, 8, 9, 24])
def test_few_queries_and_many_have_the_same_scores(
    queries: int, tokens: int, dtype: mx.Dtype
) -> None:
    asking = mx.random.normal((2, 3, queries, 16), key=mx.random.key(1)).astype(dtype)
    keys = mx.random.normal((2, 3, tokens, 16), key=mx.random.key(2)).astype(dtype)
    expected = (asking[..., None, :] * keys[..., None, :, :]).astype(mx.float32).sum(axis=-1)
    found = scores(asking, keys)
    assert found.shape == (2, 3, queries, tokens)
    assert found.dtype == dtype
    noise = {mx.float32: 1e-5, mx.float16: 0.02, mx.bfloat16: 0.2}[dtype]
    assert largest(found.astype(mx.float32) - expected) < noise
