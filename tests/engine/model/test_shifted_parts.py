"""A part read at another position than it was computed for: queries are turned, keys stay."""

from __future__ import annotations

import mlx.core as mx
import pytest
from mlx_lm.models.cache import KVCache

from engine.cache.part import Part, View
from engine.cache.row import Row
from engine.model.attention import JoinedCache
from engine.model.rotation import rotations
from engine.model.runner import Runner
from tests.support.tiny_models import VOCABULARY, largest, runner_of, tiny_model

SPAN = [(7 * n * n + 3 * n + 5) % VOCABULARY for n in range(40)]
QUESTION = [9, 4, 77]
NAMES = ["llama", "llama_mha", "qwen2", "qwen3", "mixtral"]  # traditional RoPE among them


def at_another_place(runner: Runner, base: int) -> mx.array:
    """Logits of the question behind the span, both computed from position `base` on."""
    layers = [
        JoinedCache(base, [], KVCache())  # type: ignore[no-untyped-call]
        for _ in runner._layout.leaves
    ]
    logits = runner._model(mx.array([SPAN + QUESTION]), cache=layers)[0, len(SPAN) :]
    mx.eval(logits)
    return logits


def shifted(runner: Runner, base: int) -> mx.array:
    """The same with the span computed at position 0 and read at `base`."""
    from engine.model.probe import _bare_row

    span = _bare_row(SPAN, None, runner.new_storage())
    runner.prefill(span, len(SPAN))
    span.tail.storage.seal()
    row: Row = _bare_row([0] * base + SPAN + QUESTION, None, runner.new_storage())
    row.hold.add(View(span.tail, len(SPAN), shift=base))
    row.tail = Part(base + len(SPAN), span.tail, runner.new_storage())
    return runner.logits(row)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("base", [0, 1, 17, 500, 5000])
def test_a_span_serves_at_any_position(name: str, base: int) -> None:
    runner, _ = runner_of(tiny_model(name))
    wanted = at_another_place(runner, base)
    # Angles of thousands of turns are rounded in float32, on both sides.
    assert largest(shifted(runner, base) - wanted) <= (1e-3 if base <= 500 else 2e-3)
    if base:  # the position matters: without the turn it would be another answer
        runner._rotations = [lambda queries, by: queries] * len(runner._rotations)
        assert largest(shifted(runner, base) - wanted) > 0.05


@pytest.mark.parametrize("shift", [1, 40, 1000, 5000])
def test_scores_of_turned_queries(shift: int) -> None:
    """On scores of about 23, turning the query errs by at most 7e-4 (design D10)."""
    loaded = tiny_model("llama")
    rotate = rotations(loaded.model, loaded.layout)[0]
    assert rotate is not None
    rope = loaded.model.layers[0].self_attn.rope  # type: ignore[attr-defined]
    mx.random.seed(3)
    keys = 2.4 * mx.random.normal((1, 2, 64, 16))
    queries = 2.4 * mx.random.normal((1, 2, 8, 16))
    asked = rope(queries, offset=shift + 64)
    exact = asked @ rope(keys, offset=shift).swapaxes(-1, -2)
    turned = rotate(asked, -shift) @ rope(keys, offset=0).swapaxes(-1, -2)
    assert 20 <= float(mx.abs(exact).max().item()) <= 120
    assert largest(exact - turned) <= 7e-4 * float(mx.abs(exact).max().item()) / 23


def test_layers_without_rotary_embeddings_have_no_turn() -> None:
    loaded = tiny_model("jamba")
    assert rotations(loaded.model, loaded.layout) == [None] * 4
    loaded = tiny_model("falcon_h1")  # a state and attention in each layer
    found = rotations(loaded.model, loaded.layout)
    assert [rotate is not None for rotate in found] == [False, True] * 3
