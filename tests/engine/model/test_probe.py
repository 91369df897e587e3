"""What the probe lets pass, and what it does not, in every precision."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mlx.core as mx
import pytest

from engine.cache.part import Storage
from engine.cache.row import Row
from engine.model.info import AttentionMode
from engine.model.probe import establish
from engine.model.runner import Runner
from tests.support.tiny_models import tiny_model

SHARED, COPIES, PRIVATE = AttentionMode.SHARED, AttentionMode.COPIES, AttentionMode.PRIVATE


class Deviating:
    """A runner whose logits are off by so many standard deviations: those of rows together, and
    those of a row alone. `late` computes everything one position too far."""

    def __init__(self, runner: Runner, together: float, alone: float, late: bool = False) -> None:
        self._runner = runner
        self._together = together
        self._alone = alone
        self._late = late

    @property
    def mode(self) -> AttentionMode:
        return self._runner.mode

    @mode.setter
    def mode(self, mode: AttentionMode) -> None:
        self._runner.mode = mode

    def new_storage(self) -> Storage:
        return self._runner.new_storage()

    def prefill(self, row: Row, num_tokens: int) -> None:
        self._runner.prefill(row, num_tokens)

    def fresh_logits(self, tokens: Sequence[int]) -> mx.array:
        if not self._late:
            return self._runner.fresh_logits(tokens)
        return self._runner.fresh_logits([3, *tokens])[1:]

    def logits(self, row: Row) -> mx.array:
        return _off(self._runner.logits(row), self._alone)

    def rows_logits(self, rows: Sequence[Row]) -> mx.array:
        return _off(self._runner.rows_logits(rows), self._together)


def _off(logits: mx.array, by: float) -> mx.array:
    """Every other logit moves up, the others down."""
    sign = mx.where(mx.arange(logits.shape[-1]) % 2, 1.0, -1.0)
    moved: Any = logits.astype(mx.float32)
    return moved + by * moved.std() * sign


def found(dtype: str, together: float = 0.0, alone: float = 0.0, *, late: bool = False) -> Any:
    loaded = tiny_model("llama", getattr(mx, dtype))
    runner = Runner(loaded, "llama", created=0)
    return establish(Deviating(runner, together, alone, late), loaded)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_rows_share_their_parts_in_every_precision(dtype: str) -> None:
    assert found(dtype) == (SHARED, "")


@pytest.mark.parametrize(
    ("dtype", "passes", "fails"),
    [("float32", 5e-4, 2e-3), ("float16", 0.08, 0.3), ("bfloat16", 0.08, 0.3)],
)
def test_what_is_off_by_more_than_rounding_runs_in_another_way(
    dtype: str, passes: float, fails: float
) -> None:
    assert found(dtype, together=passes)[0] is SHARED
    mode, why = found(dtype, together=fails)
    assert mode is COPIES
    assert why.startswith(f"{SHARED.value}: logits differ by ")
    assert found(dtype, together=fails, alone=fails)[0] is PRIVATE


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_a_position_off_by_one_never_passes(dtype: str) -> None:
    mode, why = found(dtype, late=True)
    assert mode is PRIVATE
    assert why.count("logits differ by") == 2
