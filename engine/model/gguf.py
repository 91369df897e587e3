"""Import a GGUF file into a model folder that mlx-lm loads (issue item 3).

The folder appears whole or not at all, however the import ends.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from engine.errors import DiskFull, ModelError
from engine.model import gguf_gemma3, gguf_llama, safetensors_file
from engine.model.gguf_architecture import Architecture, plan_weights
from engine.model.gguf_file import GgufFile
from engine.model.gguf_gemma3 import read_gemma3
from engine.model.gguf_llama import read_llama
from engine.model.gguf_tokenizer import GgufTokenizer, read_tokenizer
from engine.model.gguf_weights import WeightForm, WeightPlan, quantization_config

__all__ = ["WeightForm", "import_gguf"]

_READERS: dict[str, Callable[[GgufFile], Architecture]] = {
    gguf_llama.NAME: read_llama,
    gguf_gemma3.NAME: read_gemma3,
}
_METADATA = {"format": "mlx"}
_TOKENIZER_RESERVE_BYTES = 32 * 1024 * 1024


def import_gguf(source: Path, target: Path, form: WeightForm) -> Path:
    """Make the model folder `target` from the GGUF file `source`; returns `target`.

    A model whose activations do not fit into float16 becomes float32 in either form.
    A folder that is already there is left as it is, also when another process finished it
    meanwhile: imports into one target wait for each other. Raises ModelError when the file is
    broken or asks for something unsupported, DiskFull when the folder would not fit.
    """
    file = GgufFile(source)
    model = _read_architecture(file)
    form = form if model.fits_float16 else WeightForm.FLOAT32
    tokenizer = read_tokenizer(file, model.sizes.context_tokens)
    if len(tokenizer.tokens) != model.sizes.vocab_size:
        raise ModelError(
            f"{file.name} is broken: {len(tokenizer.tokens)} tokens, "
            f"{model.sizes.vocab_size} embeddings."
        )
    plans = plan_weights(file, model, form)
    target.parent.mkdir(parents=True, exist_ok=True)
    with _exclusive(target):
        if not target.exists():
            _write_folder(target, plans, _config(model, tokenizer, plans, form), tokenizer)
    return target


def _read_architecture(file: GgufFile) -> Architecture:
    name = file.require("general.architecture")
    if name not in list(_READERS):  # which a file's list or number can be looked for in
        known = " and ".join(f"{known!r}" for known in _READERS)
        raise ModelError(
            f"{file.name} holds a model of the architecture {name!r}; only {known} can be imported."
        )
    if file.get_int("split.count", 1) > 1:
        raise ModelError(f"{file.name} is one piece of a split model; join the pieces first.")
    return _READERS[name](file)


def _config(
    model: Architecture, tokenizer: GgufTokenizer, plans: list[WeightPlan], form: WeightForm
) -> dict[str, Any]:
    return {
        **model.config(),
        "bos_token_id": tokenizer.bos_id,
        "eos_token_id": list(tokenizer.eos_ids),
        "torch_dtype": np.dtype(form.dtype).name,
        **quantization_config(plans),
    }


@contextmanager
def _exclusive(target: Path) -> Iterator[None]:
    """Hold `target`'s lock. The system releases it when this process ends in whatever way."""
    with (target.parent / f".{target.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _write_folder(
    target: Path, plans: list[WeightPlan], config: dict[str, Any], tokenizer: GgufTokenizer
) -> None:
    specs = [spec for plan in plans for spec in plan.specs]
    for abandoned in target.parent.glob(f".{target.name}.*.partial"):
        shutil.rmtree(abandoned, ignore_errors=True)
    needed = safetensors_file.file_size(specs, _METADATA) + _TOKENIZER_RESERVE_BYTES
    _require_free_disk(target, needed)
    partial = Path(
        tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}.", suffix=".partial")
    )
    try:
        safetensors_file.write(
            partial / "model.safetensors",
            specs,
            (array for plan in plans for array in plan.arrays()),
            _METADATA,
        )
        generation = {"bos_token_id": tokenizer.bos_id, "eos_token_id": list(tokenizer.eos_ids)}
        texts = tokenizer.files() | {
            "generation_config.json": json.dumps(generation, indent=2),
            "config.json": json.dumps(config, indent=2),
        }
        for name, text in texts.items():
            _write_text(partial / name, text)
        _sync_folder(partial)
        partial.chmod(0o755)
        partial.rename(target)
        _sync_folder(target.parent)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            _require_free_disk(target, needed)
            raise DiskFull(f"The disk filled up while {target.name} was imported.") from error
        raise
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _require_free_disk(target: Path, needed: int) -> None:
    free = shutil.disk_usage(target.parent).free
    if free < needed:
        raise DiskFull(
            f"Importing {target.name} needs {needed / 1e6:.0f} MB of free disk; "
            f"there are {free / 1e6:.0f} MB."
        )


def _write_text(path: Path, text: str) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
