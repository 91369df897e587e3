"""`ondol bench flights`: its options, and a run from the model to the report."""

from __future__ import annotations

import argparse
import os
import platform
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from app.bench import facts, flights_plan
from app.bench.arguments import add_places, add_threads, check_places, count
from app.bench.flights import FlightsResults, Kind, Plan, Served, Server
from app.bench.flights_peer import peer_process
from app.bench.flights_process import measure
from app.bench.flights_report import render, to_json
from app.bench.flights_served import ServedBench, ServedCase
from app.bench.plain import plain_process
from app.bench.report import write_whole
from app.bench.results import Conditions
from app.bench.server_process import server_process
from app.bench.stats import MIN_PAIRS
from app.console import say
from app.paths import find_paths
from engine.model import catalog, device
from engine.model.blas import THREADS_VARIABLE

AGAINST = ("mlx-lm",)


@dataclass(frozen=True, slots=True)
class FlightsOptions:
    """What `ondol bench flights` was asked for. `model` None is the starter model in `data_dir`.
    `served` are the bursts over HTTP, none without `--against`."""

    plan: Plan
    served: tuple[ServedCase, ...]
    threads: int
    model: Path | None
    data_dir: Path | None
    json_file: Path | None


def run(options: FlightsOptions) -> FlightsResults:
    """Measure and report, with the machine for itself. Raises BenchError, EngineError, OSError."""
    load = facts.load_before()
    plan = options.plan
    model = options.model or catalog.starter_model_folder(find_paths(options.data_dir).data)
    catalog.check_folder(model)
    started_at = datetime.now(UTC).isoformat(timespec="seconds")
    variables = {} if device.is_apple_silicon() else {THREADS_VARIABLE: str(options.threads)}
    say("Starting one process that loads the model for all policies.")
    with tempfile.TemporaryDirectory(prefix="ondol-bench-") as name:
        folder = Path(name)
        of_process, cases = measure(model, plan, folder, variables, say)
        results = FlightsResults(cases)
        if options.served:
            served = _serve(options, model, folder, variables, of_process.prefill_chunk)
            results = replace(results, served=served)
    conditions = Conditions(
        started_at=started_at,
        model=catalog.model_id_of(model),
        dtype=of_process.dtype,
        device=of_process.device,
        cores=os.cpu_count() or 1,
        load_before=load,
        versions=facts.versions(),
        platform=platform.platform(),
        threads=options.threads,
        prefill_chunk=of_process.prefill_chunk,
        max_tokens=max(case.answer_tokens for case in plan.cases),
        rounds=plan.rounds,
        repeats=1,
    )
    say("")
    say(render(results, conditions))
    if options.json_file is not None:
        write_whole(to_json(results, conditions), options.json_file)
    return results


def _serve(
    options: FlightsOptions,
    model: Path,
    folder: Path,
    variables: Mapping[str, str],
    prefill_chunk: int,
) -> tuple[Served, ...]:
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
        return ServedBench(clients, plain.encode, say).run(options.served, options.plan.rounds)


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
    return FlightsOptions(plan, served, chosen.threads, chosen.model, chosen.data_dir, chosen.json)


def _kinds(text: str) -> tuple[Kind, ...]:
    names = [part.strip() for part in text.split(",")]
    unknown = [name for name in names if name not in {*Kind}]
    if unknown:
        raise argparse.ArgumentTypeError(f"knows {', '.join(Kind)}, not {unknown[0]!r}")
    return tuple(map(Kind, names))
