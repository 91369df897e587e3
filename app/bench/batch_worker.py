"""The process behind the measured half of `ondol bench batch`: it loads the model once, and serves
every mode with it.

Started with a model folder and a plan as JSON. The results are the sweeps.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

from app.bench import worker
from app.bench.batch import Point, Sweep, SweepPlan
from app.bench.batch_engine import BatchEngine
from app.bench.batch_traffic import Requests
from app.bench.errors import BenchError
from app.bench.memory import Peak
from app.bench.worker import Replies
from app.bench.worker_model import worker_model
from engine.config import AdmissionMode, EngineConfig
from engine.model.info import ModelInfo

NewEngine = Callable[[EngineConfig], BatchEngine]


def main(path: Path, plan: SweepPlan) -> int:
    """Returns the exit code."""
    return worker.run(lambda replies: _run(path, plan, replies))


def sweep(
    plan: SweepPlan,
    mode: AdmissionMode,
    vocabulary: int,
    new_engine: NewEngine,
    say: Callable[[str], None],
) -> Sweep:
    """One mode with every number of clients, in a cache that is warmed once. Raises BenchError."""
    # The memory decides how many run, not this cap.
    engine = new_engine(EngineConfig(admission=mode, max_running=2 * max(plan.clients)))
    requests = Requests(plan.traffic, range(vocabulary))
    engine.warm_up(requests.warm_up(), plan.warm_clients)
    points: list[Point] = []
    for clients in plan.clients:
        mixed = requests.mixed(plan.num_requests(clients))
        point = engine.serve(mixed, clients, plan.lead_in(clients))
        say(
            f"measured, {mode.value}, {clients} clients: {100 * point.hit_rate:.0f} % found, "
            f"first token {1000 * point.ttft_p50_s:,.0f} ms, {point.tokens_per_s:,.1f} tokens/s"
        )
        points.append(point)
    engine.clear()
    return Sweep(mode, tuple(points))


def _run(path: Path, plan: SweepPlan, replies: Replies) -> None:
    with worker_model(path, replies) as model:
        info = model.info
        _check(info)
        model.check_window(plan.traffic.longest_tokens)
        budget = plan.pool_tokens * info.bytes_per_token
        scheduled = model.scheduled(budget)
        sweeps = [
            sweep(
                plan,
                mode,
                info.vocab_size,
                lambda config: BatchEngine(scheduled, model.runner, model.codec, config),
                replies.say,
            )
            for mode in plan.modes
        ]
        peak = Peak.here("all modes", budget, info.weights_bytes)
    replies.results([each.to_json() for each in sweeps], peak)


def _check(info: ModelInfo) -> None:
    if not info.reuses or not info.cost.dense:
        raise BenchError(
            "This bench needs a model whose layers are all full attention and whose prefixes can "
            f"be reused; this one has {info.layers}. Choose another with --model."
        )


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), SweepPlan.from_json(json.loads(sys.argv[2]))))
