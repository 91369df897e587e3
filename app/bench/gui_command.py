"""`ondol bench gui`: its options, and a run from two processes to the report."""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

from app.bench import facts
from app.bench.app_process import app_process
from app.bench.arguments import add_places, add_threads, check_places, count
from app.bench.display import display
from app.bench.gui import CLIENTS, MAX_TOKENS, PROMPT_WORDS, GuiBench, GuiResults
from app.bench.gui_report import GuiConditions, render, to_json
from app.bench.load import choose_chats
from app.bench.model_setup import Setup
from app.bench.report import present
from app.bench.server_metrics import peak_of
from app.bench.server_process import server_process
from app.bench.stats import MIN_PAIRS
from app.console import say
from engine.model import catalog

_ROUNDS, _QUICK_ROUNDS = 5, 2
_PACKAGES = (*facts.PACKAGES, "PySide6-Essentials")


@dataclass(frozen=True, slots=True)
class GuiOptions:
    """What `ondol bench gui` was asked for."""

    rounds: int
    setup: Setup


def run(options: GuiOptions) -> GuiResults:
    """Measure and report, with the machine for itself. Raises BenchError, EngineError, OSError."""
    setup, before = options.setup, facts.surroundings(_PACKAGES)
    model = setup.model_folder()
    variables = setup.variables
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
            peaks = (peak_of(server.command, serve), peak_of("the app with its window", window))
            seen = app.finish()
    results = GuiResults(rounds, seen.sections, seen.first_paint_s)
    conditions = GuiConditions(
        **asdict(before),
        model=catalog.model_id_of(model),
        display=screen.name,
        clients=CLIENTS,
        threads=setup.threads,
    )
    present(render(results, conditions), to_json(results, conditions), setup.json_file, peaks)
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
    return GuiOptions(rounds, Setup.of(chosen))
