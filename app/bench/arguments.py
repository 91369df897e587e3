"""Options that every bench has, and how their words are read."""

from __future__ import annotations

import argparse
from pathlib import Path

from engine.model import machine


def add_threads(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--threads",
        type=count,
        default=machine.usable_cores(),
        metavar="N",
        help="BLAS threads of each side on a CPU (default: the cores there are)",
    )


def add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", type=path, metavar="FILE", help="write every sample here")


def add_places(parser: argparse.ArgumentParser) -> None:
    """--json, --model and --data-dir."""
    add_json(parser)
    parser.add_argument(
        "--model", type=path, metavar="FOLDER", help="an mlx-lm model folder (default: starter)"
    )
    parser.add_argument(
        "--data-dir", type=path, metavar="FOLDER", help="where the starter model is kept"
    )


def check_places(parser: argparse.ArgumentParser, chosen: argparse.Namespace) -> None:
    """Raises SystemExit where no file could be written at the end of a long run."""
    if chosen.json is None:
        return
    if not chosen.json.parent.is_dir():
        parser.error(f"--json {chosen.json}: there is no folder {chosen.json.parent}")
    if chosen.json.is_dir():
        parser.error(f"--json {chosen.json} is a folder")


def count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 1, not {text!r}")
    return int(text)


def sizes(text: str) -> tuple[int, ...]:
    return tuple(count(part.strip()) for part in text.split(","))


def path(text: str) -> Path:
    if not text:
        raise argparse.ArgumentTypeError("must not be empty")
    return Path(text).expanduser()
