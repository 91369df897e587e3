"""How many prompt tokens go into one forward pass."""

from __future__ import annotations

GRID = (
    64  # chunks end on absolute multiples of this, so that cold and warm runs cut alike (design D5)
)
_INITIAL_TOKENS_PER_S = 200.0
_SMOOTHING = 0.3


def chunk_tokens(start: int, remaining: int, limit: int, stop: int | None = None) -> int:
    """Tokens of the next chunk of a prompt that stands at `start` with `remaining` tokens to go.

    At most `limit` (but at least one grid step), ending on the grid unless the prompt ends first,
    or at the next checkpoint (`stop`). A checkpoint less than a grid step beyond the limit is
    reached at once: the little that would be left is worth no chunk of its own.
    """
    limit = max(GRID, limit)
    if stop is not None and start < stop < start + remaining:
        if stop - start < limit + GRID:
            return stop - start
    elif remaining <= limit:
        return remaining
    return (start + limit) // GRID * GRID - start


class PrefillRate:
    """Measured prefill speed, smoothed, in tokens per second."""

    def __init__(self) -> None:
        self.tokens_per_s = _INITIAL_TOKENS_PER_S

    def observe(self, num_tokens: int, seconds: float) -> None:
        """Take a chunk into account; chunks too small to tell anything are ignored."""
        if num_tokens >= GRID // 2 and seconds > 0:
            self.tokens_per_s += _SMOOTHING * (num_tokens / seconds - self.tokens_per_s)

    def tokens_within(self, seconds: float, most: int) -> int:
        """Tokens that fit into `seconds`, on the grid, at least one grid step and at most
        `most`."""
        fitting = int(self.tokens_per_s * seconds) // GRID * GRID
        return max(GRID, min(most, fitting))
