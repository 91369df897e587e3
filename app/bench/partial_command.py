"""`ondol bench partial`: its options, and a run from the model to the report."""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import dataclass
from pathlib import Path

from app.bench import facts, hybrid_model
from app.bench.arguments import add_json, add_threads, check_places, count, path
from app.bench.errors import BenchError
from app.bench.hybrid_model import HybridShape
from app.bench.local_engine import local_engine
from app.bench.model_setup import Setup
from app.bench.partial import PartialBench, PartialResults, Plan
from app.bench.partial_report import PartialConditions, render, to_json
from app.bench.plain import plain_process
from app.bench.report import present
from app.bench.stats import MIN_PAIRS
from app.console import say
from engine.model import catalog

PROMPT_TOKENS, ADDED_TOKENS = 10_000, 200  # the article's
BLOCKS = (16, 32, 64, 128, 256, 512, 1_024, 2_048)
SIGHTED_TOKENS = (160, 250, 500, 1_000, 2_000)

_PAIRS, _SIGHTINGS = 5, 5
_QUICK_PAIRS, _QUICK_SIGHTINGS = 2, 3


@dataclass(frozen=True, slots=True)
class PartialOptions:
    """What `ondol bench partial` was asked for. Without a model in `setup` the bench makes
    one of `shape`."""

    plan: Plan
    setup: Setup
    shape: HybridShape | None = None


def run(options: PartialOptions) -> PartialResults:
    """Measure and report, with the machine for itself. Raises BenchError, EngineError, OSError."""
    before = facts.surroundings()
    plan, setup = options.plan, options.setup
    with tempfile.TemporaryDirectory(prefix="ondol-bench-") as name:
        folder = Path(name)
        model = setup.model or hybrid_model.write(folder / "small-hybrid", options.shape)
        catalog.check_folder(model)
        say("Starting the engine and plain mlx-lm, each with the model.")
        with (
            plain_process(model, folder, setup.variables) as plain,
            local_engine(model, setup.variables) as engine,
        ):
            plain_facts = plain.wait_until_ready()
            info = engine.model
            _check_sizes(plan, info.context_window)
            results = PartialBench(engine, plain.cold, info.vocab_size, say).run(plan)
            peak = engine.peak
    conditions = PartialConditions(
        facts.conditions(
            before,
            info.id,
            plain_facts,
            setup.threads,
            max_tokens=1,
            rounds=plan.pairs,
            repeats=plan.sightings,
        ),
        layers=info.layers,
        added_tokens=plan.added_tokens,
    )
    present(render(results, conditions), to_json(results, conditions), setup.json_file, (peak,))
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
    setup = Setup(chosen.threads, chosen.model, json_file=chosen.json)
    return PartialOptions(plan, setup)


def _check_sizes(plan: Plan, context_window: int) -> None:
    if plan.longest_tokens >= context_window:
        raise BenchError(
            f"Prompts of {plan.longest_tokens:,} tokens do not fit this model's context window "
            f"of {context_window:,}."
        )
