"""Joining parts of chains: every part of a chain costs a step some operations a layer, and a
conversation adds one each turn (design D2)."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

from engine.cache.part import Part
from engine.cache.row import Row

MOST_PARTS = 4  # up to so many cost a step 0 to 8 % (measured)
# Tokens of a part and the tail on it that are worth joining while their row runs. On a CPU reading
# them apart costs a step of 512 tokens some 6 % in operations; from 2,048 on it is the faster way.
MOST_TAKEN_OVER = 1024


def find_pair(
    parts: Iterable[Part], most_parts: int, *, prompts_apart: bool, num_windows: int
) -> tuple[Part, Part] | None:
    """The smallest two neighbours, in the longest chain of more than `most_parts`, that can be
    joined; None if there are none. With `prompts_apart`, it must stay known which of their tokens
    were computed as part of a prompt."""
    chains = [part.ancestry() for part in parts if not part.children]
    for line in sorted(chains, key=len, reverse=True):
        if len(line) <= most_parts:
            return None
        pairs = [
            (below, above)
            for above, below in itertools.pairwise(line)
            if _joins(below, above)
            and not (prompts_apart and below.prompt_end < below.end)
            and all(_keeps_window(below, above, group) for group in range(num_windows))
        ]
        if pairs:
            return min(pairs, key=lambda pair: sum(part.storage.num_tokens for part in pair))
    return None


def can_take_over(row: Row, *, prompts_apart: bool) -> bool:
    """Whether a row can go on in the last part that it stands on: nobody else needs that, and the
    row stands at its end."""
    if not row.hold.views:
        return False
    last, tail = row.hold.views[-1], row.tail
    below = last.part
    return (
        last.end == below.end
        and not last.shift
        and below.children == {tail}
        and below.holds.keys() == {row.hold}
        and below.checkpoint is None
        and not (prompts_apart and below.prompt_end < below.end)
        and tail.storage.num_tokens > 0
        and tail.end - below.base <= MOST_TAKEN_OVER
    )


def _joins(below: Part, above: Part) -> bool:
    """Whether the upper part can become the end of the lower one. Others may stand on either; a
    state is right at a part's end only, so it must not come to lie inside."""
    return (
        not above.open
        and above.storage.num_tokens > 0
        and above.base == below.end
        and below.checkpoint is None
    )


def _keeps_window(below: Part, above: Part, group: int) -> bool:
    """Whether the lower part's window survives: a part has but one run of tokens, at its end, and
    others who stand on the lower part may see into its window."""
    whole = above.storage.window_tokens(group) == above.storage.num_tokens
    return whole or not below.storage.window_tokens(group)
