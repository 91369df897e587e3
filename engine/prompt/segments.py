"""Where the named segments of a prompt end, found by comparing texts rendered from its parts."""

from __future__ import annotations

from collections.abc import Sequence

from engine.prompt.codec import Encoded
from engine.request import Segment


def common_prefix(
    first: Sequence[object] | str,
    second: Sequence[object] | str,
) -> int:
    """Length of the longest common beginning of two texts or two token sequences."""
    same, different = 0, min(len(first), len(second)) + 1
    while different - same > 1:
        middle = (same + different) // 2
        if first[same:middle] == second[same:middle]:
            same = middle
        else:
            different = middle
    return same


def system_end(text: str, alone: str | None, continued: Sequence[str], marks: Sequence[str]) -> int:
    """Characters of the text that the leading system turn and the tools account for.

    `alone` is their own rendering, if the template gave one; `continued` renderings of them with
    different first user turns, for templates that put them inside that turn. Either counts only
    if it begins the text and shows all `marks` (the system text, the tools' names); 0 if neither.
    """
    candidates = [len(alone)] if alone is not None and text.startswith(alone) else []
    if len(continued) > 1:
        candidates.append(min(common_prefix(text, other) for other in continued))
    for end in candidates:
        if all(mark in text[:end] for mark in marks):
            return end
    return 0


def name_segments(
    encoded: Encoded, num_tokens: int, ends: Sequence[tuple[str, int]]
) -> tuple[Segment, ...]:
    """Segments of the first `num_tokens` tokens, from names and the characters where they end.

    The last one takes what is left. Empty segments are left out.
    """
    segments = []
    start = 0
    for place, (name, char) in enumerate(ends, 1):
        end = num_tokens
        if place < len(ends):
            end = min(max(encoded.num_tokens_before(char), start), num_tokens)
        if end > start:
            segments.append(Segment(name, start, end))
        start = end
    return tuple(segments)
