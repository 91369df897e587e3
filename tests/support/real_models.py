"""Models that only tests need: packaging/fetch_test_models.py fetches them for `make test`."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.paths import find_paths

_GEMMA = "gemma-3-270m"


def gemma_folder() -> Path:
    """Gemma 3 270M, imported in float32: 18 layers, every sixth full, the others with a window of
    512 tokens.
    """
    return _present(_GEMMA)


def gemma_gguf() -> Path:
    """The file that the folder was imported from."""
    return _present(f"{_GEMMA}.gguf")


def _present(name: str) -> Path:
    path = find_paths().data / "test-models" / name
    if not path.exists():
        pytest.fail(f"{name} is missing: run packaging/fetch_test_models.py, as 'make test' does.")
    return path
