"""A model whose forward pass fails when it is told to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.support.gate import Gate


class Failing:
    """Stands before a model's last layer and fails when `fails`, told how many rows and tokens
    come, says so."""

    def __init__(self, gate: Gate) -> None:
        self.fails: Callable[[int, int], bool] = lambda rows, tokens: False
        inner = getattr(gate.runner._model, "language_model", gate.runner._model).model
        self._layer = inner.layers[-1]
        inner.layers[-1] = self

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_layer"], name)

    def __call__(self, x: Any, *args: Any, **options: Any) -> Any:
        out = self._layer(x, *args, **options)
        if self.fails(x.shape[0], x.shape[1]):
            raise RuntimeError("the last layer fails after all have grown")
        return out
