"""A run of `ondol bench simulate` as tables for people and as JSON for programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from app.bench.conditions import Surroundings
from app.bench.report import ms, software, table
from app.bench.simulation.chat_sweep import ChatPlan, ChatResult, knee
from app.bench.simulation.model import SimulatedModel
from app.bench.simulation.overhead import OverheadPlan, OverheadResult
from app.bench.simulation.scenarios import ScenarioResult
from app.bench.simulation.wait_sweep import PairResult, WaitPlan, WaitResult
from app.bench.stats import estimated_mean
from app.bench.verdict import Verdict, against_bars, counted, scaled, verdicts_json
from engine.config import WaitOrCompute

SCHEMA = "ondol-bench-simulate"
SCHEMA_VERSION = 1

CHOICE_FACTOR = 1.05
OVERHEAD_MS = 2.0

_CHAT_COLUMNS = (
    ("clients", ("",)),
    ("requests", ("",)),
    ("found", ("%",)),
    ("first token, ms", ("p50", "p99")),
    ("answers", ("tokens/s",)),
    ("preempted", ("",)),
    ("pool, %", ("running", "cached")),
)
_SCENARIO_COLUMNS = (
    ("workload", ("",)),
    ("requests", ("",)),
    ("prompt tokens", ("all", "computed")),
    ("first token, ms", ("mean", "slowest")),
)
_PAIR_COLUMNS = (
    ("same", ("%",)),
    ("later", ("s",)),
    ("first token of both, mean ms", ("waiting", "computing", "chosen", "over better")),
)
_BREAK_EVEN_COLUMNS = (("later", ("s",)), ("waiting wins from", ("% the same",)))
_OVERHEAD_COLUMNS = (
    ("those who wait", ("",)),
    ("steps", ("",)),
    ("a step, ms", ("mean", "p50", "p99", "slowest")),
    ("filling, ms", ("slowest",)),
)


@dataclass(frozen=True, slots=True)
class SimulatePlan:
    """What to simulate and to measure."""

    chat: ChatPlan
    scenarios_on: SimulatedModel
    waits: tuple[WaitPlan, ...]
    overhead: OverheadPlan


@dataclass(frozen=True, slots=True)
class SimulateResults:
    """`waits` are in the order of the plan's."""

    chat: tuple[ChatResult, ...]
    scenarios: tuple[ScenarioResult, ...]
    waits: tuple[WaitResult, ...]
    overhead: tuple[OverheadResult, ...]


def verdicts(results: SimulateResults, plan: SimulatePlan) -> tuple[Verdict, ...]:
    """The worst choice of each model, and the schedule's own time with each crowd."""
    return (
        *(
            _choice(wait_plan, max(result.pairs, key=lambda pair: pair.over_better))
            for wait_plan, result in zip(plan.waits, results.waits, strict=True)
        ),
        *(_overhead(plan.overhead, result) for result in results.overhead),
    )


def render(results: SimulateResults, conditions: Surroundings, plan: SimulatePlan) -> str:
    """The conditions, the tables and the verdicts, ready to print."""
    judged = verdicts(results, plan)
    return "\n".join(
        [
            f"device    cores: {conditions.cores}, load before: {conditions.load_before:.2f}",
            *software(conditions),
            "",
            *_chat_lines(plan.chat, results.chat),
            *_scenario_lines(plan.scenarios_on, results.scenarios),
            *(
                line
                for wait_plan, result in zip(plan.waits, results.waits, strict=True)
                for line in _wait_lines(wait_plan, result)
            ),
            *_overhead_lines(plan.overhead, results.overhead),
            *against_bars(judged, "run"),
        ]
    )


def to_json(
    results: SimulateResults, conditions: Surroundings, plan: SimulatePlan
) -> dict[str, Any]:
    """Everything found. Times in seconds, shares of one, verdicts in their units."""
    return {
        "schema": SCHEMA,
        "schema_version": SCHEMA_VERSION,
        "conditions": asdict(conditions),
        "plan": asdict(plan),
        "chat": [asdict(result) for result in results.chat],
        "scenarios": [asdict(result) for result in results.scenarios],
        "waits": [
            {"model": wait_plan.model.name, **_wait_json(result)}
            for wait_plan, result in zip(plan.waits, results.waits, strict=True)
        ],
        "overhead": [
            {
                "crowd": result.crowd.name.lower(),
                "mean_s": result.mean_s,
                "filling_s": result.filling_s,
                "seconds": result.seconds,
            }
            for result in results.overhead
        ],
        "verdicts": verdicts_json(verdicts(results, plan)),
    }


def _choice(plan: WaitPlan, worst: PairResult) -> Verdict:
    return Verdict(
        f"{plan.model.name}: chosen / better, at worst ({100 * worst.share:.0f} % the same, "
        f"{worst.stagger_s:g} s later)",
        plan.prompt_tokens,
        counted(worst.over_better),
        CHOICE_FACTOR,
    )


def _overhead(plan: OverheadPlan, result: OverheadResult) -> Verdict:
    return Verdict(
        f"schedule of a step, mean, {result.crowd.value}",
        plan.prompt_tokens,
        scaled(estimated_mean(result.seconds), 1000),
        OVERHEAD_MS,
        "ms",
    )


def _chat_lines(plan: ChatPlan, results: Sequence[ChatResult]) -> list[str]:
    chat = plan.chat
    rows = [
        (
            str(result.concurrency),
            f"{result.num_requests:,}",
            f"{100 * result.hit_rate:.1f}",
            ms(result.ttft_p50_s),
            ms(result.ttft_p99_s),
            f"{result.tokens_per_s:,.0f}",
            str(result.num_preemptions),
            f"{100 * result.running_share:.0f}",
            f"{100 * result.cached_share:.0f}",
        )
        for result in results
    ]
    return [
        f"Chat on {plan.model.name}, a pool of {plan.pool_tokens:,} tokens",
        *table(_CHAT_COLUMNS, rows),
        "",
        f"First prompts of {chat.prompt_tokens:,} tokens, {100 * chat.common_share:.0f} % of them "
        f"the same for all; {chat.conversations} conversations a client, of "
        f"{chat.turns.count} turns, each of",
        f"{chat.turns.question_tokens} tokens and {chat.turns.answer_tokens} of answer. "
        "As many run at once as there are clients. Times are virtual.",
        f"The share that is found falls most beyond {knee(results).concurrency} clients.",
        "",
    ]


def _scenario_lines(model: SimulatedModel, results: Sequence[ScenarioResult]) -> list[str]:
    rows = [
        (
            result.name,
            f"{result.num_requests:,}",
            f"{result.prompt_tokens:,}",
            f"{result.computed_tokens:,}",
            ms(result.mean_ttft_s),
            ms(result.slowest_ttft_s),
        )
        for result in results
    ]
    return [f"Workloads on {model.name}", *table(_SCENARIO_COLUMNS, rows), ""]


def _wait_lines(plan: WaitPlan, result: WaitResult) -> list[str]:
    pairs = [
        (
            f"{100 * pair.share:.0f}",
            f"{pair.stagger_s:g}",
            *(ms(pair.ttft_s[choice]) for choice in _CHOICES),
            f"{pair.over_better:.3f}",
        )
        for pair in result.pairs
    ]
    break_even = [
        (f"{stagger_s:g}", "never" if share is None else f"{100 * share:.0f}")
        for stagger_s, share in result.break_even.items()
    ]
    return [
        f"Wait or compute on {plan.model.name}: two prompts of {plan.prompt_tokens:,} tokens",
        *table(_PAIR_COLUMNS, pairs),
        "",
        *table(_BREAK_EVEN_COLUMNS, break_even),
        "",
    ]


_CHOICES = (WaitOrCompute.WAIT, WaitOrCompute.COMPUTE, WaitOrCompute.CHOOSE)


def _overhead_lines(plan: OverheadPlan, results: Sequence[OverheadResult]) -> list[str]:
    rows = [
        (
            result.crowd.value,
            f"{len(result.seconds):,}",
            f"{1000 * result.mean_s:.2f}",
            *(f"{1000 * result.quantile_s(share):.2f}" for share in (0.5, 0.99, 1.0)),
            f"{1000 * result.filling_s:.1f}",
        )
        for result in results
    ]
    return [
        f"The schedule's own time with {plan.running} running and {plan.waiting:,} waiting, real "
        "milliseconds",
        *table(_OVERHEAD_COLUMNS, rows),
        "",
        f"Prompts of {plan.prompt_tokens:,} tokens. filling: the slowest step while all came at "
        "once.",
        "",
    ]


def _wait_json(result: WaitResult) -> dict[str, Any]:
    return {
        "pairs": [
            {
                "share": pair.share,
                "stagger_s": pair.stagger_s,
                "ttft_s": {choice.value: pair.ttft_s[choice] for choice in WaitOrCompute},
                "over_better": pair.over_better,
                "waiting_wins": pair.waiting_wins,
            }
            for pair in result.pairs
        ],
        "break_even": [
            {"stagger_s": stagger_s, "share": share}
            for stagger_s, share in result.break_even.items()
        ],
    }
