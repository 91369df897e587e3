"""A model as plain mlx-lm runs it, with nothing of Ondol's in between: what benches compare with.

Times are seconds from tokens in a list to the next token, greedy and evaluated.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import mlx.core as mx
from mlx.nn.layers.base import Module
from mlx_lm.generate import generate_step, wired_limit
from mlx_lm.models.cache import can_trim_prompt_cache, make_prompt_cache, trim_prompt_cache

from engine.model.head import LastTokenHead


class PlainModel:
    """One model and one KV cache of mlx-lm's own making. Used by the thread that made it.

    `prefill_chunk` is the most prompt tokens in one forward pass.
    """

    def __init__(self, model: Module, prefill_chunk: int) -> None:
        self._model: Any = model
        self._head = LastTokenHead(model)
        self._prefill_chunk = prefill_chunk
        self._cache: list[Any] = make_prompt_cache(model)
        self._tokens: list[int] = []  # whose KV stands in the cache

    def cold(self, tokens: Sequence[int]) -> float:
        """Prefill a prompt into an empty cache, by mlx-lm's own generator."""
        self._cache, self._tokens = make_prompt_cache(self._model), list(tokens)
        with wired_limit(self._model):
            started = time.perf_counter()
            # With no token to yield it ends once the first is sampled, and builds no second step.
            for _ in generate_step(
                mx.array(list(tokens)),
                self._model,
                max_tokens=0,
                prompt_cache=self._cache,
                prefill_step_size=self._prefill_chunk,
            ):
                pass
            return time.perf_counter() - started

    def place(self, prefix: Sequence[int], suffix: Sequence[int]) -> None:
        """Bring the KV of `prefix` into place, with room for `suffix`, before `extend` is timed.

        What the cache holds of it is kept where the model's caches can be cut.
        """
        kept = _common_length(prefix, self._tokens)
        self._cut(kept)
        self._forward(prefix[len(self._tokens) :])
        # A cache grows by copying itself: that is not what a suffix costs.
        self._forward(suffix)
        self._cut(len(prefix))
        self._forward(prefix[len(self._tokens) :])

    def extend(self, suffix: Sequence[int]) -> float:
        """Prefill `suffix` on top of what is in place, with the logits of its last token alone: no
        cache can do with less work."""
        with wired_limit(self._model):
            started = time.perf_counter()
            self._forward(suffix)
            return time.perf_counter() - started

    def _cut(self, num_tokens: int) -> None:
        """Keep the first tokens, or none where the model's state cannot be cut."""
        too_many = len(self._tokens) - num_tokens
        if not too_many:
            return
        if can_trim_prompt_cache(self._cache):
            trim_prompt_cache(self._cache, too_many)
            del self._tokens[num_tokens:]
        else:
            self._cache, self._tokens = make_prompt_cache(self._model), []

    def _forward(self, tokens: Sequence[int]) -> None:
        """Append tokens and choose the next one, in as few forward passes as the chunk allows."""
        for start in range(0, len(tokens), self._prefill_chunk):
            chunk = mx.array(list(tokens[start : start + self._prefill_chunk]))
            with self._head.narrowed((chunk.size,)):
                logits = self._model(chunk[None], cache=self._cache)[:, -1]
            mx.eval(mx.argmax(logits, axis=-1), [cache.state for cache in self._cache])
        self._tokens += tokens


def _common_length(left: Sequence[int], right: Sequence[int]) -> int:
    pairs = zip(left, right, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(left), len(right)))
