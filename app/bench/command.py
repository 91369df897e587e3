"""`ondol bench`: the command line, and a run from the lock to the report."""

from __future__ import annotations

import argparse
import contextlib
import os
import platform
import signal
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from app.bench import (
    batch_command,
    churn_command,
    facts,
    flights_command,
    gui_command,
    house_command,
    lock,
    lookup_command,
    partial_command,
    shared_command,
    simulate_command,
)
from app.bench.arguments import add_places, add_threads, check_places, count, sizes
from app.bench.batch_command import BatchOptions
from app.bench.churn_command import ChurnOptions
from app.bench.errors import BenchError
from app.bench.flights_command import FlightsOptions
from app.bench.gui_command import GuiOptions
from app.bench.house_command import HouseOptions
from app.bench.lookup_command import LookupOptions
from app.bench.partial_command import PartialOptions
from app.bench.plain import PlainFacts, plain_process
from app.bench.report import render, write_json
from app.bench.results import Conditions, Results
from app.bench.server_process import server_process
from app.bench.shared_command import SharedOptions
from app.bench.simulate_command import SimulateOptions
from app.bench.stats import MIN_PAIRS
from app.bench.verdicts import SOURCE_SAVINGS
from app.bench.warm import MAX_TOKENS, Scheme, WarmBench
from app.console import complain, say
from app.paths import find_paths
from engine.errors import EngineError
from engine.model import catalog, device
from engine.model.blas import THREADS_VARIABLE

OK, FAILED, USAGE_ERROR, INTERRUPTED = 0, 1, 2, 130

SIZES = (10, 100, 250, 500, 1_000, 2_000)

_ROUNDS, _REPEATS = 3, 5
_QUICK_ROUNDS, _QUICK_REPEATS = 1, 3


@dataclass(frozen=True, slots=True)
class Options:
    """What `ondol bench warm` was asked for. `model` None is the starter model in `data_dir`."""

    scheme: Scheme
    threads: int
    model: Path | None
    data_dir: Path | None
    json_file: Path | None


AnyOptions = (
    Options
    | BatchOptions
    | ChurnOptions
    | FlightsOptions
    | GuiOptions
    | HouseOptions
    | LookupOptions
    | PartialOptions
    | SharedOptions
    | SimulateOptions
)


def main(argv: Sequence[str]) -> int:
    """Returns the exit code: 0 when the run was made, whatever it found. Raises SystemExit for
    --help and options that make no sense."""
    options = _options(argv)
    try:
        with _termination_interrupts(), lock.machine_lock(lock.LOCK_FILE, _say_waiting):
            _run_any(options)
    except (BenchError, EngineError) as error:
        complain(str(error))
        return FAILED
    except OSError as error:
        complain(f"The bench cannot run: {error}")
        return FAILED
    except KeyboardInterrupt:
        complain("The bench was interrupted.")
        return INTERRUPTED
    return OK


def run(options: Options) -> Results:
    """Measure and report, with the machine for itself. Raises BenchError, EngineError, OSError."""
    load = facts.load_before()
    model = options.model or catalog.starter_model_folder(find_paths(options.data_dir).data)
    catalog.check_folder(model)
    started_at = datetime.now(UTC).isoformat(timespec="seconds")
    variables = {} if device.is_apple_silicon() else {THREADS_VARIABLE: str(options.threads)}
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
    conditions = Conditions(
        started_at=started_at,
        model=catalog.model_id_of(model),
        dtype=plain_facts.dtype,
        device=plain_facts.device,
        cores=os.cpu_count() or 1,
        load_before=load,
        versions=facts.versions(),
        platform=platform.platform(),
        threads=options.threads,
        prefill_chunk=plain_facts.prefill_chunk,
        max_tokens=MAX_TOKENS,
        rounds=options.scheme.rounds,
        repeats=options.scheme.repeats,
    )
    results = Results(conditions, sizes)
    say("")
    say(render(results))
    if options.json_file is not None:
        write_json(results, options.json_file)
    return results


def _run_any(options: AnyOptions) -> None:
    """Whichever bench these are the options of."""
    match options:
        case BatchOptions():
            batch_command.run(options)
        case ChurnOptions():
            churn_command.run(options)
        case FlightsOptions():
            flights_command.run(options)
        case GuiOptions():
            gui_command.run(options)
        case HouseOptions():
            house_command.run(options)
        case LookupOptions():
            lookup_command.run(options)
        case PartialOptions():
            partial_command.run(options)
        case SharedOptions():
            shared_command.run(options)
        case SimulateOptions():
            simulate_command.run(options)
        case Options():
            run(options)


def _check_sizes(scheme: Scheme, facts: PlainFacts) -> None:
    # A prompt may come out some tokens longer, and the answer needs its own.
    room = facts.context_window - 64
    if max(scheme.sizes) > room:
        raise BenchError(
            f"Prompts of {max(scheme.sizes)} tokens do not fit this model's context window: "
            f"the most is {room}."
        )


def _say_waiting() -> None:
    say("Another bench or test run has this machine: waiting for its end.")


@contextlib.contextmanager
def _termination_interrupts() -> Iterator[None]:
    """SIGTERM and a closed terminal end the bench as Ctrl-C does: children first."""

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    before = {
        name: signal.signal(name, interrupt)
        for name in (signal.SIGTERM, signal.SIGHUP)
        if signal.getsignal(name) is not signal.SIG_IGN  # nohup
    }
    try:
        yield
    finally:
        for name, handler in before.items():
            signal.signal(name, handler)


def _options(argv: Sequence[str]) -> AnyOptions:
    parser, parser_of = _parsers()
    chosen = parser.parse_args(argv)
    if chosen.bench == "batch":
        return batch_command.read_options(parser_of["batch"], chosen)
    if chosen.bench == "churn":
        return churn_command.read_options(parser_of["churn"], chosen)
    if chosen.bench == "flights":
        return flights_command.read_options(parser_of["flights"], chosen)
    if chosen.bench == "gui":
        return gui_command.read_options(parser_of["gui"], chosen)
    if chosen.bench == "house":
        return house_command.read_options(parser_of["house"], chosen)
    if chosen.bench == "lookup":
        return lookup_command.read_options(parser_of["lookup"], chosen)
    if chosen.bench == "partial":
        return partial_command.read_options(parser_of["partial"], chosen)
    if chosen.bench == "shared":
        return shared_command.read_options(parser_of["shared"], chosen)
    if chosen.bench == "simulate":
        return simulate_command.read_options(parser_of["simulate"], chosen)
    warm = parser_of["warm"]
    if chosen.pairs is not None:
        if chosen.sizes is None or len(chosen.sizes) != 1 or chosen.source:
            warm.error("--pairs judges one size: name it, as in --sizes 500")
        if chosen.rounds is not None or chosen.quick:
            warm.error("--pairs sets the rounds itself: leave out --rounds and --quick")
    check_places(warm, chosen)
    return Options(_scheme(chosen), chosen.threads, chosen.model, chosen.data_dir, chosen.json)


def _scheme(chosen: argparse.Namespace) -> Scheme:
    added = tuple(SOURCE_SAVINGS) if chosen.source else ()
    sizes = tuple(sorted({*(chosen.sizes or SIZES), *added}))
    if chosen.pairs is not None:
        return Scheme(sizes, rounds=chosen.pairs, repeats=1)
    rounds, repeats = (_QUICK_ROUNDS, _QUICK_REPEATS) if chosen.quick else (_ROUNDS, _REPEATS)
    return Scheme(sizes, chosen.rounds or rounds, repeats)


def _parsers() -> tuple[argparse.ArgumentParser, Mapping[str, argparse.ArgumentParser]]:
    """The parser, and that of each bench for errors in its name."""
    parser = argparse.ArgumentParser(prog="ondol bench", description="Measure this machine.")
    benches = parser.add_subparsers(dest="bench", metavar="BENCH", required=True)
    warm = benches.add_parser(
        "warm", help="time to the first token, cold and warm, beside plain mlx-lm"
    )
    warm.add_argument(
        "--quick", action="store_true", help="one round, within three minutes on two cores"
    )
    warm.add_argument(
        "--sizes",
        type=sizes,
        metavar="N,N,…",
        help=f"prompt sizes in tokens (default {','.join(map(str, SIZES))})",
    )
    warm.add_argument(
        "--source",
        action="store_true",
        help=f"also the source article's sizes: {','.join(map(str, SOURCE_SAVINGS))}",
    )
    warm.add_argument(
        "--rounds", type=count, metavar="N", help=f"new prompts a size (default {_ROUNDS})"
    )
    warm.add_argument(
        "--pairs",
        type=count,
        metavar="N",
        help=f"N interleaved pairs of one size ({MIN_PAIRS} or more judge a close bar)",
    )
    add_threads(warm)
    add_places(warm)
    gui = benches.add_parser(
        "gui", help="what the window costs the engine, and the engine the window"
    )
    gui_command.add_options(gui)
    lookup = benches.add_parser(
        "lookup", help="how long the cache takes to find a prompt, and what its index weighs"
    )
    lookup_command.add_options(lookup)
    partial = benches.add_parser(
        "partial", help="what hits inside a block are worth on a hybrid model, and what they cost"
    )
    partial_command.add_options(partial)
    shared = benches.add_parser(
        "shared", help="what rows on one prefix take and cost, beside rows on copies of it"
    )
    shared_command.add_options(shared)
    flights = benches.add_parser(
        "flights", help="what it is worth that prompts which arrive together are computed once"
    )
    flights_command.add_options(flights)
    house = benches.add_parser(
        "house", help="the six figures of a home server, with coordination on and off"
    )
    house_command.add_options(house)
    simulate = benches.add_parser(
        "simulate", help="what the schedule makes of many clients, on a virtual clock"
    )
    simulate_command.add_options(simulate)
    churn = benches.add_parser(
        "churn", help="what prompts used in turn find of themselves when they do not fit"
    )
    churn_command.add_options(churn)
    batch = benches.add_parser(
        "batch", help="what more clients at a time cost the warm prefixes, and how they are kept"
    )
    batch_command.add_options(batch)
    return parser, {
        "warm": warm,
        "batch": batch,
        "churn": churn,
        "flights": flights,
        "gui": gui,
        "house": house,
        "lookup": lookup,
        "partial": partial,
        "shared": shared,
        "simulate": simulate,
    }
