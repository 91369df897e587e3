"""Import the starter model into the data folder, so that the first start of Ondol is quick."""

from __future__ import annotations

import sys

from app.paths import find_paths
from engine.errors import EngineError
from engine.model.catalog import starter_model_folder


def main() -> int:
    paths = find_paths()
    paths.create()
    try:
        folder = starter_model_folder(paths.data)
    except EngineError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"The starter model is in {folder}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
