"""Plain mlx-lm's process as the bench drives it: its answers, its failures."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.bench.child import child
from app.bench.errors import BenchError
from app.bench.plain import PlainProcess, plain_process

GREETING = ({"role": "system", "content": "One. "}, {"role": "user", "content": "Two?"})


@contextlib.contextmanager
def stub(code: str, folder: Path) -> Iterator[PlainProcess]:
    log = folder / "log"
    with child([sys.executable, "-c", code], log, {}, piped=True) as process:
        yield PlainProcess(process, log)


def test_it_computes_what_it_is_asked_for_and_nothing_else(
    tiny_model: Path, tmp_path: Path
) -> None:
    with plain_process(tiny_model, tmp_path, {"ONDOL_BLAS_THREADS": "1"}) as plain:
        facts = plain.wait_until_ready()
        assert (facts.context_window, facts.dtype) == (128, "float32")
        assert facts.prefill_chunk > 0
        assert facts.device["blas_threads"] in (0, 1)
        tokens = plain.encode(GREETING)
        assert len(tokens) == len("One. Two?")
        assert 0 < plain.cold(tokens) < 20
        plain.place(tokens[:-2], tokens[-2:])
        assert 0 < plain.extend(tokens[-2:]) < 20
        with pytest.raises(BenchError, match="Plain mlx-lm failed: EmptyPrompt"):
            plain.encode(())
        assert plain.encode(GREETING) == tokens


def test_a_folder_that_cannot_be_loaded_is_told(tmp_path: Path) -> None:
    with (
        plain_process(tmp_path / "none", tmp_path, {}) as plain,
        pytest.raises(BenchError, match="There is no model folder named none"),
    ):
        plain.wait_until_ready()


def test_one_that_is_gone_is_told_with_its_last_words(tmp_path: Path) -> None:
    with (
        stub("import sys; sys.exit('out of memory')", tmp_path) as plain,
        pytest.raises(BenchError, match="plain mlx-lm ended: out of memory"),
    ):
        plain.encode(GREETING)
