"""What mlx-lm's batch on copies of a prefix is made to compute, and that it is the right thing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mlx.core as mx
import pytest
from mlx_lm.models.cache import make_prompt_cache

from engine.model.plain_batch import ROOM_TOKENS, PlainBatch, allocated_bytes
from tests.support.tiny_models import VOCABULARY, largest, tiny_model

PREFIX = [(7 * n * n + 3 * n + 5) % VOCABULARY for n in range(300)]
SUFFIXES = [[(11 * n + 9 * row + 1) % VOCABULARY for n in range(5)] for row in range(3)]
MOST_TOKENS = 50
LAYERS, KV_HEADS, HEAD_DIM = 3, 2, 16
BYTES_PER_TOKEN = LAYERS * KV_HEADS * HEAD_DIM * 2 * 4


class Recorder:
    """A tiny model that notes the tokens of each forward pass, and the logits of the last one."""

    def __init__(self) -> None:
        self.model: Any = tiny_model("llama").model
        self.layers = self.model.layers
        self.passes: list[mx.array] = []
        self.last: Any = None

    def __call__(self, tokens: mx.array, cache: Any = None) -> mx.array:
        self.passes.append(tokens)
        logits: mx.array = self.model(tokens, cache=cache)
        self.last = logits[:, -1]
        return logits

    def modules(self) -> list[Any]:
        modules: list[Any] = self.model.modules()
        return modules

    def took(self) -> list[tuple[int, ...]]:
        """(rows, tokens) of each pass since the last call."""
        shapes = [tokens.shape for tokens in self.passes]
        self.passes = []
        return shapes

    def next_token(self, tokens: Sequence[int]) -> int:
        return int(mx.argmax(self.fresh(tokens)).item())

    def fresh(self, tokens: Sequence[int]) -> mx.array:
        logits: mx.array = self.model(mx.array([list(tokens)]), cache=make_prompt_cache(self))
        return logits[0, -1]


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()


@pytest.fixture
def batch(recorder: Recorder) -> PlainBatch:
    batch = PlainBatch(recorder, 512, MOST_TOKENS)  # type: ignore[arg-type]
    batch.keep(PREFIX)
    recorder.took()
    return batch


def test_rows_answer_their_own_prompts(batch: PlainBatch, recorder: Recorder) -> None:
    ttft_s = batch.start(SUFFIXES)
    assert len(ttft_s) == 3
    assert 0 < min(ttft_s) <= max(ttft_s)
    first = next(tokens for tokens in recorder.passes[2:] if tokens.shape == (3, 1))
    wanted = [recorder.next_token([*PREFIX, *suffix]) for suffix in SUFFIXES]
    assert first[:, 0].tolist() == wanted
    recorder.took()
    assert batch.steps(4) > 0
    assert recorder.took() == [(3, 1)] * 4
    batch.stop()


def test_the_steps_of_a_join_are_counted(batch: PlainBatch, recorder: Recorder) -> None:
    batch.start(SUFFIXES[:2])
    batch.steps(1)
    recorder.took()
    joined = batch.join(SUFFIXES[2])
    took = recorder.took()
    assert 0 < joined.first_s <= joined.total_s
    assert took.count((2, 1)) == joined.steps_before
    assert took.count((3, 1)) == joined.steps_after
    own = [shape for shape in took if shape[0] == 1]
    assert sum(width for _, width in own) == len(SUFFIXES[2])
    assert batch.leave() > 0
    assert recorder.took() == [(2, 1)]
    batch.stop()


def test_rows_leave_the_prefix_as_it_was(batch: PlainBatch, recorder: Recorder) -> None:
    batch.start(SUFFIXES[:2])
    batch.join(SUFFIXES[2])
    batch.start_alone(SUFFIXES[0])
    recorder.took()
    assert batch.alone_steps(4) > 0
    assert recorder.took() == [(1, 1)] * 4
    batch.stop()
    for suffix in SUFFIXES:
        assert batch.limit(suffix) > 0
        assert recorder.passes[-1].tolist() == [suffix]
        assert largest(recorder.last[0] - recorder.fresh([*PREFIX, *suffix])) < 1e-3


def test_one_step_alone_goes_on_from_the_suffix(batch: PlainBatch, recorder: Recorder) -> None:
    batch.start_alone(SUFFIXES[0])
    assert batch.alone_steps(1) > 0
    again = [*PREFIX, *SUFFIXES[0], SUFFIXES[0][-1]]
    assert largest(recorder.last[0] - recorder.fresh(again)) < 1e-3


def test_every_row_takes_a_copy(batch: PlainBatch) -> None:
    before = allocated_bytes()
    batch.start(SUFFIXES)
    batch.steps(1)
    taken = allocated_bytes() - before
    copies = len(SUFFIXES) * (len(PREFIX) + ROOM_TOKENS) * BYTES_PER_TOKEN
    assert copies <= taken <= 1.02 * copies
    batch.stop()
    assert allocated_bytes() - before < 0.02 * copies
