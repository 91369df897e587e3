"""The `ondol` command."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from app.console import complain, say
from app.packages import installed_version
from app.settings import (
    DEFAULT_HOST,
    DEFAULT_PORT,
    Settings,
    SettingsError,
    parse_host,
    parse_size,
)
from app.stop_signals import interrupts_kill
from engine.config import AdmissionMode, EngineConfig

USAGE_ERROR = 2


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code. Raises SystemExit for --help and misspelt options."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments[:1] == ["bench"]:
        from app.bench.command import main as bench

        return bench(arguments[1:])
    with interrupts_kill():
        return _run(arguments)


def _run(arguments: Sequence[str]) -> int:
    options = _parser().parse_args(arguments)
    try:
        settings = _settings(options)
    except SettingsError as error:
        complain(str(error))
        return USAGE_ERROR
    if options.command == "doctor":
        from app.doctor import doctor

        return doctor(settings, load=options.load)
    if options.command == "import":
        from app.model_import import import_model

        return import_model(options.file, settings)
    if options.command is None and (obstacle := no_window()):
        say(f"{obstacle} Running `ondol serve`.")
    elif options.command is None:
        from app.gui.run import run

        return run(settings, hidden=options.hidden, probe=options.probe)
    from app.serve import serve

    return serve(settings)


def no_window() -> str:
    """Why no window can be shown here; empty where one can."""
    names = ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")
    if sys.platform == "linux" and not any(os.environ.get(name) for name in names):
        return "There is no display here."
    try:
        import PySide6.QtWidgets  # noqa: F401
    except ImportError as error:
        # The package, or one of the system's libraries that it needs.
        return f"The window cannot be shown: {error}."
    return ""


def _settings(options: argparse.Namespace) -> Settings:
    return Settings(
        host=options.host,
        port=options.port,
        model=options.model,
        data_dir=options.data_dir,
        kv_budget_bytes=options.kv_budget,
        max_running=options.max_running,
        admission=None if options.admission is None else AdmissionMode(options.admission),
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="ondol",
        description="A home AI server that computes every prompt prefix once. Without a command:"
        " in the menu bar, with its window.",
    )
    parser.add_argument(
        "--version", action="version", version=f"ondol {installed_version('ondol')}"
    )
    parser.add_argument(
        "--hidden", action="store_true", help="start in the menu bar and leave the window closed"
    )
    parser.add_argument("--probe", type=_path, metavar="FILE", help=argparse.SUPPRESS)
    _add_settings(parser)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    serve = commands.add_parser("serve", help="answer clients over HTTP until interrupted")
    doctor = commands.add_parser("doctor", help="say what is there and what is wrong")
    gguf = commands.add_parser("import", help="make a model folder of a GGUF file")
    gguf.add_argument("file", type=_path, metavar="FILE.gguf")
    gguf.add_argument(
        "--data-dir",
        type=_path,
        metavar="FOLDER",
        default=argparse.SUPPRESS,
        help="Ondol's data folder, where it is not the platform's",
    )
    commands.add_parser("bench", help="measure this machine", add_help=False)
    for command in (serve, doctor):
        # What was said before the command is not forgotten: no default overwrites it.
        _add_settings(command, argument_default=argparse.SUPPRESS)
    doctor.add_argument(
        "--no-load", dest="load", action="store_false", help="do not load the model's weights"
    )
    return parser


def _add_settings(parser: argparse.ArgumentParser, argument_default: str | None = None) -> None:
    parser.add_argument(
        "--host",
        type=parse_host,
        default=argument_default or DEFAULT_HOST,
        help=f"loopback address to listen on (default {DEFAULT_HOST})",
    )
    parser.add_argument(
        "--port",
        type=int,
        default=argument_default,
        help=f"0 takes any (default: as set in the window, at first {DEFAULT_PORT})",
    )
    parser.add_argument(
        "--model",
        type=_path,
        metavar="FOLDER",
        default=argument_default,
        help="an mlx-lm model folder (default: as set in the window, at first the starter model)",
    )
    parser.add_argument(
        "--data-dir",
        type=_path,
        metavar="FOLDER",
        default=argument_default,
        help="keep everything here instead of the platform's folders",
    )
    parser.add_argument(
        "--kv-budget",
        type=_size,
        metavar="SIZE",
        default=argument_default,
        help="most memory for KV, such as 4GiB or 512MiB (default: as set in the window, at first"
        " from this machine's memory)",
    )
    parser.add_argument(
        "--max-running",
        type=int,
        metavar="N",
        default=argument_default,
        help="most requests that run at once, whatever the memory allows (default: as set in the"
        f" window, at first {EngineConfig().max_running})",
    )
    parser.add_argument(
        "--admission",
        choices=[mode.value for mode in AdmissionMode],
        default=argument_default,
        help="what running requests may cost the warm prefixes (default: as set in the window, at"
        f" first {EngineConfig().admission.value})",
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


if __name__ == "__main__":
    sys.exit(main())
