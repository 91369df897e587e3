"""`ondol bench partial`: its options, and a run from the model to the report."""

from __future__ import annotations

import argparse
import os
import platform
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from app.bench import facts, hybrid_model
from app.bench.arguments import add_json, add_threads, check_places, count, path
from app.bench.errors import BenchError
from app.bench.hybrid_model import HybridShape
from app.bench.local_engine import local_engine
from app.bench.partial import PartialBench, PartialResults, Plan
from app.bench.partial_report import PartialConditions, render, to_json
from app.bench.plain import plain_process
from app.bench.report import write_whole
from app.bench.results import Conditions
from app.bench.stats import MIN_PAIRS
from app.console import say
from engine.model import catalog, device
from engine.model.blas import THREADS_VARIABLE

PROMPT_TOKENS, ADDED_TOKENS = 10_000, 200  # the article's
BLOCKS = (16, 32, 64, 128, 256, 512, 1_024, 2_048)
SIGHTED_TOKENS = (160, 250, 500, 1_000, 2_000)

_PAIRS, _SIGHTINGS = 5, 5
_QUICK_PAIRS, _QUICK_SIGHTINGS = 2, 3


@dataclass(frozen=True, slots=True)
class PartialOptions:
    """What `ondol bench partial` was asked for. `model` None is one of `shape` that the bench
    makes."""

    plan: Plan
    threads: int
    model: Path | None
    json_file: Path | None
    shape: HybridShape | None = None


def run(options: PartialOptions) -> PartialResults:
    """Measure and report, with the machine for itself. Raises BenchError, EngineError, OSError."""
    load = facts.load_before()
    plan = options.plan
    started_at = datetime.now(UTC).isoformat(timespec="seconds")
    variables = {} if device.is_apple_silicon() else {THREADS_VARIABLE: str(options.threads)}
    with tempfile.TemporaryDirectory(prefix="ondol-bench-") as name:
        folder = Path(name)
        model = options.model or hybrid_model.write(folder / "small-hybrid", options.shape)
        catalog.check_folder(model)
        say("Starting the engine and plain mlx-lm, each with the model.")
        with (
            plain_process(model, folder, variables) as plain,
            local_engine(model, variables) as engine,
        ):
            plain_facts = plain.wait_until_ready()
            info = engine.model
            _check_sizes(plan, info.context_window)
            results = PartialBench(engine, plain.cold, info.vocab_size, say).run(plan)
    conditions = PartialConditions(
        Conditions(
            started_at=started_at,
            model=info.id,
            dtype=plain_facts.dtype,
            device=plain_facts.device,
            cores=os.cpu_count() or 1,
            load_before=load,
            versions=facts.versions(),
            platform=platform.platform(),
            threads=options.threads,
            prefill_chunk=plain_facts.prefill_chunk,
            max_tokens=1,
            rounds=plan.pairs,
            repeats=plan.sightings,
        ),
        layers=info.layers,
        added_tokens=plan.added_tokens,
    )
    say("")
    say(render(results, conditions))
    if options.json_file is not None:
        write_whole(to_json(results, conditions), options.json_file)
    return results


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--quick",
        action="store_true",
        help=f"{_QUICK_PAIRS} pairs, within three minutes on two cores",
    )
    parser.add_argument(
        "--pairs",
        type=count,
        metavar="N",
        help=f"new prompts (default {_PAIRS}; {MIN_PAIRS} or more judge a close bar)",
    )
    add_threads(parser)
    add_json(parser)
    parser.add_argument(
        "--model",
        type=path,
        metavar="FOLDER",
        help="an mlx-lm model folder (default: a small hybrid with random weights)",
    )


def read_options(parser: argparse.ArgumentParser, chosen: argparse.Namespace) -> PartialOptions:
    if chosen.quick and chosen.pairs is not None:
        parser.error("--quick sets the pairs itself: leave out --pairs")
    check_places(parser, chosen)
    plan = Plan(
        PROMPT_TOKENS,
        ADDED_TOKENS,
        BLOCKS,
        pairs=_QUICK_PAIRS if chosen.quick else chosen.pairs or _PAIRS,
        sighted_tokens=SIGHTED_TOKENS,
        sightings=_QUICK_SIGHTINGS if chosen.quick else _SIGHTINGS,
    )
    return PartialOptions(plan, chosen.threads, chosen.model, chosen.json)


def _check_sizes(plan: Plan, context_window: int) -> None:
    if plan.longest_tokens >= context_window:
        raise BenchError(
            f"Prompts of {plan.longest_tokens:,} tokens do not fit this model's context window "
            f"of {context_window:,}."
        )
