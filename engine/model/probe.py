"""What a model can do, found out by trying: names of architectures are no proof (design D5)."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, Protocol

import mlx.core as mx
from mlx_lm.models.cache import make_prompt_cache

from engine.cache.page import Page
from engine.cache.part import Hold, Part, Storage, View
from engine.cache.row import Row
from engine.model import attention
from engine.model.info import AttentionMode
from engine.model.loader import LoadedModel

# Root mean square of the difference, in units of the logits' standard deviation. Rounding makes
# 1e-5 in float32, up to 0.035 in bfloat16 on four layers and more on deep models; where mlx-lm
# differs by more from itself when it takes the tokens in other passes, that is the measure. A
# position off by one makes 0.5 to 1.3.
_TOLERANCE_FLOAT32 = 1e-3
_TOLERANCE_HALF = 0.12
_NOISE = 2.5
_MOST_TOLERANCE = 0.25

_PREFIX = list(range(5, 24))
_SUFFIXES = ([30, 7, 12], [8, 31, 9])


class Probed(Protocol):
    """What the probe needs of a runner."""

    mode: AttentionMode

    def new_storage(self) -> Storage: ...

    def prefill(self, row: Row, num_tokens: int) -> None: ...

    def logits(self, row: Row) -> mx.array: ...

    def rows_logits(self, rows: Sequence[Row]) -> mx.array: ...

    def fresh_logits(self, tokens: Sequence[int]) -> mx.array: ...


def establish(runner: Probed, loaded: LoadedModel) -> tuple[AttentionMode, str]:
    """The best way in which the model's requests can share KV, and what spoke against better
    ones."""
    if not loaded.layout.reusable:
        return AttentionMode.PRIVATE, loaded.layout.obstacle
    failures = []
    tolerance = _TOLERANCE_FLOAT32
    if loaded.dtype != "float32":
        tolerance = min(max(_TOLERANCE_HALF, _NOISE * _noise(loaded.model)), _MOST_TOLERANCE)
    for mode in (AttentionMode.SHARED, AttentionMode.COPIES):
        runner.mode = mode
        try:
            if mode is AttentionMode.SHARED:
                _install_rows(loaded.model)
            deviation = _deviation(runner, batched=mode is AttentionMode.SHARED)
        except Exception as error:  # a model may refuse foreign caches in any way it likes
            failures.append(_refusal(mode, error))
            continue
        if deviation <= tolerance:
            return mode, "; ".join(failures)
        failures.append(f"{mode.value}: logits differ by {deviation:.2g} of their spread")
    return AttentionMode.PRIVATE, "; ".join(failures)


def _refusal(mode: AttentionMode, error: Exception) -> str:
    kind = type(error.__cause__ or error).__name__
    return f"{mode.value}: it uses its caches in a way of its own ({kind})"


def _install_rows(model: Any) -> None:
    """Let every attention class of the model's modules read rows over parts. A model without
    attention has none, and needs none."""
    for module in {type(m).__module__ for m in model.modules()}:
        source = sys.modules[module]
        if module.startswith("mlx_lm.models.") and hasattr(source, "scaled_dot_product_attention"):
            attention.install(source)


def _deviation(runner: Probed, *, batched: bool) -> float:
    """Difference between rows on one sealed part and the same tokens run alone: one token at a time
    and together, and several at once."""
    fresh = [runner.fresh_logits([*_PREFIX, *suffix])[len(_PREFIX) :] for suffix in _SUFFIXES]
    leader = _bare_row(_PREFIX, None, runner.new_storage())
    runner.prefill(leader, len(_PREFIX))
    leader.tail.storage.seal()
    off = [
        _off(runner.logits(_on(leader, suffix)), expected)
        for suffix, expected in zip(_SUFFIXES, fresh, strict=True)
    ]
    if batched and not leader.tail.storage.state_bytes:
        ragged = [_on(leader, _SUFFIXES[0][:1]), _on(leader, _SUFFIXES[1])]
        off.append(_off(runner.rows_logits(ragged), mx.stack([fresh[0][0], fresh[1][-1]])))
    rows = [_on(leader, suffix[:1]) for suffix in _SUFFIXES]
    for step in range(len(_SUFFIXES[0])):
        if step:
            for row, suffix in zip(rows, _SUFFIXES, strict=True):
                row.tokens.append(suffix[step])
        if batched:
            logits = runner.rows_logits(rows)
        else:
            logits = mx.concatenate([runner.logits(row) for row in rows])
        off.append(_off(logits, mx.stack([expected[step] for expected in fresh])))
    return max(off)


def _noise(model: Any) -> float:
    """How far mlx-lm's logits of one pass are from those of the same tokens one by one, behind a
    prefix in a pass of its own and behind one in two."""
    tokens = [*_PREFIX, *_SUFFIXES[0]]
    whole = model(mx.array([tokens]), cache=make_prompt_cache(model))[0, len(_PREFIX) :]
    off = []
    for cut in (0, len(_PREFIX) // 2):
        cache = make_prompt_cache(model)
        for piece in (_PREFIX[:cut], _PREFIX[cut:]):
            if piece:
                mx.eval(model(mx.array([piece]), cache=cache))
        single = [model(mx.array([[token]]), cache=cache)[0, -1] for token in _SUFFIXES[0]]
        off.append(_off(mx.stack(single), whole))
    return max(off)


def _off(logits: mx.array, expected: mx.array) -> float:
    """Root mean square of a difference of logits, in units of their standard deviation."""
    expected = expected.astype(mx.float32)
    difference = logits.astype(mx.float32) - expected
    off: Any = (mx.sqrt((difference**2).mean()) / expected.std()).item()
    return float(off)


def _on(leader: Row, suffix: Sequence[int]) -> Row:
    """A row that goes on from the end of the sealed leader."""
    view = View(leader.tail, leader.tail.end)
    return _bare_row([*leader.tokens, *suffix], view, leader.tail.storage.successor())


def _bare_row(tokens: Sequence[int], view: View | None, storage: Storage) -> Row:
    """A row outside any cache."""
    hold = Hold("probe")
    if view is not None:
        hold.add(view)
    tail = Part(view.end if view else 0, view.part if view else None, storage)
    return Row(tokens, Page(None, b"", None, None), hold, tail)
