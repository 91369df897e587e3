"""`ondol bench`: the command line, and the machine for whichever bench was asked for."""

from __future__ import annotations

import argparse
import contextlib
import signal
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from app.bench import (
    batch_command,
    churn_command,
    flights_command,
    gui_command,
    house_command,
    lock,
    lookup_command,
    partial_command,
    shared_command,
    simulate_command,
    warm_command,
)
from app.bench.errors import BenchError
from app.console import complain, say
from engine.errors import EngineError

OK, FAILED, USAGE_ERROR, INTERRUPTED = 0, 1, 2, 130


class Command(Protocol):
    """What a bench's command module has. Options are of a class of its own."""

    def add_options(self, parser: argparse.ArgumentParser) -> None: ...

    def read_options(self, parser: argparse.ArgumentParser, chosen: argparse.Namespace) -> Any:
        """Raises SystemExit for options that make no sense."""

    def run(self, options: Any) -> object:
        """Measure and report. Raises BenchError, EngineError, OSError."""


@dataclass(frozen=True, slots=True)
class Bench:
    """One bench as the command line shows it."""

    name: str
    help: str
    command: Command


BENCHES = (
    Bench("warm", "time to the first token, cold and warm, beside plain mlx-lm", warm_command),
    Bench("gui", "what the window costs the engine, and the engine the window", gui_command),
    Bench(
        "lookup",
        "how long the cache takes to find a prompt, and what its index weighs",
        lookup_command,
    ),
    Bench(
        "partial",
        "what hits inside a block are worth on a hybrid model, and what they cost",
        partial_command,
    ),
    Bench(
        "shared",
        "what rows on one prefix take and cost, beside rows on copies of it",
        shared_command,
    ),
    Bench(
        "flights",
        "what it is worth that prompts which arrive together are computed once",
        flights_command,
    ),
    Bench(
        "house",
        "the six figures of a home server, with coordination on and off",
        house_command,
    ),
    Bench(
        "simulate",
        "what the schedule makes of many clients, on a virtual clock",
        simulate_command,
    ),
    Bench(
        "churn",
        "what prompts used in turn find of themselves when they do not fit",
        churn_command,
    ),
    Bench(
        "batch",
        "what more clients at a time cost the warm prefixes, and how they are kept",
        batch_command,
    ),
)


def main(argv: Sequence[str]) -> int:
    """Returns the exit code: 0 when the run was made, whatever it found. Raises SystemExit for
    --help and options that make no sense."""
    command, options = _read(argv)
    try:
        with _termination_interrupts(), lock.machine_lock(lock.LOCK_FILE, _say_waiting):
            command.run(options)
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


def _read(argv: Sequence[str]) -> tuple[Command, Any]:
    """The bench that was asked for, and its options."""
    parser = argparse.ArgumentParser(prog="ondol bench", description="Measure this machine.")
    subparsers = parser.add_subparsers(dest="bench", metavar="BENCH", required=True)
    benches = {}
    for bench in BENCHES:
        of_bench = subparsers.add_parser(bench.name, help=bench.help)
        bench.command.add_options(of_bench)
        benches[bench.name] = bench.command, of_bench
    chosen = parser.parse_args(argv)
    command, of_chosen = benches[chosen.bench]
    return command, command.read_options(of_chosen, chosen)
