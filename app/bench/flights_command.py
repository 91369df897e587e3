"""`ondol bench flights`: its options, and a run from the model to the report."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from app.bench import facts, flights_plan
from app.bench.arguments import add_places, add_threads, check_places, count
from app.bench.flights import CaseResult, FlightsResults, Kind, Plan, Served, Server
from app.bench.flights_peer import peer_process
from app.bench.flights_report import render, to_json
from app.bench.flights_served import ServedBench, ServedCase
from app.bench.measuring import measure
from app.bench.memory import Peak
from app.bench.model_setup import Setup
from app.bench.plain import plain_process
from app.bench.report import present
from app.bench.server_metrics import peak_of
from app.bench.server_process import server_process
from app.bench.stats import MIN_PAIRS
from app.console import say
from engine.model import catalog

AGAINST = ("mlx-lm",)


@dataclass(frozen=True, slots=True)
class FlightsOptions:
    """What `ondol bench flights` was asked for. `served` are the bursts over HTTP, none without
    `--against`."""

    plan: Plan
    served: tuple[ServedCase, ...]
    setup: Setup


def run(options: FlightsOptions) -> FlightsResults:
    """Measure and report, with the machine for itself. Raises BenchError, EngineError, OSError."""
    before = facts.surroundings()
    plan, setup = options.plan, options.setup
    model = setup.model_folder()
    variables = setup.variables
    say("Starting one process that loads the model for all policies.")
    with tempfile.TemporaryDirectory(prefix="ondol-bench-") as name:
        folder = Path(name)
        of_process, cases, peak = measure(
            "app.bench.flights_worker", model, asdict(plan), folder, variables, say
        )
        results = FlightsResults(tuple(map(CaseResult.from_json, cases)))
        peaks: tuple[Peak, ...] = (peak,)
        if options.served:
            served, of_server = _serve(options, model, folder, variables, of_process.prefill_chunk)
            results, peaks = replace(results, served=served), (peak, of_server)
    conditions = facts.conditions(
        before,
        catalog.model_id_of(model),
        of_process,
        setup.threads,
        max_tokens=max(case.answer_tokens for case in plan.cases),
        rounds=plan.rounds,
    )
    present(render(results, conditions), to_json(results, conditions), setup.json_file, peaks)
    return results


def _serve(
    options: FlightsOptions,
    model: Path,
    folder: Path,
    variables: Mapping[str, str],
    prefill_chunk: int,
) -> tuple[tuple[Served, ...], Peak]:
    """What both servers made of the bursts, and what Ondol took of memory."""
    say(f"Starting `{Server.ONDOL}` and `{Server.MLX_LM}`, each with the model.")
    with (
        plain_process(model, folder, variables) as plain,
        server_process(model, folder, variables) as ondol,
        peer_process(model, folder, variables, prefill_chunk) as peer,
    ):
        plain.wait_until_ready()
        clients = {
            Server.ONDOL: ondol.wait_until_ready(),
            Server.MLX_LM: peer.wait_until_ready(),
        }
        bench = ServedBench(clients, plain.encode, say)
        served = bench.run(options.served, options.plan.rounds)
        return served, peak_of(Server.ONDOL, clients[Server.ONDOL])


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--quick",
        action="store_true",
        help="one round of few cases, within three minutes on two cores",
    )
    parser.add_argument(
        "--pairs",
        type=count,
        metavar="N",
        help=f"rounds, with all cases on all their sides (default {flights_plan.ROUNDS}; "
        f"{MIN_PAIRS} or more judge a close bar)",
    )
    parser.add_argument(
        "--only",
        type=_kinds,
        metavar="KIND,…",
        help=f"cases of these kinds only, of {', '.join(Kind)}",
    )
    parser.add_argument(
        "--against",
        choices=AGAINST,
        help="also ask mlx-lm's own server, over HTTP on both sides",
    )
    add_threads(parser)
    add_places(parser)


def read_options(parser: argparse.ArgumentParser, chosen: argparse.Namespace) -> FlightsOptions:
    if chosen.quick and chosen.pairs is not None:
        parser.error("--quick sets the pairs itself: leave out --pairs")
    check_places(parser, chosen)
    pairs = chosen.pairs or flights_plan.ROUNDS
    plan = flights_plan.quick() if chosen.quick else flights_plan.full(pairs)
    served = flights_plan.served(quick=chosen.quick) if chosen.against else ()
    if chosen.only is not None:
        plan = replace(plan, cases=tuple(case for case in plan.cases if case.kind in chosen.only))
        served = tuple(case for case in served if case.kind in chosen.only)
        if not plan.cases:
            parser.error("--quick has no cases of these kinds: leave it out")
        if chosen.against and not served:
            parser.error("--against has no cases of these kinds: leave it out")
    return FlightsOptions(plan, served, Setup.of(chosen))


def _kinds(text: str) -> tuple[Kind, ...]:
    names = [part.strip() for part in text.split(",")]
    unknown = [name for name in names if name not in {*Kind}]
    if unknown:
        raise argparse.ArgumentTypeError(f"knows {', '.join(Kind)}, not {unknown[0]!r}")
    return tuple(map(Kind, names))
