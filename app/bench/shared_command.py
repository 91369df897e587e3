"""`ondol bench shared`: its options, and a run from the model to the report."""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

from app.bench import facts
from app.bench.arguments import add_places, add_threads, check_places, count, sizes
from app.bench.measuring import measure
from app.bench.model_setup import Setup
from app.bench.report import present
from app.bench.shared import CapacityPlan, Plan, SharedResults
from app.bench.shared_report import render, to_json
from app.bench.stats import MIN_PAIRS
from app.console import say
from engine.model import catalog

PREFIXES, CLIENTS = (512, 2_048, 4_096, 7_680), (1, 2, 4, 8, 16)
SUFFIX_TOKENS, GROUP = 9, 8

_QUICK_PREFIXES, _QUICK_CLIENTS = (512, 2_048), (1, 8)
_BLOCKS, _BLOCK_STEPS, _REPEATS, _COPIES = 15, 4, 5, 8
_QUICK_BLOCKS, _QUICK_REPEATS, _QUICK_COPIES = 4, 3, 3


@dataclass(frozen=True, slots=True)
class SharedOptions:
    """What `ondol bench shared` was asked for."""

    plan: Plan
    setup: Setup


def run(options: SharedOptions) -> SharedResults:
    """Measure and report, with the machine for itself. Raises BenchError, EngineError, OSError."""
    before = facts.surroundings()
    plan, setup = options.plan, options.setup
    model = setup.model_folder()
    say("Starting one process that loads the model for both sides.")
    with tempfile.TemporaryDirectory(prefix="ondol-bench-") as folder:
        of_process, measured, peak = measure(
            "app.bench.shared_worker", model, asdict(plan), Path(folder), setup.variables, say
        )
    results = SharedResults.from_json(measured)
    conditions = facts.conditions(
        before,
        catalog.model_id_of(model),
        of_process,
        setup.threads,
        max_tokens=plan.answer_tokens,
        rounds=plan.blocks,
        repeats=plan.repeats,
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
        help=f"prefixes of {' and '.join(f'{size:,}' for size in _QUICK_PREFIXES)} tokens with "
        f"{' and '.join(map(str, _QUICK_CLIENTS))} clients, within three minutes on two cores",
    )
    parser.add_argument(
        "--prefixes",
        type=sizes,
        metavar="N,N,…",
        help=f"prefix sizes in tokens (default {','.join(map(str, PREFIXES))})",
    )
    parser.add_argument(
        "--clients",
        type=sizes,
        metavar="N,N,…",
        help=f"clients at once (default {','.join(map(str, CLIENTS))})",
    )
    parser.add_argument(
        "--pairs",
        type=count,
        metavar="N",
        help=f"blocks of steps, and repeats of all else ({MIN_PAIRS} or more judge a close bar)",
    )
    add_threads(parser)
    add_places(parser)


def read_options(parser: argparse.ArgumentParser, chosen: argparse.Namespace) -> SharedOptions:
    if chosen.quick and chosen.pairs is not None:
        parser.error("--quick sets the pairs itself: leave out --pairs")
    check_places(parser, chosen)
    quick = chosen.quick
    plan = Plan(
        tuple(sorted({*(chosen.prefixes or (_QUICK_PREFIXES if quick else PREFIXES))})),
        tuple(sorted({*(chosen.clients or (_QUICK_CLIENTS if quick else CLIENTS))})),
        SUFFIX_TOKENS,
        blocks=_QUICK_BLOCKS if quick else chosen.pairs or _BLOCKS,
        block_steps=_BLOCK_STEPS,
        group=GROUP,
        repeats=_QUICK_REPEATS if quick else chosen.pairs or _REPEATS,
        capacity=CapacityPlan(960, 240, _QUICK_COPIES if quick else _COPIES),
    )
    return SharedOptions(plan, Setup.of(chosen))
