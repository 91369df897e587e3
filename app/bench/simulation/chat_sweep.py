"""How many clients a chat service can have at a time before their cache falls apart (S3-6)."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from app.bench.simulation.engine import SimulatedEngine
from app.bench.simulation.model import SimulatedModel
from app.bench.simulation.outcome import Simulation
from app.bench.simulation.workloads import Chat, chat
from engine.config import EngineConfig


@dataclass(frozen=True, slots=True)
class ChatPlan:
    """Chats to simulate: with so many clients each, in a pool of `pool_tokens`."""

    model: SimulatedModel
    chat: Chat
    concurrency: tuple[int, ...]
    pool_tokens: int
    seed: int = 1


@dataclass(frozen=True, slots=True)
class ChatResult:
    """One number of clients. Times in virtual seconds."""

    concurrency: int
    num_requests: int
    hit_rate: float
    ttft_p50_s: float
    ttft_p99_s: float
    tokens_per_s: float
    num_preemptions: int
    running_share: float
    cached_share: float


def sweep(
    plan: ChatPlan, config: EngineConfig, say: Callable[[str], None]
) -> tuple[ChatResult, ...]:
    """Every number of clients with an empty cache; as many run at once as there are. Raises
    BenchError."""
    return tuple(_with_clients(plan, config, clients, say) for clients in plan.concurrency)


def knee(results: Sequence[ChatResult]) -> ChatResult:
    """The last number of clients before the largest fall of the hit rate. Raises ValueError for
    fewer than two."""
    falls = [
        (result.hit_rate - more.hit_rate, result) for result, more in itertools.pairwise(results)
    ]
    return max(falls, key=lambda fall: fall[0])[1]


def _with_clients(
    plan: ChatPlan, config: EngineConfig, clients: int, say: Callable[[str], None]
) -> ChatResult:
    config = replace(
        config,
        max_running=clients,
        kv_budget_bytes=plan.pool_tokens * plan.model.bytes_per_token,
    )
    engine = SimulatedEngine(plan.model, config)
    simulated = engine.run(chat(plan.chat, clients, plan.seed)).checked()
    result = _result(clients, simulated)
    say(
        f"chat, {clients} at a time: {100 * result.hit_rate:.0f} % found, "
        f"first token {1000 * result.ttft_p50_s:,.0f} ms"
    )
    return result


def _result(clients: int, simulated: Simulation) -> ChatResult:
    return ChatResult(
        concurrency=clients,
        num_requests=len(simulated.outcomes),
        hit_rate=simulated.hit_rate,
        ttft_p50_s=simulated.ttft_quantile_s(0.5),
        ttft_p99_s=simulated.ttft_quantile_s(0.99),
        tokens_per_s=simulated.tokens_per_s,
        num_preemptions=simulated.totals.preemptions,
        running_share=simulated.running_share,
        cached_share=simulated.cached_share,
    )
