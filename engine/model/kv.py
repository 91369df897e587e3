"""Where KV really lies: storages of parts, made of mlx-lm's own cache objects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mlx.core as mx
from mlx_lm.models.cache import KVCache


class PartStorage:
    """Keys and values of one part, one mlx-lm `KVCache` a full-attention layer: [1, kv_heads,
    tokens, head_dim] each.

    Open, it grows by whole steps of the cache class; sealed, its arrays never change, and slices of
    them are what followers read.
    """

    __slots__ = ("_bytes_per_token", "_sealed_bytes", "layers")

    def __init__(self, num_layers: int, bytes_per_token: int) -> None:
        self._bytes_per_token = bytes_per_token
        self.layers: list[Any] = [KVCache() for _ in range(num_layers)]  # type: ignore[no-untyped-call]
        self._sealed_bytes: int | None = None

    @property
    def num_tokens(self) -> int:
        return int(self.layers[0].offset)

    @property
    def num_bytes(self) -> int:
        if self._sealed_bytes is not None:
            return self._sealed_bytes
        return sum(layer.nbytes for layer in self.layers)

    def growth_bytes(self, num_tokens: int) -> int:
        cache = self.layers[0]
        capacity = 0 if cache.keys is None else cache.keys.shape[2]
        if cache.offset + num_tokens <= capacity:
            return 0
        steps = -(-num_tokens // cache.step) * cache.step
        return int(cache.offset + steps - capacity) * self._bytes_per_token

    def seal(self) -> None:
        self._sealed_bytes = sum(layer.nbytes for layer in self.layers)

    def truncate(self, num_tokens: int) -> None:
        if not 0 < num_tokens <= self.num_tokens:
            raise ValueError(f"cannot keep {num_tokens} of {self.num_tokens} tokens")
        for (
            layer
        ) in self.layers:  # evaluated one by one, so that only one layer exists twice at a time
            keys, values = (
                mx.contiguous(layer.keys[..., :num_tokens, :]),
                mx.contiguous(layer.values[..., :num_tokens, :]),
            )
            mx.eval(keys, values)
            layer.keys, layer.values, layer.offset = keys, values, num_tokens
        self._sealed_bytes = sum(layer.nbytes for layer in self.layers)

    def read(self, layer: int, num_tokens: int) -> tuple[mx.array, mx.array]:
        """First `num_tokens` keys and values of a layer, [1, kv_heads, num_tokens, head_dim] each,
        without a copy."""
        cache = self.layers[layer]
        keys, values = cache.keys, cache.values
        if num_tokens < keys.shape[2]:
            return keys[..., :num_tokens, :], values[..., :num_tokens, :]
        return keys, values


class PrivateStorage:
    """The whole state of one request of a model whose prefixes cannot be reused: whatever caches
    the model makes."""

    __slots__ = ("_bytes_per_token", "layers", "num_tokens")

    def __init__(self, layers: Sequence[Any], bytes_per_token: int) -> None:
        self._bytes_per_token = bytes_per_token
        self.layers = list(layers)
        self.num_tokens = 0

    @property
    def num_bytes(self) -> int:
        return sum(layer.nbytes for layer in self.layers if not layer.empty())

    def growth_bytes(self, num_tokens: int) -> int:
        return num_tokens * self._bytes_per_token

    def seal(self) -> None:
        self.layers.clear()  # nobody can continue from here

    def truncate(self, num_tokens: int) -> None:
        raise ValueError("a private state cannot be cut")
