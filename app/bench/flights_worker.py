"""The process behind `ondol bench flights`: it loads the model once, and serves every side with it.

Started with a model folder and a plan as JSON. JSON lines on stdout: the facts, then {"say"} with a
line of progress at a time, then {"cases"} with what was measured; {"error"} with a message where it
cannot go on.
"""

from __future__ import annotations

import gc
import json
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TextIO

from app.bench.errors import BenchError
from app.bench.flights import POLICIES, CaseResult, Plan
from engine.assembly import leave_thread
from engine.errors import EngineError
from engine.model import device
from engine.model.info import AttentionMode, ModelInfo


def main(path: Path, plan: Plan) -> int:
    """Returns the exit code."""
    replies = _take_stdout()
    try:
        cases = _run(path, plan, lambda reply: _send(replies, reply))
        _send(replies, {"cases": [case.to_json() for case in cases]})
    except (BenchError, EngineError) as error:
        _send(replies, {"error": str(error)})
        return 1
    finally:
        gc.collect()  # modules of a model refer to each other, and no array may outlive its thread
        leave_thread()
    return 0


def _run(
    path: Path, plan: Plan, send: Callable[[Mapping[str, object]], None]
) -> tuple[CaseResult, ...]:
    device.prepare()
    from app.bench.flights_bench import FlightsBench
    from app.bench.flights_engine import FlightsEngine
    from engine.model.loader import load
    from engine.model.runner import Runner
    from engine.prompt.codec import TextCodec
    from engine.schedule.build import ScheduledModel

    loaded = load(path)
    chunk = device.default_prefill_chunk()
    runner = Runner(loaded, path.name, created=0, prefill_chunk=chunk)
    try:
        info = runner.info
        send(
            {
                "device": asdict(device.describe()),
                "prefill_chunk": chunk,
                "context_window": info.context_window,
                "dtype": info.dtype,
            }
        )
        _check(info, plan)
        budget = device.default_kv_budget(info.weights_bytes)
        device.apply_limits(budget, info.weights_bytes)
        model = ScheduledModel(
            loaded.identity,
            runner.new_storage,
            info.cost,
            budget=budget,
            prefill_chunk=chunk,
            step_target_s=device.default_step_target_s(),
            batches_rests=info.attention is AttentionMode.SHARED,
        )
        codec = TextCodec(loaded.tokenizer)
        engines = {
            side: FlightsEngine(model, runner, codec, policy) for side, policy in POLICIES.items()
        }
        bench = FlightsBench(engines, info.vocab_size, lambda line: send({"say": line}))
        return bench.run(plan)
    finally:
        runner.close()


def _check(info: ModelInfo, plan: Plan) -> None:
    if not info.reuses:
        raise BenchError(f"This model's prefixes cannot be reused: {info.attention_reason}.")
    if plan.longest_tokens > info.context_window:
        raise BenchError(
            f"Prompts and answers of {plan.longest_tokens:,} tokens do not fit this model's "
            f"context window of {info.context_window:,}."
        )


def _take_stdout() -> TextIO:
    """Keep stdout for replies alone: what a library prints goes to stderr."""
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return replies


def _send(replies: TextIO, reply: Mapping[str, object]) -> None:
    replies.write(json.dumps(reply) + "\n")
    replies.flush()


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Plan.from_json(json.loads(sys.argv[2]))))
