"""`ondol bench warm`: its options, and a run from two processes to the report."""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import dataclass
from pathlib import Path

from app.bench import facts
from app.bench.arguments import add_places, add_threads, check_places, count, sizes
from app.bench.errors import BenchError
from app.bench.facts import WorkerFacts
from app.bench.model_setup import Setup
from app.bench.plain import plain_process
from app.bench.report import present
from app.bench.server_metrics import peak_of
from app.bench.server_process import server_process
from app.bench.stats import MIN_PAIRS
from app.bench.warm import MAX_TOKENS, Scheme, WarmBench
from app.bench.warm_report import render, to_json
from app.bench.warm_results import Results
from app.bench.warm_verdicts import SOURCE_SAVINGS
from app.console import say
from engine.model import catalog

SIZES = (10, 100, 250, 500, 1_000, 2_000)

_ROUNDS, _REPEATS = 3, 5
_QUICK_ROUNDS, _QUICK_REPEATS = 1, 3


@dataclass(frozen=True, slots=True)
class WarmOptions:
    """What `ondol bench warm` was asked for."""

    scheme: Scheme
    setup: Setup


def run(options: WarmOptions) -> Results:
    """Measure and report, with the machine for itself. Raises BenchError, EngineError, OSError."""
    before, setup = facts.surroundings(), options.setup
    model = setup.model_folder()
    variables = setup.variables
    say("Starting `ondol serve` and plain mlx-lm, each with the model.")
    with (
        tempfile.TemporaryDirectory(prefix="ondol-bench-") as folder,
        server_process(model, Path(folder), variables) as server,
        plain_process(model, Path(folder), variables) as plain,
    ):
        plain_facts = plain.wait_until_ready()
        _check_sizes(options.scheme, plain_facts)
        client = server.wait_until_ready()
        sizes = WarmBench(client, plain, say).run(options.scheme)
        peak = peak_of(server.command, client)
    conditions = facts.conditions(
        before,
        catalog.model_id_of(model),
        plain_facts,
        setup.threads,
        max_tokens=MAX_TOKENS,
        rounds=options.scheme.rounds,
        repeats=options.scheme.repeats,
    )
    results = Results(conditions, sizes)
    present(render(results), to_json(results), setup.json_file, (peak,))
    return results


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--quick", action="store_true", help="one round, within three minutes on two cores"
    )
    parser.add_argument(
        "--sizes",
        type=sizes,
        metavar="N,N,…",
        help=f"prompt sizes in tokens (default {','.join(map(str, SIZES))})",
    )
    parser.add_argument(
        "--source",
        action="store_true",
        help=f"also the source article's sizes: {','.join(map(str, SOURCE_SAVINGS))}",
    )
    parser.add_argument(
        "--rounds", type=count, metavar="N", help=f"new prompts a size (default {_ROUNDS})"
    )
    parser.add_argument(
        "--pairs",
        type=count,
        metavar="N",
        help=f"N interleaved pairs of one size ({MIN_PAIRS} or more judge a close bar)",
    )
    add_threads(parser)
    add_places(parser)


def read_options(parser: argparse.ArgumentParser, chosen: argparse.Namespace) -> WarmOptions:
    if chosen.pairs is not None:
        if chosen.sizes is None or len(chosen.sizes) != 1 or chosen.source:
            parser.error("--pairs judges one size: name it, as in --sizes 500")
        if chosen.rounds is not None or chosen.quick:
            parser.error("--pairs sets the rounds itself: leave out --rounds and --quick")
    check_places(parser, chosen)
    return WarmOptions(_scheme(chosen), Setup.of(chosen))


def _scheme(chosen: argparse.Namespace) -> Scheme:
    added = tuple(SOURCE_SAVINGS) if chosen.source else ()
    sizes = tuple(sorted({*(chosen.sizes or SIZES), *added}))
    if chosen.pairs is not None:
        return Scheme(sizes, rounds=chosen.pairs, repeats=1)
    rounds, repeats = (_QUICK_ROUNDS, _QUICK_REPEATS) if chosen.quick else (_ROUNDS, _REPEATS)
    return Scheme(sizes, chosen.rounds or rounds, repeats)


def _check_sizes(scheme: Scheme, worker: WorkerFacts) -> None:
    # A prompt may come out some tokens longer, and the answer needs its own.
    room = worker.context_window - 64
    if max(scheme.sizes) > room:
        raise BenchError(
            f"Prompts of {max(scheme.sizes)} tokens do not fit this model's context window: "
            f"the most is {room}."
        )
