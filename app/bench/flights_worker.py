"""The process behind `ondol bench flights`: it loads the model once, and serves every side with it.

Started with a model folder and a plan as JSON. The results are the cases.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from app.bench import worker
from app.bench.errors import BenchError
from app.bench.flights import POLICIES, Plan
from app.bench.flights_bench import FlightsBench
from app.bench.flights_engine import FlightsEngine
from app.bench.memory import Peak
from app.bench.worker import Replies
from app.bench.worker_model import worker_model
from engine.model import device


def main(path: Path, plan: Plan) -> int:
    """Returns the exit code."""
    return worker.run(lambda replies: _run(path, plan, replies))


def _run(path: Path, plan: Plan, replies: Replies) -> None:
    with worker_model(path, replies) as model:
        info = model.info
        if not info.reuses:
            raise BenchError(f"This model's prefixes cannot be reused: {info.attention_reason}.")
        model.check_window(plan.longest_tokens)
        budget = device.default_kv_budget(info.weights_bytes)
        scheduled = model.scheduled(budget)
        engines = {
            side: FlightsEngine(scheduled, model.runner, model.codec, policy)
            for side, policy in POLICIES.items()
        }
        cases = FlightsBench(engines, info.vocab_size, replies.say).run(plan)
        peak = Peak.here("all policies", budget, info.weights_bytes)
    replies.results([case.to_json() for case in cases], peak)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Plan.from_json(json.loads(sys.argv[2]))))
