"""The engine in this process, on a very small hybrid."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.bench.errors import BenchError
from app.bench.hybrid_model import HybridShape, write
from app.bench.local_engine import LocalEngine, local_engine
from engine.errors import PromptTooLong

SHAPE = HybridShape(
    hidden=32, layers=2, attention_interval=2, heads=2, head_dim=16, vocabulary=64,
    context_window=256,
)  # fmt: skip
PROMPT = [3 + number % 60 for number in range(100)]


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalEngine]:
    folder = write(tmp_path_factory.mktemp("models") / "hybrid", SHAPE)
    with local_engine(folder, {}) as engine:
        yield engine


def test_a_prompt_is_found_again_under_its_salt(engine: LocalEngine) -> None:
    first, second = engine.ask(PROMPT, "again"), engine.ask(PROMPT, "again")
    assert (first.prompt_tokens, first.cached_tokens) == (100, 0)
    assert second.cached_tokens == 99
    assert min(first.ttft_s, second.ttft_s) > 0
    assert engine.ask([*PROMPT, 1, 2], "again").cached_tokens == 100
    assert engine.ask(PROMPT, "another").cached_tokens == 0


def test_whole_blocks_are_stood_in_for_by_what_was_filled(engine: LocalEngine) -> None:
    engine.fill(PROMPT[:64], "filled")
    assert engine.ask([*PROMPT, 1, 2], "filled").cached_tokens == 64


def test_without_its_cache_it_finds_and_keeps_nothing(engine: LocalEngine) -> None:
    engine.ask(PROMPT, "")
    off = engine.ask_without_cache(PROMPT)
    assert (off.cached_tokens, off.ttft_s > 0) == (0, True)
    assert engine.ask(PROMPT, "").cached_tokens == 99
    other = list(reversed(PROMPT))
    engine.ask_without_cache(other)
    assert engine.ask(other, "").cached_tokens == 0


def test_a_prompt_beyond_the_window_is_refused(engine: LocalEngine) -> None:
    with pytest.raises(PromptTooLong):
        engine.ask([1] * 300, "long")


def test_a_model_that_cannot_be_loaded_is_told(tmp_path: Path) -> None:
    folder = write(tmp_path / "hybrid", SHAPE)
    (folder / "model.safetensors").write_bytes(b"")
    with (
        pytest.raises(BenchError, match=r"cannot use the model: .*model\.safetensors"),
        local_engine(folder, {"ONDOL_BENCH_TEST": "1"}),
    ):
        raise AssertionError("it started")
    assert "ONDOL_BENCH_TEST" not in os.environ
