"""What prefill takes, learned from what it took: seconds for n tokens behind a depth of others, and
its share of a step."""

from __future__ import annotations

import math

_INITIAL_S = 1 / 200.0  # seconds a token, before anything was measured
_FORGETTING = 0.98  # weight of the past at each new chunk
_SMOOTHING = 0.2
_TELLS_APART = 1e-4  # of a term's square, what no other term explains
_LEAST_TOKENS = 32  # smaller chunks tell more of a step's fixed cost than of a token's


class PrefillCost:
    """a·n + b·n·depth and a constant for each pass, fitted by least squares over what was observed,
    the latest counting most (algorithms §2.9). `depth` is the mean number of tokens that a chunk's
    tokens attend to. The constant is spread over the tokens of the longest pass that was seen:
    prompts are computed in as long ones as there may be."""

    def __init__(self) -> None:
        self._products = [[0.0] * 3 for _ in range(3)]  # of (1, n, n·depth) with each other
        self._times = [0.0] * 3  # and with the seconds
        self._longest = 0
        # a in seconds a token, b in seconds a token and token of depth; neither is negative.
        self.coefficients = (_INITIAL_S, 0.0)

    def observe(self, start: int, num_tokens: int, seconds: float) -> None:
        """A chunk of `num_tokens` tokens from position `start` on took so long."""
        if num_tokens < _LEAST_TOKENS or seconds <= 0:
            return
        self._longest = max(self._longest, num_tokens)
        features = (1.0, float(num_tokens), num_tokens * (start + num_tokens / 2))
        for i, one in enumerate(features):
            self._times[i] = self._times[i] * _FORGETTING + one * seconds
            for j, other in enumerate(features):
                self._products[i][j] = self._products[i][j] * _FORGETTING + one * other
        self.coefficients = self._fitted()

    def seconds(self, start: int, end: int) -> float:
        """To compute tokens [start, end) of a prompt."""
        num_tokens = max(0, end - start)
        a, b = self.coefficients
        return a * num_tokens + b * num_tokens * (start + num_tokens / 2)

    def _fitted(self) -> tuple[float, float]:
        """The fullest model whose terms can be told apart and are not negative."""
        for terms in ((0, 1, 2), (1, 2), (0, 1)):
            fit = _least_squares(
                [[self._products[i][j] for j in terms] for i in terms],
                [self._times[i] for i in terms],
            )
            if fit is not None and min(fit) >= 0:
                found = dict(zip(terms, fit, strict=True))
                a = found.get(1, 0.0) + found.get(0, 0.0) / self._longest
                if a > 0:
                    return a, found.get(2, 0.0)
        return self._times[1] / self._products[1][1], 0.0


def _least_squares(products: list[list[float]], times: list[float]) -> list[float] | None:
    """Solve the normal equations by elimination; None where the terms cannot be told apart."""
    size = len(times)
    scale = [math.sqrt(products[i][i]) for i in range(size)]
    rows = [
        [products[i][j] / scale[i] / scale[j] for j in range(size)] + [times[i] / scale[i]]
        for i in range(size)
    ]
    for i in range(size):
        if rows[i][i] < _TELLS_APART:
            return None
        for lower in rows[i + 1 :]:
            factor = lower[i] / rows[i][i]
            for j in range(i, size + 1):
                lower[j] -= factor * rows[i][j]
    solution = [0.0] * size
    for i in reversed(range(size)):
        known = sum(rows[i][j] * solution[j] for j in range(i + 1, size))
        solution[i] = (rows[i][size] - known) / rows[i][i]
    return [value / unit for value, unit in zip(solution, scale, strict=True)]


class StepShare:
    """Which share of the time of steps goes to prompts: the rest goes to running answers."""

    def __init__(self) -> None:
        self.prefill = 1.0

    def observe(self, prefill_s: float, step_s: float) -> None:
        """A step that computed some of a prompt took so long altogether."""
        if 0 < prefill_s <= step_s:
            self.prefill += _SMOOTHING * (prefill_s / step_s - self.prefill)
