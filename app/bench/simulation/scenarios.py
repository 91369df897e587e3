"""The workloads that requirements name one by one, each with the engine's own settings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from app.bench.simulation.arrivals import Workload
from app.bench.simulation.engine import SimulatedEngine
from app.bench.simulation.model import SimulatedModel
from app.bench.simulation.workloads import (
    CONVERSATION,
    Turns,
    burst,
    cyclic,
    document,
    sweep_beside_conversation,
)
from engine.config import EngineConfig


@dataclass(frozen=True, slots=True)
class Scenario:
    """A workload, made anew for each run, in the model's own pool or one of `pool_tokens`. What is
    told is told of the requests whose ids begin with `counted`."""

    name: str
    make: Callable[[], Workload]
    pool_tokens: int | None = None
    counted: str = ""


@dataclass(frozen=True, slots=True)
class ScenarioResult:
    """Sums and times of the requests that count, in tokens and virtual seconds."""

    name: str
    num_requests: int
    prompt_tokens: int
    computed_tokens: int
    mean_ttft_s: float
    slowest_ttft_s: float


SCENARIOS = (
    Scenario("8 identical prompts", lambda: burst(8, 532, 128)),
    Scenario("8 distinct prompts", lambda: burst(8, 532, 128, distinct=True)),
    Scenario("8 questions on one document", lambda: document(8, 1_000, 20, 32)),
    Scenario("8 prompts in turn, twice", cyclic, pool_tokens=5_456),  # S0-15
    Scenario(
        "a conversation beside a sweep",
        lambda: sweep_beside_conversation(
            Turns(6, 40, 60), opening_tokens=1_000, num_swept=60, swept_tokens=300, think_s=20.0
        ),
        pool_tokens=8_000,
        counted=CONVERSATION,
    ),
)


def play(scenario: Scenario, model: SimulatedModel, config: EngineConfig) -> ScenarioResult:
    """One scenario with an empty cache. Raises BenchError."""
    if scenario.pool_tokens is not None:
        config = replace(config, kv_budget_bytes=scenario.pool_tokens * model.bytes_per_token)
    simulated = SimulatedEngine(model, config).run(scenario.make()).checked()
    counted = [
        outcome for outcome in simulated.outcomes if outcome.request_id.startswith(scenario.counted)
    ]
    ttft_s = [outcome.ttft_s for outcome in counted]
    return ScenarioResult(
        name=scenario.name,
        num_requests=len(counted),
        prompt_tokens=sum(outcome.usage.prompt_tokens for outcome in counted),
        computed_tokens=sum(outcome.usage.computed_tokens for outcome in counted),
        mean_ttft_s=sum(ttft_s) / len(ttft_s),
        slowest_ttft_s=max(ttft_s),
    )
