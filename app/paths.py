"""Where Ondol keeps its files. One place decides, everything else asks."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import platformdirs

APP_NAME = "Ondol" if sys.platform == "darwin" else "ondol"

_PRIVATE = 0o700


@dataclass(frozen=True, slots=True)
class Paths:
    """The folders of one installation. Nothing is created until `create`."""

    data: Path
    logs: Path

    @property
    def models(self) -> Path:
        return self.data / "models"

    @property
    def log_file(self) -> Path:
        return self.logs / "ondol.log"

    def create(self) -> None:
        """Make the folders, readable by their owner alone: KV and logs are private (S13, S15).

        Raises OSError where a folder cannot be made.
        """
        for folder in (self.data, self.logs):
            folder.mkdir(mode=_PRIVATE, parents=True, exist_ok=True)
            folder.chmod(_PRIVATE)


def find_paths(data_dir: Path | None = None) -> Paths:
    """The platform's folders; with `data_dir` everything, logs included, lives under it."""
    if data_dir is not None:
        data = data_dir.expanduser().absolute()
        return Paths(data=data, logs=data / "logs")
    return Paths(
        data=platformdirs.user_data_path(APP_NAME, appauthor=False),
        logs=platformdirs.user_log_path(APP_NAME, appauthor=False),
    )
