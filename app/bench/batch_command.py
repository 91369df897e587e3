"""`ondol bench batch`: its options, and a run from the simulator and the model to the report."""

from __future__ import annotations

import argparse
import contextlib
import logging
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from app.bench import facts
from app.bench.arguments import add_places, add_threads, check_places
from app.bench.batch import BatchPlan, BatchResults, Sweep
from app.bench.batch_plan import FULL, QUICK
from app.bench.batch_report import render, to_json
from app.bench.batch_simulated import simulate
from app.bench.measuring import measure
from app.bench.model_setup import Setup
from app.bench.report import present
from app.console import say
from engine.model import catalog


@dataclass(frozen=True, slots=True)
class BatchOptions:
    """What `ondol bench batch` was asked for."""

    plan: BatchPlan
    setup: Setup


def run(options: BatchOptions) -> BatchResults:
    """Measure, simulate and report, with the machine for itself. Raises BenchError, EngineError,
    OSError."""
    before = facts.surroundings()
    plan, setup = options.plan, options.setup
    model = setup.model_folder()
    say("Starting one process that loads the model for all modes.")
    with tempfile.TemporaryDirectory(prefix="ondol-bench-") as folder:
        of_process, sweeps, peak = measure(
            "app.bench.batch_worker",
            model,
            plan.measured.to_json(),
            Path(folder),
            setup.variables,
            say,
        )
    measured = tuple(map(Sweep.from_json, sweeps))
    with _without_warnings():
        results = BatchResults(simulate(plan.simulated, say), measured)
    conditions = facts.conditions(
        before,
        catalog.model_id_of(model),
        of_process,
        setup.threads,
        max_tokens=plan.measured.traffic.answer_tokens[1],
        rounds=plan.measured.rounds,
    )
    present(
        render(results, conditions, plan),
        to_json(results, conditions, plan),
        setup.json_file,
        (peak,),
    )
    return results


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--quick",
        action="store_true",
        help="fewer clients, modes and requests, within three minutes on two cores",
    )
    add_threads(parser)
    add_places(parser)


def read_options(parser: argparse.ArgumentParser, chosen: argparse.Namespace) -> BatchOptions:
    check_places(parser, chosen)
    plan = QUICK if chosen.quick else FULL
    return BatchOptions(plan, Setup.of(chosen))


@contextlib.contextmanager
def _without_warnings() -> Iterator[None]:
    """The engine warns of each preemption, of which there are hundreds here; the tables count
    them."""
    log = logging.getLogger("engine")
    level = log.level
    log.setLevel(logging.ERROR)
    try:
        yield
    finally:
        log.setLevel(level)
