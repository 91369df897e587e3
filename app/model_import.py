"""GGUF files: `--model` takes folders alone, and `ondol import` makes one of a file."""

from __future__ import annotations

from pathlib import Path

from app.console import complain, say
from app.paths import find_paths
from app.settings import Settings
from engine.errors import EngineError, ModelError
from engine.model import device

_SUFFIX = ".gguf"


class GgufFileGiven(ModelError):
    """A GGUF file where a model folder must be; the message says how to make one of it. `name` is
    the file's."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"{name} is a GGUF file, and Ondol loads model folders. Make one of it first:"
            f" ondol import {name}"
        )
        self.name = name


def check_model_path(model: Path) -> None:
    """What can be said without looking into it. Raises GgufFileGiven, and ModelError for a path
    that MLX could not open."""
    if model.suffix.lower() == _SUFFIX and model.is_file():
        raise GgufFileGiven(model.name)
    try:
        str(model.absolute()).encode()
    except UnicodeEncodeError:
        raise ModelError(
            "The path of this model folder is not UTF-8, so MLX cannot open it. Rename the folder."
        ) from None


def import_model(file: Path, settings: Settings) -> int:
    """Make a model folder of a GGUF file among Ondol's models, and say where it is. Returns the
    exit code."""
    # Slow to import, and needed by nothing else of the command line.
    from engine.model import gguf

    paths = find_paths(settings.data_dir)
    folder = paths.models / file.stem
    if folder.exists():
        complain(f"{folder} is there already. Remove it to import the file again.")
        return 1
    form = gguf.WeightForm.KEPT if device.is_apple_silicon() else gguf.WeightForm.FLOAT32
    try:
        paths.create()
        gguf.import_gguf(file, folder, form)
    except EngineError as error:
        complain(str(error))
        return 1
    except OSError as error:
        complain(f"{file.name} cannot be imported: {error.strerror or type(error).__name__}.")
        return 1
    say(f"Imported. Choose this folder in Settings, or start Ondol with: --model {folder}")
    return 0
