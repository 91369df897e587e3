"""The sweep of `ondol bench batch` in the simulator."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

from app.bench.batch import (
    ChunkResult,
    Point,
    SimulatedPlan,
    SimulatedResults,
    Sweep,
    SweepPlan,
)
from app.bench.batch_traffic import Requests
from app.bench.batch_watch import WatchedScheduler
from app.bench.simulation.arrivals import Client, Workload
from app.bench.simulation.engine import SimulatedEngine
from app.bench.simulation.model import SimulatedModel
from app.bench.simulation.workloads import WORDS
from engine.config import AdmissionMode, EngineConfig

_START_WITHIN_S = 10.0  # so that the clients' answers do not all end at once
_WHOLE_STEP_S = 3600.0  # no chunk is cut to what a step should take


def simulate(plan: SimulatedPlan, say: Callable[[str], None]) -> SimulatedResults:
    """Every mode with every number of clients, and prompts in chunks and whole. Raises
    BenchError."""
    sweeps = tuple(_sweep(plan, mode, say) for mode in plan.sweep.modes)
    redrawn = tuple(_redrawn(plan, seed, say) for seed in plan.seeds[1:])
    chunks = tuple(_chunked(plan, chunk, say) for chunk in (*plan.chunked.chunks, None))
    distinct = replace(plan.few, traffic=replace(plan.few.traffic, one_off_share=1.0))
    few, few_distinct = (
        point(plan.model, each, each.clients[0], EngineConfig(), plan.seeds[0])
        for each in (plan.few, distinct)
    )
    return SimulatedResults(sweeps, chunks, few, few_distinct, redrawn)


def _sweep(plan: SimulatedPlan, mode: AdmissionMode, say: Callable[[str], None]) -> Sweep:
    points = []
    for clients in plan.sweep.clients:
        config = EngineConfig(admission=mode)
        found = point(plan.model, plan.sweep, clients, config, plan.seeds[0])
        say(
            f"simulated, {mode.value}, {clients} clients: {100 * found.hit_rate:.0f} % found, "
            f"first token {1000 * found.ttft_p50_s:,.0f} ms, {found.tokens_per_s:,.0f} tokens/s"
        )
        points.append(found)
    return Sweep(mode, tuple(points))


def _redrawn(plan: SimulatedPlan, seed: int, say: Callable[[str], None]) -> Sweep:
    """Across the knee, with other requests."""
    mode, knee = AdmissionMode.MAX_THROUGHPUT, plan.knee
    config = EngineConfig(admission=mode)
    points = tuple(
        point(plan.model, plan.sweep, clients, config, seed)
        for clients in (knee.before, knee.after)
    )
    found = Sweep(mode, points)
    say(f"simulated, {mode.value}, seed {seed}: {found.fall(knee):.1f} points lost at the knee")
    return found


def _chunked(plan: SimulatedPlan, chunk: int | None, say: Callable[[str], None]) -> ChunkResult:
    chunked = plan.chunked
    config = EngineConfig(
        admission=AdmissionMode.MAX_THROUGHPUT,
        prefill_chunk=chunk or chunked.traffic.longest_tokens,
        step_target_s=_WHOLE_STEP_S,
    )
    found = point(plan.model, chunked.to_sweep(), chunked.clients, config, plan.seeds[0])
    say(
        f"simulated, prompts {f'in chunks of {chunk}' if chunk else 'whole'}: "
        f"99 % of the gaps within {1000 * found.gap_p99_s:,.0f} ms"
    )
    return ChunkResult(chunk, found)


def point(
    model: SimulatedModel, plan: SweepPlan, clients: int, config: EngineConfig, seed: int
) -> Point:
    """A number of clients in a closed loop, once every assistant is warm. Raises BenchError."""
    config = replace(
        config,
        kv_budget_bytes=plan.pool_tokens * model.bytes_per_token,
        max_running=2 * max(plan.clients),  # the memory decides, not this cap
    )
    engine = SimulatedEngine(model, config, scheduler_class=WatchedScheduler)
    watched = engine.scheduler
    assert isinstance(watched, WatchedScheduler)
    requests = Requests(plan.traffic, WORDS, seed)
    warm_up = requests.warm_up()
    warm = engine.run(Workload(clients=(Client(warm_up),) * plan.warm_clients))
    watched.start_over(plan.lead_in(clients))
    mixed = requests.mixed(plan.num_requests(clients))
    starts = random.Random(clients)
    served = engine.run(
        Workload(
            clients=tuple(
                Client(mixed, starts.uniform(0.0, _START_WITHIN_S)) for _ in range(clients)
            )
        )
    ).checked()
    return watched.point(clients, served.totals.evicted_pages - warm.totals.evicted_pages)
