"""`ondol bench gui`: its options, and a run from two processes to the report."""

from __future__ import annotations

import argparse
import os
import platform
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from app.bench import facts
from app.bench.app_process import app_process
from app.bench.arguments import add_places, add_threads, check_places, count
from app.bench.display import display
from app.bench.gui import CLIENTS, MAX_TOKENS, PROMPT_WORDS, GuiBench, GuiResults
from app.bench.gui_report import GuiConditions, render, to_json
from app.bench.load import choose_chats
from app.bench.report import write_whole
from app.bench.server_process import server_process
from app.bench.stats import MIN_PAIRS
from app.console import say
from app.paths import find_paths
from engine.model import catalog, device
from engine.model.blas import THREADS_VARIABLE

_ROUNDS, _QUICK_ROUNDS = 5, 2
_PACKAGES = (*facts.PACKAGES, "PySide6-Essentials")


@dataclass(frozen=True, slots=True)
class GuiOptions:
    """What `ondol bench gui` was asked for. `model` None is the starter model in `data_dir`."""

    rounds: int
    threads: int
    model: Path | None
    data_dir: Path | None
    json_file: Path | None


def run(options: GuiOptions) -> GuiResults:
    """Measure and report, with the machine for itself. Raises BenchError, EngineError, OSError."""
    load = facts.load_before()
    model = options.model or catalog.starter_model_folder(find_paths(options.data_dir).data)
    catalog.check_folder(model)
    started_at = datetime.now(UTC).isoformat(timespec="seconds")
    variables = {} if device.is_apple_silicon() else {THREADS_VARIABLE: str(options.threads)}
    say("Starting `ondol serve` and the app, each with the model.")
    with (
        tempfile.TemporaryDirectory(prefix="ondol-bench-") as folder,
        display() as screen,
        server_process(model, Path(folder), variables) as server,
    ):
        serve = server.wait_until_ready()
        # Alone from here on: how soon the window stands is measured as well.
        with app_process(model, Path(folder), {**variables, **screen.variables}) as app:
            window = app.wait_until_ready()
            chats = choose_chats(serve, CLIENTS, PROMPT_WORDS, MAX_TOKENS)
            rounds = GuiBench(serve, window, app, chats, say).run(options.rounds)
            seen = app.finish()
    results = GuiResults(rounds, seen.sections, seen.first_paint_s)
    conditions = GuiConditions(
        started_at=started_at,
        model=catalog.model_id_of(model),
        display=screen.name,
        clients=CLIENTS,
        cores=os.cpu_count() or 1,
        threads=options.threads,
        load_before=load,
        versions=facts.versions(_PACKAGES),
        platform=platform.platform(),
    )
    say("")
    say(render(results, conditions))
    if options.json_file is not None:
        write_whole(to_json(results, conditions), options.json_file)
    return results


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--quick", action="store_true", help=f"{_QUICK_ROUNDS} rounds, about two minutes"
    )
    parser.add_argument(
        "--rounds",
        type=count,
        metavar="N",
        help=f"rounds of three loads (default {_ROUNDS}; {MIN_PAIRS} or more judge a close bar)",
    )
    add_threads(parser)
    add_places(parser)


def read_options(parser: argparse.ArgumentParser, chosen: argparse.Namespace) -> GuiOptions:
    if chosen.quick and chosen.rounds is not None:
        parser.error("--quick sets the rounds itself: leave out --rounds")
    check_places(parser, chosen)
    rounds = _QUICK_ROUNDS if chosen.quick else chosen.rounds or _ROUNDS
    return GuiOptions(rounds, chosen.threads, chosen.model, chosen.data_dir, chosen.json)
