"""What prefill takes, learned from what it took: seconds for n tokens behind a depth of others, and
its share of a step."""

from __future__ import annotations

_INITIAL_S = 1 / 200.0  # seconds a token, before anything was measured
_FORGETTING = 0.98  # weight of the past at each new chunk
_SMOOTHING = 0.2
_LEAST_TOKENS = 32  # smaller chunks tell more of a step's fixed cost than of a token's


class PrefillCost:
    """a·n + b·n·depth, fitted by least squares over what was observed, the latest counting most
    (algorithms §2.9). `depth` is the mean number of tokens that a chunk's tokens attend to."""

    def __init__(self) -> None:
        self._nn = self._nd = self._dd = self._nt = self._dt = 0.0
        # a in seconds a token, b in seconds a token and token of depth; neither is negative.
        self.coefficients = (_INITIAL_S, 0.0)

    def _fitted(self) -> tuple[float, float]:
        determinant = self._nn * self._dd - self._nd * self._nd
        if determinant > 1e-9 * self._nn * self._dd:
            a = (self._nt * self._dd - self._dt * self._nd) / determinant
            b = (self._dt * self._nn - self._nt * self._nd) / determinant
            if a > 0 and b >= 0:
                return a, b
        return self._nt / self._nn, 0.0

    def observe(self, start: int, num_tokens: int, seconds: float) -> None:
        """A chunk of `num_tokens` tokens from position `start` on took so long."""
        if num_tokens < _LEAST_TOKENS or seconds <= 0:
            return
        n, d = float(num_tokens), num_tokens * (start + num_tokens / 2)
        self._nn = self._nn * _FORGETTING + n * n
        self._nd = self._nd * _FORGETTING + n * d
        self._dd = self._dd * _FORGETTING + d * d
        self._nt = self._nt * _FORGETTING + n * seconds
        self._dt = self._dt * _FORGETTING + d * seconds
        self.coefficients = self._fitted()

    def seconds(self, start: int, end: int) -> float:
        """To compute tokens [start, end) of a prompt."""
        num_tokens = max(0, end - start)
        a, b = self.coefficients
        return a * num_tokens + b * num_tokens * (start + num_tokens / 2)


class StepShare:
    """Which share of the time of steps goes to prompts: the rest goes to running answers."""

    def __init__(self) -> None:
        self.prefill = 1.0

    def observe(self, prefill_s: float, step_s: float) -> None:
        """A step that computed some of a prompt took so long altogether."""
        if 0 < prefill_s <= step_s:
            self.prefill += _SMOOTHING * (prefill_s / step_s - self.prefill)
