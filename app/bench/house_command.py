"""`ondol bench house`: its options, and a run from two servers to the report."""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

from app.bench import facts
from app.bench.arguments import add_places, add_threads, check_places, count, sizes
from app.bench.house import NAMES, OFF, ON, HouseResults, Plan
from app.bench.house_bench import HouseBench
from app.bench.house_process import house_server
from app.bench.house_report import HouseConditions, render, to_json
from app.bench.model_setup import Setup
from app.bench.report import present
from app.bench.server_metrics import peak_of
from app.bench.stats import MIN_PAIRS
from app.console import say
from app.settings import MIN_KV_BUDGET_BYTES, SettingsError, format_size, parse_size
from engine.config import MIB
from engine.model import catalog

CLIENTS = (1, 2, 4)
PAIRS, SECONDS = 2, 60  # two minutes a side
QUICK_CLIENTS = (1, 4)
QUICK_PAIRS, QUICK_SECONDS = 1, 30
# Room for about 3,600 tokens of the starter model: less than its households use one after another.
KV_BUDGET_BYTES = 160 * MIB


@dataclass(frozen=True, slots=True)
class HouseOptions:
    """What `ondol bench house` was asked for."""

    plan: Plan
    setup: Setup


def run(options: HouseOptions) -> HouseResults:
    """Measure and report, with the machine for itself. Raises BenchError, EngineError, OSError."""
    before = facts.surroundings()
    plan, setup = options.plan, options.setup
    model = setup.model_folder()
    variables = setup.variables
    say("Starting `ondol serve` with coordination on and off, each with the model.")
    with (
        tempfile.TemporaryDirectory(prefix="ondol-bench-") as name,
        house_server(model, Path(name), variables, ON, plan.kv_budget_bytes) as on,
        house_server(model, Path(name), variables, OFF, plan.kv_budget_bytes) as off,
    ):
        clients = {ON: on.wait_until_ready(), OFF: off.wait_until_ready()}
        cases = HouseBench(clients, say).run(plan)
        peaks = [
            peak_of(f"{on.command}, coordination {NAMES[side]}", client)
            for side, client in clients.items()
        ]
    results = HouseResults(cases)
    conditions = HouseConditions(
        **asdict(before), model=catalog.model_id_of(model), threads=setup.threads
    )
    present(
        render(results, conditions, plan),
        to_json(results, conditions, plan),
        setup.json_file,
        peaks,
    )
    return results


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--quick",
        action="store_true",
        help=f"{' and '.join(map(str, QUICK_CLIENTS))} clients, {QUICK_PAIRS} pair of "
        f"{QUICK_SECONDS} seconds, within three minutes",
    )
    parser.add_argument(
        "--clients",
        type=sizes,
        metavar="N,N,…",
        help=f"clients at once (default {','.join(map(str, CLIENTS))})",
    )
    parser.add_argument(
        "--seconds",
        type=count,
        metavar="N",
        help=f"seconds that a household lives with one side (default {SECONDS})",
    )
    parser.add_argument(
        "--pairs",
        type=count,
        metavar="N",
        help=f"households, new ones each time, that live with both sides (default {PAIRS}; "
        f"{MIN_PAIRS} or more judge a close bar)",
    )
    parser.add_argument(
        "--kv-budget",
        type=_size,
        default=KV_BUDGET_BYTES,
        metavar="SIZE",
        help=f"most memory for KV (default {format_size(KV_BUDGET_BYTES)})",
    )
    add_threads(parser)
    add_places(parser)


def read_options(parser: argparse.ArgumentParser, chosen: argparse.Namespace) -> HouseOptions:
    if chosen.quick and (chosen.pairs is not None or chosen.seconds is not None):
        parser.error("--quick sets pairs and seconds itself: leave out --pairs and --seconds")
    check_places(parser, chosen)
    pairs, seconds = (QUICK_PAIRS, QUICK_SECONDS) if chosen.quick else (PAIRS, SECONDS)
    plan = Plan(
        chosen.clients or (QUICK_CLIENTS if chosen.quick else CLIENTS),
        chosen.pairs or pairs,
        chosen.seconds or seconds,
        chosen.kv_budget,
    )
    return HouseOptions(plan, Setup.of(chosen))


def _size(text: str) -> int:
    try:
        size = parse_size(text)
    except SettingsError as error:
        # argparse shows the message of its own error class only.
        raise argparse.ArgumentTypeError(str(error)) from None
    if size < MIN_KV_BUDGET_BYTES:
        least = format_size(MIN_KV_BUDGET_BYTES)
        raise argparse.ArgumentTypeError(f"must be {least} or more, not {text!r}")
    return size
