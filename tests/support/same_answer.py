"""When two greedy answers count as the same (design §5): equal, or the two likeliest tokens were
as good as equal where they part."""

from __future__ import annotations

from collections.abc import Sequence

import mlx.core as mx
from mlx_lm.models.cache import make_prompt_cache

from engine.model.loader import LoadedModel
from engine.prompt.codec import TextCodec

MOST_GAP = 1e-3

_UNFINISHED = "\N{REPLACEMENT CHARACTER}"  # of a character that takes several tokens


def gap_where_it_parts(
    loaded: LoadedModel, prompt: Sequence[int], said: str, most_tokens: int
) -> float:
    """How far the likeliest token lies before the next one, in logits, where mlx-lm's own greedy
    answer leaves `said`; 0.0 where it does not leave it."""
    cache, codec = make_prompt_cache(loaded.model), TextCodec(loaded.tokenizer)
    answer: list[int] = []
    feed = list(prompt)
    for _ in range(most_tokens):
        logits = loaded.model(mx.array([feed]), cache=cache)[0, -1].astype(mx.float32)
        best = mx.argsort(logits)[-2:].tolist()
        answer.append(best[1])
        text = codec.decode(answer).rstrip(_UNFINISHED)
        if best[1] in loaded.eos_ids or not said.startswith(text):
            ends_alike = best[1] in loaded.eos_ids and text == said
            return 0.0 if ends_alike else float((logits[best[1]] - logits[best[0]]).item())
        feed = answer[-1:]
    return 0.0
