"""When two greedy answers count as the same (design §5): equal, or the two likeliest tokens were
as good as equal where they part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import mlx.core as mx
from mlx_lm.models.cache import make_prompt_cache

from engine.model.loader import LoadedModel
from engine.prompt.codec import TextCodec

MOST_GAP = 1e-3

_UNFINISHED = "\N{REPLACEMENT CHARACTER}"  # of a character that takes several tokens


@dataclass(frozen=True, slots=True)
class SingleRun:
    """The greedy answer of mlx-lm alone. `texts[n]` is what the first n tokens say, `gaps[n]` how
    far token n lay before the next best, in logits. `reason` is why it ended."""

    texts: tuple[str, ...]
    gaps: tuple[float, ...]
    reason: str

    @property
    def text(self) -> str:
        return self.texts[-1]

    def is_same(self, text: str, reason: str) -> bool:
        """Whether another answer counts as this one."""
        if (text, reason) == (self.text, self.reason):
            return True
        agreed = max(n for n, said in enumerate(self.texts) if _begins(text, said))
        return agreed < len(self.gaps) and self.gaps[agreed] <= MOST_GAP


def single_run(loaded: LoadedModel, prompt: Sequence[int], most_tokens: int) -> SingleRun:
    """One answer of at most so many tokens, with nothing cached before it."""
    cache, codec = make_prompt_cache(loaded.model), TextCodec(loaded.tokenizer)
    token: int
    answer: list[int] = []
    texts, gaps = [""], []
    feed = list(prompt)
    for _ in range(most_tokens):
        logits = loaded.model(mx.array([feed]), cache=cache)[0, -1].astype(mx.float32)
        second, token = mx.argsort(logits)[-2:].tolist()  # type: ignore[assignment,misc]
        gaps.append(float((logits[token] - logits[second]).item()))
        if token in loaded.eos_ids:
            return SingleRun(tuple(texts), tuple(gaps), "stop")
        answer.append(token)
        texts.append(codec.decode(answer))
        feed = answer[-1:]
    return SingleRun(tuple(texts), tuple(gaps), "length")


def _begins(text: str, said: str) -> bool:
    return text.startswith(said.rstrip(_UNFINISHED))
