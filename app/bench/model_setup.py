"""What every bench with a model is told of its threads and its folders."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

from app.paths import find_paths
from engine.model import catalog, device
from engine.model.blas import THREADS_VARIABLE


@dataclass(frozen=True, slots=True)
class Setup:
    """`model` None is the starter model in `data_dir`. `json_file` takes the samples."""

    threads: int
    model: Path | None = None
    data_dir: Path | None = None
    json_file: Path | None = None

    @staticmethod
    def of(chosen: argparse.Namespace) -> Setup:
        """From the words of `arguments.add_threads` and `add_places`."""
        return Setup(chosen.threads, chosen.model, chosen.data_dir, chosen.json)

    def model_folder(self) -> Path:
        """Raises ModelError where it is no model."""
        folder = self.model or catalog.starter_model_folder(find_paths(self.data_dir).data)
        catalog.check_folder(folder)
        return folder

    @property
    def variables(self) -> dict[str, str]:
        """Environment variables that give a child its BLAS threads."""
        return {} if device.is_apple_silicon() else {THREADS_VARIABLE: str(self.threads)}
