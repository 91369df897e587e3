"""KV of a row's tail in one layer, which grows a token at a time."""

from __future__ import annotations

from typing import Any

import mlx.core as mx
from mlx_lm.models.cache import KVCache

_SHORT_TOKENS = 64
_MOST_ROOM = 256


class TailKV(KVCache):
    """An mlx-lm `KVCache`, [rows, kv_heads, tokens, head_dim] each, which is never allocated far
    ahead. Steps of 256 tokens, as mlx-lm's, would take more for the short tails of many rows than
    their common prefix does.

    While it is short, of up to 64 tokens, it has room for `short_room` tokens of each row when it
    grows by one; mostly that is none, since copying it is hardly more work than writing into it.
    Then it is allocated an eighth of what it holds ahead, 16 tokens at most, and from 256 on a
    sixteenth, 256 at most, since smaller steps would copy a long tail too often.
    """

    keys: Any
    values: Any
    offset: int

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.short_room = 0

    @property
    def allocated_tokens(self) -> int:
        return 0 if self.keys is None else int(self.keys.shape[2])

    @property
    def held(self) -> tuple[mx.array, mx.array]:
        """Keys and values of all tokens held, without a copy."""
        if self.offset == self.allocated_tokens:
            return self.keys, self.values
        return self.keys[..., : self.offset, :], self.values[..., : self.offset, :]

    def new_tokens(self, num_tokens: int) -> int:
        """Tokens for which room would be allocated to append so many."""
        end = self.offset + num_tokens
        if end <= self.allocated_tokens:
            return 0
        step = 0 if self._is_short(end) else self._step_for(num_tokens)
        return max(end, self.offset + step) - self.allocated_tokens

    @staticmethod
    def allocated_from(held: int, num_tokens: int) -> int:
        """Tokens that are allocated for one that holds so many, and has no room, once it has
        appended `num_tokens`."""
        tail = TailKV()
        tail.offset = held
        return tail.new_tokens(num_tokens)  # it has no arrays yet: for all of them

    def update_and_fetch(self, keys: mx.array, values: mx.array) -> tuple[mx.array, mx.array]:
        """Append `keys` and `values`, [rows, kv_heads, n, head_dim] each, and return everything
        held, [rows, kv_heads, tokens, head_dim] each, in their dtype."""
        end = self.offset + keys.shape[2]
        if end <= self.allocated_tokens or not self._is_short(end):
            self.step = self._step_for(keys.shape[2])
            held: Any = super().update_and_fetch(keys, values)  # type: ignore[no-untyped-call]
            return held[0], held[1]
        held_keys, held_values = self.held
        self.keys = mx.concatenate([held_keys, keys], axis=2)
        self.values = mx.concatenate([held_values, values], axis=2)
        self.offset = end
        return self.keys, self.values

    def go_back(self, offset: int) -> None:
        """Forget all tokens from `offset` on."""
        self.offset = offset
        if not offset:
            self.keys = self.values = None

    def _is_short(self, end: int) -> bool:
        """Whether it is appended to by copying, up to `end`."""
        return self.offset > 0 and end <= _SHORT_TOKENS and not self.short_room

    def _step_for(self, num_tokens: int) -> int:
        """The step of `KVCache` with which it grows when it appends `num_tokens`."""
        step = max(num_tokens, self._room() if num_tokens == 1 else 0)
        # It gives unused room back when it grows, but not at a multiple of its step.
        while self.offset and self.offset % step == 0 and self.offset < self.allocated_tokens:
            step += 1
        return step

    def _room(self) -> int:
        """Tokens of a row for which it is allocated ahead when it grows by one."""
        if self.offset < _SHORT_TOKENS:
            return self.short_room
        return max(min(self.offset // 8, 16), min(self.offset // 16, _MOST_ROOM))
