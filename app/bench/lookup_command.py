"""`ondol bench lookup`: its options, and a run from the first tree to the report."""

from __future__ import annotations

import argparse
from dataclasses import asdict, dataclass
from pathlib import Path

from app.bench import facts
from app.bench.arguments import add_json, check_places, sizes
from app.bench.lookup import (
    MIN_PROMPT_TOKENS,
    NUM_OTHERS,
    PAGE_TOKENS,
    LookupBench,
    LookupSize,
    Plan,
)
from app.bench.lookup_report import LookupConditions, render, to_json
from app.bench.report import present
from app.console import say

SIZES = (1_000, 10_000, 100_000, 1_000_000)

_QUICK_SIZES = SIZES[:-1]
_REPEATS = 25
_PACKAGES = ("ondol",)


@dataclass(frozen=True, slots=True)
class LookupOptions:
    """What `ondol bench lookup` was asked for."""

    plan: Plan
    json_file: Path | None


def run(options: LookupOptions) -> tuple[LookupSize, ...]:
    """Measure and report, with the machine for itself. Raises BenchError, OSError."""
    before = facts.surroundings(_PACKAGES)
    conditions = LookupConditions(
        **asdict(before), page_tokens=PAGE_TOKENS, repeats=options.plan.repeats
    )
    found = LookupBench(say).run(options.plan)
    present(render(found, conditions), to_json(found, conditions), options.json_file)
    return found


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--quick", action="store_true", help=f"prompts of up to {_QUICK_SIZES[-1]:,} tokens"
    )
    parser.add_argument(
        "--sizes",
        type=sizes,
        metavar="N,N,…",
        help=f"prompt sizes in tokens (default {','.join(map(str, SIZES))})",
    )
    add_json(parser)


def read_options(parser: argparse.ArgumentParser, chosen: argparse.Namespace) -> LookupOptions:
    if chosen.quick and chosen.sizes is not None:
        parser.error("--quick sets the sizes itself: leave out --sizes")
    if chosen.sizes is not None and min(chosen.sizes) < MIN_PROMPT_TOKENS:
        parser.error(f"--sizes: a prompt needs at least {MIN_PROMPT_TOKENS} tokens")
    check_places(parser, chosen)
    asked = _QUICK_SIZES if chosen.quick else tuple(sorted({*(chosen.sizes or SIZES)}))
    return LookupOptions(Plan(asked, _REPEATS, NUM_OTHERS), chosen.json)
