"""Choosing the next token of a row from its logits."""

from __future__ import annotations

import secrets
from collections.abc import Sequence

import mlx.core as mx
from mlx_lm.sample_utils import apply_min_p, apply_top_k, apply_top_p

from engine.request import SamplingParams

# Below these, float32 has no room left: the most probable token is all that remains.
_LEAST_TEMPERATURE = 1e-5
_LEAST_TOP_P = 1e-6


class Sampler:
    """One request's sampling with a random state of its own, so that a seed gives the same answer
    in any company."""

    __slots__ = ("_key", "params")

    def __init__(self, params: SamplingParams) -> None:
        self.params = params
        self._key: mx.array | None = None
        if not self.greedy:
            seed = secrets.randbits(64) if params.seed is None else params.seed
            self._key = mx.random.key(seed % 2**64)

    @property
    def greedy(self) -> bool:
        return self.params.temperature < _LEAST_TEMPERATURE or self.params.top_p < _LEAST_TOP_P

    def __call__(self, logits: mx.array) -> mx.array:
        """Next token, int32 [], from logits [vocabulary]."""
        if self._key is None:
            return mx.argmax(logits, axis=-1)
        self._key, key = mx.random.split(self._key)
        logprobs = logits.astype(mx.float32)
        logprobs = (logprobs - mx.logsumexp(logprobs, axis=-1, keepdims=True))[None]
        if 0 < self.params.top_p < 1:
            logprobs = apply_top_p(logprobs, self.params.top_p)
        if self.params.min_p > 0:
            logprobs = apply_min_p(logprobs, self.params.min_p)
        if 0 < self.params.top_k < logprobs.shape[-1]:
            logprobs = apply_top_k(logprobs, self.params.top_k)
        return mx.random.categorical(logprobs / self.params.temperature, key=key)[0]


def sample(logits: mx.array, samplers: Sequence[Sampler]) -> mx.array:
    """Next tokens, int32 [rows], from logits [rows, vocabulary], each row with its own sampler."""
    if all(sampler.greedy for sampler in samplers):
        return mx.argmax(logits, axis=-1).astype(mx.int32)
    return mx.stack([sampler(logits[i]).astype(mx.int32) for i, sampler in enumerate(samplers)])
