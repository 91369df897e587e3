"""Where a prompt's prefill stops to leave a checkpoint, for models that need them (algorithms
§2.4).

A checkpoint costs a chunk's end and its bytes, so two are never kept so close together that taking
up at the later one would save next to nothing.
"""

from __future__ import annotations

from engine.request import Prompt

DEFAULT_SPACING = 8192
NEAR_TOKENS = 16  # computing so few takes as long as computing one
_LASTING = frozenset({"system", "messages"})  # segments that other prompts begin with, too


def checkpoint_positions(
    prompt: Prompt, *, num_cached: int, num_shared: int, unit: int, spacing: int = DEFAULT_SPACING
) -> tuple[int, ...]:
    """Ascending positions in (num_cached, end of the prompt) at which to leave a checkpoint.

    The junction with a prompt seen before (`num_shared` tokens are known, fewer could be taken up);
    the ends of the system and message segments, so that a next turn finds them whatever the
    template makes of the answer; every `spacing` tokens; and the last multiple of the match unit
    before the last token, so that the same prompt is found again. Of two that are near each other
    the earlier is kept: it serves more prompts.
    """
    num_tokens = len(prompt.tokens)
    wanted = {
        num_shared // unit * unit,
        (num_tokens - 1) // unit * unit,
        *(segment.end for segment in prompt.segments if segment.name in _LASTING),
        *range(spacing, num_tokens, spacing),
    }
    kept: list[int] = []
    last = num_cached
    for position in sorted(wanted):
        if last + NEAR_TOKENS <= position < num_tokens:
            kept.append(position)
            last = position
    return tuple(kept)
