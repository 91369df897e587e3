"""Logits of the last token only. mlx-lm's models compute them for every token of a chunk, which for
a large vocabulary costs as much as a layer; only the last token's are ever needed in prefill.
"""

from __future__ import annotations

from collections.abc import Iterator
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
        self._last_only = False
        self.found = self._install(model) and self._works(model)

    @contextmanager
    def narrowed(self) -> Iterator[None]:
        """Within it, a forward pass gives logits [rows, 1, vocabulary]."""
        self._last_only = self.found
        try:
            yield
        finally:
            self._last_only = False

    def _narrow(self, hidden: mx.array) -> mx.array:
        """Of hidden states [rows, tokens, width] the last token's."""
        return hidden[:, -1:] if self._last_only else hidden

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
        self._last_only = True
        try:
            last = model(tokens)
        finally:
            self._last_only = False
        if last.shape != (1, 1, whole.shape[-1]):
            return False
        off: Any = mx.abs(last[:, -1] - whole[:, -1]).max() / mx.abs(whole[:, -1]).max()
        return bool(float(off.item()) <= _PROBE_TOLERANCE)


class _Narrowing(Module):
    """An output projection that can be told to look at the last token only."""

    def __init__(self, head: Module, owner: LastTokenHead) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.head = head
        object.__setattr__(self, "_owner", owner)

    def __call__(self, hidden: mx.array) -> mx.array:
        logits: mx.array = self.head(self._owner._narrow(hidden))
        return logits
