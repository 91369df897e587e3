"""Logits of the last token only. mlx-lm's models compute them for every token of a chunk, which for
a large vocabulary costs as much as a layer; only the last token's are ever needed in prefill.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import mlx.core as mx
from mlx.nn.layers.base import Module
from mlx.nn.layers.embedding import Embedding
from mlx.nn.layers.quantized import QuantizedEmbedding

_PROBE_TOKENS = (5, 6, 7)
_PROBE_TOLERANCE = 1e-2


class LastTokenHead:
    """Finds a model's output projection and narrows it to the last token while `narrowed`.

    `found` tells whether that works for this model: established by comparing logits. Where it does
    not, `narrowed` changes nothing.
    """

    def __init__(self, model: Any) -> None:
        self._counts: Sequence[int] = ()
        self.found = self._install(model) and self._works(model)

    @contextmanager
    def narrowed(self, counts: Sequence[int]) -> Iterator[None]:
        """Within it, a forward pass of rows with so many tokens each gives logits [rows, 1,
        vocabulary] where a head was `found`."""
        self._counts = counts if self.found else ()
        try:
            yield
        finally:
            self._counts = ()

    def _narrow(self, hidden: mx.array) -> mx.array:
        """Of hidden states [rows, tokens, width] each row's last token's."""
        return last_tokens(hidden, self._counts) if self._counts else hidden

    def _install(self, model: Any) -> bool:
        head = getattr(model, "lm_head", None)
        if isinstance(head, Module):
            model.lm_head = _Narrowing(head, self)
            return True
        embeddings = [
            module
            for module in model.modules()
            if isinstance(module, Embedding | QuantizedEmbedding)
        ]
        if not embeddings:
            return False
        project = embeddings[0].as_linear

        def as_linear(hidden: mx.array) -> mx.array:
            logits: mx.array = project(self._narrow(hidden))  # type: ignore[no-untyped-call]
            return logits

        # Past Module's own bookkeeping: it is no parameter, only a method before the class's.
        object.__setattr__(embeddings[0], "as_linear", as_linear)
        return True

    def _works(self, model: Any) -> bool:
        tokens = mx.array([_PROBE_TOKENS])
        whole = model(tokens)
        self._counts = (len(_PROBE_TOKENS),)
        try:
            last = model(tokens)
        finally:
            self._counts = ()
        if last.shape != (1, 1, whole.shape[-1]):
            return False
        off: Any = mx.abs(last[:, -1] - whole[:, -1]).max() / mx.abs(whole[:, -1]).max()
        return bool(float(off.item()) <= _PROBE_TOLERANCE)


def last_tokens(of_all: mx.array, counts: Sequence[int]) -> mx.array:
    """Of [rows, tokens, width], what stands at each row's last token, [rows, 1, width]. Behind its
    `counts` tokens a row is filled up."""
    if min(counts) == of_all.shape[1]:
        return of_all[:, -1:]
    last = mx.array(list(counts))[:, None, None] - 1
    return mx.take_along_axis(of_all, last, axis=1)


class _Narrowing(Module):
    """An output projection that can be told to look at the last token only."""

    def __init__(self, head: Module, owner: LastTokenHead) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.head = head
        object.__setattr__(self, "_owner", owner)

    def __call__(self, hidden: mx.array) -> mx.array:
        logits: mx.array = self.head(self._owner._narrow(hidden))
        return logits
