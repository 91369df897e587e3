"""`ondol bench churn`: its options, and a run from the first prompt to the report."""

from __future__ import annotations

import argparse
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from app.bench import facts
from app.bench.arguments import add_json, add_threads, check_places, path
from app.bench.churn import Plan, on_cache_alone
from app.bench.churn_engine import on_engine
from app.bench.churn_report import Churn, ChurnConditions, ChurnResults, render, to_json
from app.bench.memory import Peak
from app.bench.model_setup import Setup
from app.bench.report import present
from app.console import say

PLAN = Plan(prompts=8, prompt_tokens=975, pool_tokens=341 * 16, cycles=6)  # the source's (S0-15)
ENGINE_CYCLES = 2
QUICK_PLAN = Plan(prompts=8, prompt_tokens=325, pool_tokens=341 * 16 // 3, cycles=ENGINE_CYCLES)

_STARTER = Path()  # asked for without naming a folder


@dataclass(frozen=True, slots=True)
class ChurnOptions:
    """What `ondol bench churn` was asked for. `engine_plan` is None where the cache runs
    alone."""

    plan: Plan
    engine_plan: Plan | None
    setup: Setup


def run(options: ChurnOptions) -> ChurnResults:
    """Measure and report, with the machine for itself. Raises BenchError, EngineError, OSError."""
    setup = options.setup
    conditions = ChurnConditions(**asdict(facts.surroundings()))
    results = ChurnResults(Churn(options.plan, on_cache_alone(options.plan)))
    peaks: tuple[Peak, ...] = ()
    if options.engine_plan is not None:
        model = setup.model_folder()
        say("Starting the engine, once to learn the model's prices and once for each policy.")
        info, sides, peak = on_engine(options.engine_plan, model, setup.variables, say)
        peaks = (peak,)
        results = replace(results, engine=Churn(options.engine_plan, sides))
        conditions = replace(conditions, model=info.id, threads=setup.threads)
    present(render(results, conditions), to_json(results, conditions), setup.json_file, peaks)
    return results


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--quick",
        action="store_true",
        help="with --model: a third of the tokens, within three minutes on two cores",
    )
    parser.add_argument(
        "--model",
        nargs="?",
        type=path,
        const=_STARTER,
        metavar="FOLDER",
        help="also in the engine, with an mlx-lm model folder (no folder: starter)",
    )
    parser.add_argument(
        "--data-dir", type=path, metavar="FOLDER", help="where the starter model is kept"
    )
    add_threads(parser)
    add_json(parser)


def read_options(parser: argparse.ArgumentParser, chosen: argparse.Namespace) -> ChurnOptions:
    check_places(parser, chosen)
    engine_plan = None
    if chosen.model is not None:
        engine_plan = QUICK_PLAN if chosen.quick else replace(PLAN, cycles=ENGINE_CYCLES)
    setup = Setup.of(chosen)
    if chosen.model is _STARTER:
        setup = replace(setup, model=None)
    return ChurnOptions(
        PLAN,
        engine_plan,
        setup,
    )
