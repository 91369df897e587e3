"""KV of sliding-window layers: the last tokens of a part, in temporal order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mlx.core as mx
from mlx_lm.models.base import create_causal_mask

from engine.cache.cost import WINDOW_SLACK_TOKENS
from engine.model.tail import TailKV

KeysAndValues = tuple[mx.array, mx.array]


class WindowKV:
    """Keys and values of the last tokens of one part in one sliding layer, [1, kv_heads, tokens,
    head_dim] each.

    A `TailKV` whose beginning is shed from time to time: unlike a ring it stays in temporal order,
    so that parts of it can be read in place by whoever stands on it.
    """

    __slots__ = ("kv", "window")

    def __init__(self, window: int) -> None:
        self.window = window
        self.kv = TailKV()

    @property
    def num_tokens(self) -> int:
        """Tokens held."""
        return int(self.kv.offset)

    @property
    def nbytes(self) -> int:
        return int(self.kv.nbytes)

    @property
    def state(self) -> Any:
        return self.kv.state if self.kv.keys is not None else ()

    def update_and_fetch(self, keys: mx.array, values: mx.array) -> KeysAndValues:
        """Append, and return everything held."""
        held: KeysAndValues = self.kv.update_and_fetch(keys, values)
        return held

    def shed(self) -> bool:
        """Let go what lies before the window, once that is worth a copy. Returns whether it was."""
        reach = self.window - 1
        if self.num_tokens <= reach + WINDOW_SLACK_TOKENS:
            return False
        self.keep(self.num_tokens - reach, self.num_tokens)
        return True

    def keep(self, start: int, end: int) -> None:
        """Keep only the tokens [start, end) of those held, and no room beyond them."""
        if start >= end:
            self.kv = TailKV()
            return
        keys = mx.contiguous(self.kv.keys[..., start:end, :])
        values = mx.contiguous(self.kv.values[..., start:end, :])
        mx.eval(keys, values)
        self.kv.keys, self.kv.values, self.kv.offset = keys, values, end - start

    def read(self, start: int, end: int) -> KeysAndValues:
        """Tokens [start, end) of those held, without a copy."""
        return self.kv.keys[..., start:end, :], self.kv.values[..., start:end, :]


class JoinedWindow:
    """One sliding layer's cache for a single row, in the place of an mlx-lm `RotatingKVCache`: what
    the window still sees of the row's parts is copied before the tail. Exact for chunks of any
    length (oracle J15)."""

    __slots__ = ("max_size", "offset", "prefix", "tail")

    def __init__(self, offset: int, prefix: Sequence[KeysAndValues], tail: WindowKV) -> None:
        self.offset = offset
        self.prefix = prefix
        self.tail = tail
        self.max_size = tail.window

    def update_and_fetch(self, keys: mx.array, values: mx.array) -> KeysAndValues:
        num_tokens = keys.shape[2]
        wanted = min(self.offset, self.max_size - 1) + num_tokens
        self.offset += num_tokens
        keys, values = self.tail.update_and_fetch(keys, values)
        have = keys.shape[2]
        if have >= wanted:
            return keys[..., have - wanted :, :], values[..., have - wanted :, :]
        keys = mx.concatenate([*(k for k, _ in self.prefix), keys], axis=2)
        values = mx.concatenate([*(v for _, v in self.prefix), values], axis=2)
        have = keys.shape[2]
        if have < wanted:
            raise ValueError(f"a window of {self.max_size} tokens lacks {wanted - have} of them")
        return keys[..., have - wanted :, :], values[..., have - wanted :, :]

    def make_mask(
        self, num_tokens: int, window_size: int | None = None, return_array: bool = False
    ) -> Any:
        """As RotatingKVCache's, for keys in temporal order."""
        window = window_size or self.max_size
        before = min(self.offset, self.max_size - 1)
        if num_tokens == 1:
            if window >= self.max_size or before < window:
                return None
            return mx.arange(before + 1) > before - window
        if before + num_tokens > window or return_array:
            return create_causal_mask(num_tokens, before, window_size=window)
        return "causal"
