"""The churn of `ondol bench churn` in the engine, with a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from app.bench.churn import Cycle, Plan, Side
from app.bench.errors import BenchError
from app.bench.local_engine import LocalEngine, local_engine
from app.bench.memory import Peak
from engine.config import EngineConfig, Eviction
from engine.model.info import ModelInfo


def on_engine(
    plan: Plan, model: Path, variables: Mapping[str, str], say: Callable[[str], None]
) -> tuple[ModelInfo, tuple[Side, ...], Peak]:
    """Every policy in an engine of its own whose KV budget is the plan's pool, and what the process
    took of memory. Raises BenchError, EngineError."""
    with local_engine(model, variables) as engine:
        info = engine.model
    if plan.prompt_tokens >= info.context_window:
        raise BenchError(
            f"Prompts of {plan.prompt_tokens:,} tokens do not fit this model's context window of "
            f"{info.context_window:,}."
        )
    budget = plan.pool_tokens * info.cost.bytes_per_token
    sides = []
    for eviction in Eviction:
        config = EngineConfig(kv_budget_bytes=budget, eviction=eviction)
        with local_engine(model, variables, config) as engine:
            sides.append(Side(eviction, _cycles(plan, engine, info.vocab_size)))
        for number, cycle in enumerate(sides[-1].cycles, 1):
            say(f"{eviction.value}, cycle {number}: {cycle.restored_tokens:,} tokens restored")
    return info, tuple(sides), Peak.here("the engine's process", budget, info.weights_bytes)


def _cycles(plan: Plan, engine: LocalEngine, vocabulary: int) -> tuple[Cycle, ...]:
    prompts = plan.tokens(vocabulary)
    cycles = []
    for _ in range(plan.cycles):
        replies = [engine.ask(tokens, salt="") for tokens in prompts]
        cycles.append(
            Cycle(
                sum(reply.cached_tokens for reply in replies),
                tuple(reply.ttft_s for reply in replies),
            )
        )
    return tuple(cycles)
