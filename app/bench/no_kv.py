"""A storage without arrays: the cache's own work can be measured without a model."""

from __future__ import annotations

from engine.cache.part import Storage

BYTES_PER_TOKEN = 1  # a price the cache can count with; nothing is allocated


class NoKv:
    """Satisfies `engine.cache.part.Storage` for a model of full-attention layers whose KV nobody
    reads: there is neither a recurrent state nor a sliding window, and nothing is allocated ahead.
    """

    __slots__ = ("_bytes_per_token", "_num_tokens")

    def __init__(self, bytes_per_token: int = BYTES_PER_TOKEN) -> None:
        self._bytes_per_token = bytes_per_token
        self._num_tokens = 0

    @property
    def num_tokens(self) -> int:
        return self._num_tokens

    @property
    def num_bytes(self) -> int:
        return self._num_tokens * self._bytes_per_token

    @property
    def state_bytes(self) -> int:
        return 0

    def window_tokens(self, group: int) -> int:
        return 0

    def window_bytes(self, group: int) -> int:
        return 0

    def growth_bytes(self, num_tokens: int) -> int:
        return num_tokens * self._bytes_per_token

    def append(self, num_tokens: int) -> None:
        """Say that `num_tokens` more tokens were computed."""
        self._num_tokens += num_tokens

    def seal(self) -> None:
        pass

    def successor(self) -> NoKv:
        return NoKv(self._bytes_per_token)

    def truncate(self, num_tokens: int) -> None:
        self._num_tokens = num_tokens

    def absorb_bytes(self, other: Storage) -> int:
        return 0

    def absorb(self, other: Storage) -> None:
        self._num_tokens += other.num_tokens

    def drop_state(self) -> None:
        pass

    def drop_window(self, group: int) -> None:
        pass
