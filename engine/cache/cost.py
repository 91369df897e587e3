"""What KV costs: bytes by kind of layer."""

from __future__ import annotations

from dataclasses import dataclass

EMPTY_SHARE = 8  # room of more than 1/8 of a part's tokens is worth a copy to give back
WINDOW_SLACK_TOKENS = 256  # a tail sheds what lies before its window once it holds so much more


@dataclass(frozen=True, slots=True)
class WindowCost:
    """One group of sliding layers: the tokens they see, bytes of one token over all of them, and
    the most tokens that a row holds of them at a time, in its tail and in the parts before it."""

    window: int
    bytes_per_token: int
    most_tokens: int

    @property
    def reach(self) -> int:
        """Tokens before a position that the next token still sees."""
        return self.window - 1


@dataclass(frozen=True, slots=True)
class KVCost:
    """Prices of one model: a token of all full-attention layers, of each group of sliding layers,
    and one recurrent state, in bytes. `grows_by_eighths`: a tail is never allocated further ahead
    than 32 tokens and an eighth of what it holds."""

    bytes_per_token: int
    windows: tuple[WindowCost, ...] = ()
    state_bytes: int = 0
    grows_by_eighths: bool = False

    @property
    def dense(self) -> bool:
        """Whether every token's KV stands alone: full attention only. Then a hit may end anywhere
        and no checkpoints are needed."""
        return not self.windows and not self.state_bytes

    @property
    def recurrent(self) -> bool:
        return self.state_bytes > 0

    def append_bytes(self, num_tokens: int) -> int:
        """Most bytes that a row allocates while it appends so many tokens."""
        sliding = sum(
            min(num_tokens, group.most_tokens) * group.bytes_per_token for group in self.windows
        )
        full = num_tokens * self.bytes_per_token
        if not self.dense:
            full += full // EMPTY_SHARE  # a row that leaves checkpoints leaves empty room at each
        return full + sliding + self.state_bytes

    def ahead_tokens(self, num_tokens: int, most: int) -> int:
        """Most tokens, of at most `most`, that a tail which comes to hold `num_tokens` is allocated
        ahead of them."""
        return min(most, 32 + num_tokens // 8) if self.grows_by_eighths else most

    def prefix_bytes(self, num_tokens: int) -> int:
        """Bytes of a stored prefix that can be hit at its end."""
        return num_tokens * self.bytes_per_token + self.end_bytes(num_tokens)

    def end_bytes(self, num_tokens: int) -> int:
        """Of those, the bytes that only a hit at its end needs: windows and a state."""
        sliding = sum(
            min(num_tokens, group.reach) * group.bytes_per_token for group in self.windows
        )
        return sliding + self.state_bytes

    def tokens_within(self, num_bytes: int) -> int:
        """Most tokens that a row can append within so many bytes."""
        low, high = 0, num_bytes + 1
        while high - low > 1:
            middle = (low + high) // 2
            if self.append_bytes(middle) <= num_bytes:
                low = middle
            else:
                high = middle
        return low
