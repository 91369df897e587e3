"""The `ondol` command."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from app.console import complain, say
from app.settings import (
    DEFAULT_HOST,
    DEFAULT_PORT,
    Settings,
    SettingsError,
    parse_host,
    parse_size,
)

USAGE_ERROR = 2


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code. Raises SystemExit for --help and misspelt options."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments[:1] == ["bench"]:
        from app.bench.command import main as bench

        return bench(arguments[1:])
    options = _parser().parse_args(arguments)
    try:
        settings = _settings(options)
    except SettingsError as error:
        complain(str(error))
        return USAGE_ERROR
    if options.command == "doctor":
        from app.doctor import doctor

        return doctor(settings, load=options.load)
    from app.serve import serve

    if options.command is None:
        say("This version of Ondol has no menu-bar app yet: running `ondol serve`.")
    return serve(settings)


def _settings(options: argparse.Namespace) -> Settings:
    if options.command is None:
        return Settings()
    return Settings(
        host=options.host,
        port=options.port,
        model=options.model,
        data_dir=options.data_dir,
        kv_budget_bytes=options.kv_budget,
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="ondol", description="A home AI server that computes every prompt prefix once."
    )
    parser.add_argument("--version", action="version", version=f"ondol {_version()}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    serve = commands.add_parser("serve", help="answer clients over HTTP until interrupted")
    doctor = commands.add_parser("doctor", help="say what is there and what is wrong")
    commands.add_parser("bench", help="measure this machine", add_help=False)
    for command in (serve, doctor):
        _add_settings(command)
    doctor.add_argument(
        "--no-load", dest="load", action="store_false", help="do not load the model's weights"
    )
    return parser


def _add_settings(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--host",
        type=parse_host,
        default=DEFAULT_HOST,
        help=f"loopback address to listen on (default {DEFAULT_HOST})",
    )
    parser.add_argument(
        "--port", type=int, default=DEFAULT_PORT, help=f"0 takes any (default {DEFAULT_PORT})"
    )
    parser.add_argument(
        "--model",
        type=_path,
        metavar="FOLDER",
        help="an mlx-lm model folder (default: the starter model)",
    )
    parser.add_argument(
        "--data-dir",
        type=_path,
        metavar="FOLDER",
        help="keep everything here instead of the platform's folders",
    )
    parser.add_argument(
        "--kv-budget",
        type=_size,
        metavar="SIZE",
        help="most memory for KV, such as 4GiB or 512MiB (default: from this machine's memory)",
    )


def _size(text: str) -> int:
    try:
        return parse_size(text)
    except SettingsError as error:
        # argparse shows the message of its own error class only.
        raise argparse.ArgumentTypeError(str(error)) from None


def _path(text: str) -> Path:
    if not text:
        # It would mean the current folder, which nobody writes that way on purpose.
        raise argparse.ArgumentTypeError("must not be empty")
    return Path(text).expanduser()


def _version() -> str:
    try:
        return version("ondol")
    except PackageNotFoundError:
        return "(not installed)"


if __name__ == "__main__":
    sys.exit(main())
