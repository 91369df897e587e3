"""`ondol bench simulate`: its options, and a run from the first client to the report."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

from app.bench import facts
from app.bench.arguments import add_json, check_places
from app.bench.report import present
from app.bench.simulation import chat_sweep, overhead, scenarios, wait_sweep
from app.bench.simulation.chat_sweep import ChatPlan
from app.bench.simulation.model import A100_8B, MAC_70B, STARTER
from app.bench.simulation.overhead import Crowd, OverheadPlan
from app.bench.simulation.report import (
    SimulatePlan,
    SimulateResults,
    render,
    to_json,
)
from app.bench.simulation.scenarios import SCENARIOS
from app.bench.simulation.wait_sweep import WaitPlan
from app.bench.simulation.workloads import Chat
from app.console import say
from engine.config import EngineConfig

_PACKAGES = ("ondol",)
_CONCURRENCY = (4, 8, 16, 32, 64, 128)
# Running requests of 32 clients take about two thirds of it (S3-6).
_POOL_TOKENS = 40_000
_SHARES = (0.25, 0.5, 0.75, 0.95)
_STAGGERS_S = (0.0, 0.25, 0.5, 1.0, 2.0)
# Prompts of several chunks each: what a chunk computes is only found when it is done.
_WAITS = tuple(
    WaitPlan(model, _SHARES, _STAGGERS_S, prompt_tokens, answer_tokens=32)
    for model, prompt_tokens in ((STARTER, 1_000), (MAC_70B, 8_000))
)
_RUNNING, _WAITING = 64, 1_000

FULL = SimulatePlan(
    ChatPlan(A100_8B, Chat(), _CONCURRENCY, _POOL_TOKENS),
    STARTER,
    _WAITS,
    OverheadPlan(A100_8B, _RUNNING, _WAITING, 200, prompt_tokens=400, answer_tokens=(16, 64)),
)
QUICK = SimulatePlan(
    ChatPlan(A100_8B, Chat(), _CONCURRENCY[:-1], _POOL_TOKENS),
    STARTER,
    _WAITS[:1],
    OverheadPlan(A100_8B, _RUNNING, _WAITING, 50, prompt_tokens=400, answer_tokens=(16, 64)),
)


@dataclass(frozen=True, slots=True)
class SimulateOptions:
    """What `ondol bench simulate` was asked for."""

    plan: SimulatePlan
    json_file: Path | None


def run(options: SimulateOptions) -> SimulateResults:
    """Simulate, measure the schedule's own time with the machine for itself, and report. Raises
    BenchError, OSError."""
    plan, config = options.plan, EngineConfig()
    conditions = facts.surroundings(_PACKAGES)
    crowded = EngineConfig(max_running=plan.overhead.running)
    results = SimulateResults(
        chat=chat_sweep.sweep(plan.chat, config, say),
        scenarios=tuple(
            scenarios.play(scenario, plan.scenarios_on, config) for scenario in SCENARIOS
        ),
        waits=tuple(wait_sweep.sweep(wait, config, say) for wait in plan.waits),
        overhead=tuple(overhead.measure(plan.overhead, crowd, crowded, say) for crowd in Crowd),
    )
    present(
        render(results, conditions, plan), to_json(results, conditions, plan), options.json_file
    )
    return results


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--quick",
        action="store_true",
        help="fewer clients, one model and fewer steps, within three minutes",
    )
    add_json(parser)


def read_options(parser: argparse.ArgumentParser, chosen: argparse.Namespace) -> SimulateOptions:
    check_places(parser, chosen)
    return SimulateOptions(QUICK if chosen.quick else FULL, chosen.json)
