"""`ondol bench house`: its options, and a run from two servers to the report."""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

from app.bench import facts
from app.bench.arguments import add_places, add_threads, check_places, count, sizes
from app.bench.client import Client
from app.bench.house import OFF, ON, HouseResults, Peak, Plan
from app.bench.house_bench import HouseBench
from app.bench.house_metrics import read
from app.bench.house_process import HouseServer, house_server
from app.bench.house_report import HouseConditions, render, to_json
from app.bench.model_setup import Setup
from app.bench.report import present
from app.bench.stats import MIN_PAIRS
from app.console import say
from app.settings import MIN_KV_BUDGET_BYTES, SettingsError, format_size, parse_size
from engine.config import MIB
from engine.model import catalog

CLIENTS = (1, 2, 4)
PAIRS, SECONDS = 2, 60  # two minutes a side
QUICK_CLIENTS = (1, 4)
QUICK_PAIRS, QUICK_SECONDS = 1, 30
# Room for about 5,800 tokens of the starter model: less than four clients come to use in a minute.
KV_BUDGET_BYTES = 256 * MIB


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
        on_peak, off_peak = _peak(on, clients[ON]), _peak(off, clients[OFF])
    results = HouseResults(cases, on_peak, off_peak)
    conditions = HouseConditions(
        **asdict(before), model=catalog.model_id_of(model), threads=setup.threads
    )
    present(render(results, conditions, plan), to_json(results, conditions, plan), setup.json_file)
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


def _peak(server: HouseServer, client: Client) -> Peak:
    """Ends the server: only then it knows the most that it ever had."""
    reading = read(client.metrics())
    return Peak(server.finish(), reading.weights_bytes, reading.budget_bytes)
