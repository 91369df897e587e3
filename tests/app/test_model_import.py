"""A GGUF file given as a model is refused with the way out, and the way out works."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.__main__ import main
from app.model_import import GgufFileGiven, check_model_path
from engine.errors import ModelError
from engine.model import catalog
from tests.support.tiny_gguf import TinyGguf


def test_a_file_is_refused_and_a_folder_is_not(tmp_path: Path) -> None:
    file = tmp_path / "Tiny.GGUF"
    file.touch()
    with pytest.raises(GgufFileGiven, match=r"ondol import Tiny\.GGUF"):
        check_model_path(file)
    (tmp_path / "folder.gguf").mkdir()
    check_model_path(tmp_path / "folder.gguf")
    check_model_path(tmp_path / "absent.gguf")


def test_a_path_that_is_no_utf8_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"not UTF-8"):
        check_model_path(tmp_path / b"caf\xe9".decode("utf-8", "surrogateescape") / "Tiny-1B")


def test_the_import_makes_a_folder_that_can_be_loaded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = TinyGguf().write(tmp_path / "tiny.gguf")
    command = ["import", str(file), "--data-dir", str(tmp_path / "data")]
    assert main(command) == 0
    folder = tmp_path / "data" / "models" / "tiny"
    assert capsys.readouterr().out.endswith(f"--model {folder}\n")
    catalog.check_folder(folder)
    assert main(command) == 1
    assert "is there already" in capsys.readouterr().err


def test_a_broken_file_leaves_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "broken.gguf"
    file.write_bytes(b"GGUF, or so it says")
    assert main(["import", str(file), "--data-dir", str(tmp_path / "data")]) == 1
    assert capsys.readouterr().err.startswith("ondol: broken.gguf is ")
    assert not (tmp_path / "data" / "models" / "broken").exists()
