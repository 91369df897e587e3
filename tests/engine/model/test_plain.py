"""What plain mlx-lm is made to compute while the clock runs, and that it is the right thing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import mlx.core as mx
import pytest
from mlx_lm.models import llama
from mlx_lm.models.cache import RotatingKVCache, make_prompt_cache

from engine.model.plain import PlainModel

CHUNK = 32
PROMPT = [(7 * at) % 50 + 1 for at in range(100)]


class Recorder:
    """A tiny model that notes how many tokens each forward pass has, and its last logits."""

    def __init__(self, window: int | None = None) -> None:
        mx.random.seed(1)
        arguments = llama.ModelArgs(
            model_type="llama",
            hidden_size=32,
            num_hidden_layers=2,
            intermediate_size=48,
            num_attention_heads=4,
            num_key_value_heads=2,
            rms_norm_eps=1e-5,
            vocab_size=64,
        )
        self.model: Any = llama.Model(arguments)
        self.layers = self.model.layers
        self.passes: list[int] = []
        self.last: mx.array | None = None
        if window is not None:
            self.make_cache = lambda: [_rotating(window) for _ in self.layers]

    def __call__(self, tokens: mx.array, cache: Any = None) -> mx.array:
        self.passes.append(tokens.shape[1])
        logits: mx.array = self.model(tokens, cache=cache)
        self.last = logits[0, -1]
        return logits

    def fresh(self, tokens: Sequence[int]) -> mx.array:
        """Logits after `tokens`, token by token in a new cache."""
        cache = make_prompt_cache(self)
        each: list[mx.array] = []
        for token in tokens:
            each.append(self.model(mx.array([[token]]), cache=cache)[0, -1])
            mx.eval(each)
        return each[-1]

    def modules(self) -> list[Any]:
        modules: list[Any] = self.model.modules()
        return modules

    def took(self) -> list[int]:
        """Sizes of the forward passes since the last call."""
        passes, self.passes = self.passes, []
        return passes


def plain_model(recorder: Recorder, chunk: int) -> PlainModel:
    """Ready to be timed: what it tried when it was made does not count."""
    plain = PlainModel(recorder, chunk)  # type: ignore[arg-type]
    recorder.took()
    return plain


def _rotating(window: int) -> Any:
    return RotatingKVCache(window)  # type: ignore[no-untyped-call]


@pytest.fixture
def make() -> Callable[..., tuple[Recorder, PlainModel]]:
    def make(window: int | None = None) -> tuple[Recorder, PlainModel]:
        recorder = Recorder(window)
        return recorder, plain_model(recorder, CHUNK)

    return make


def same(left: mx.array | None, right: mx.array) -> bool:
    return left is not None and bool(mx.abs(left - right).max() < 1e-4)


Make = Callable[..., tuple[Recorder, PlainModel]]


def test_cold_is_mlx_lm_s_own_prefill_and_nothing_beyond(make: Make) -> None:
    recorder, plain = make()
    assert plain.cold(PROMPT) > 0
    assert recorder.took() == [32, 32, 32, 3, 1]
    assert same(recorder.last, recorder.fresh(PROMPT))


def test_the_second_cold_is_as_cold_as_the_first(make: Make) -> None:
    recorder, plain = make()
    plain.cold(PROMPT)
    recorder.took()
    plain.cold(PROMPT)
    assert sum(recorder.took()) == len(PROMPT)


def test_only_the_suffix_is_computed_while_the_clock_runs(make: Make) -> None:
    recorder, plain = make()
    plain.cold(PROMPT)
    suffix = [60, 61, 62]
    plain.place(PROMPT[:90], suffix)
    recorder.took()
    assert plain.extend(suffix) > 0
    assert recorder.took() == [3]
    assert same(recorder.last, recorder.fresh(PROMPT[:90] + suffix))


def test_what_is_in_place_already_is_kept(make: Make) -> None:
    recorder, plain = make()
    plain.cold(PROMPT)
    plain.extend([60])
    recorder.took()
    plain.place(PROMPT[:-1], PROMPT[-1:])
    assert recorder.took() == [1]
    plain.extend(PROMPT[-1:])
    assert same(recorder.last, recorder.fresh(PROMPT))


def test_another_prompt_can_be_put_in_place(make: Make) -> None:
    recorder, plain = make()
    plain.cold(PROMPT)
    other = [*PROMPT[:40], 63, 62, 61]
    plain.place(other, [5, 6])
    plain.extend([5, 6])
    assert same(recorder.last, recorder.fresh([*other, 5, 6]))


def test_nothing_in_place_is_a_prefix_too(make: Make) -> None:
    recorder, plain = make()
    plain.cold(PROMPT)
    plain.place([], [5, 6])
    plain.extend([5, 6])
    assert same(recorder.last, recorder.fresh([5, 6]))


def test_a_state_that_cannot_be_cut_is_computed_anew(make: Make) -> None:
    recorder, plain = make(window=16)
    plain.cold(PROMPT)
    plain.place(PROMPT[:90], [60, 61])
    recorder.took()
    plain.extend([60, 61])
    assert recorder.took() == [2]
    assert same(recorder.last, recorder.fresh([*PROMPT[:90], 60, 61]))
