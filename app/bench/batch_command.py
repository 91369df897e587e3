"""`ondol bench batch`: its options, and a run from the simulator and the model to the report."""

from __future__ import annotations

import argparse
import contextlib
import logging
import os
import platform
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from app.bench import facts
from app.bench.arguments import add_places, add_threads, check_places
from app.bench.batch import BatchPlan, BatchResults
from app.bench.batch_plan import FULL, QUICK
from app.bench.batch_process import measure
from app.bench.batch_report import render, to_json
from app.bench.batch_simulated import simulate
from app.bench.report import write_whole
from app.bench.results import Conditions
from app.console import say
from app.paths import find_paths
from engine.model import catalog, device
from engine.model.blas import THREADS_VARIABLE


@dataclass(frozen=True, slots=True)
class BatchOptions:
    """What `ondol bench batch` was asked for. `model` None is the starter model in `data_dir`."""

    plan: BatchPlan
    threads: int
    model: Path | None
    data_dir: Path | None
    json_file: Path | None


def run(options: BatchOptions) -> BatchResults:
    """Measure, simulate and report, with the machine for itself. Raises BenchError, EngineError,
    OSError."""
    load = facts.load_before()
    plan = options.plan
    model = options.model or catalog.starter_model_folder(find_paths(options.data_dir).data)
    catalog.check_folder(model)
    started_at = datetime.now(UTC).isoformat(timespec="seconds")
    variables = {} if device.is_apple_silicon() else {THREADS_VARIABLE: str(options.threads)}
    say("Starting one process that loads the model for all modes.")
    with tempfile.TemporaryDirectory(prefix="ondol-bench-") as folder:
        of_process, measured = measure(model, plan.measured, Path(folder), variables, say)
    with _without_warnings():
        results = BatchResults(simulate(plan.simulated, say), measured)
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
        max_tokens=plan.measured.traffic.answer_tokens[1],
        rounds=plan.measured.rounds,
        repeats=1,
    )
    say("")
    say(render(results, conditions, plan))
    if options.json_file is not None:
        write_whole(to_json(results, conditions, plan), options.json_file)
    return results


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--quick",
        action="store_true",
        help="fewer clients, modes and requests, about three minutes on two cores",
    )
    add_threads(parser)
    add_places(parser)


def read_options(parser: argparse.ArgumentParser, chosen: argparse.Namespace) -> BatchOptions:
    check_places(parser, chosen)
    plan = QUICK if chosen.quick else FULL
    return BatchOptions(plan, chosen.threads, chosen.model, chosen.data_dir, chosen.json)


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
