"""The process behind the measured half of `ondol bench batch`: it loads the model once, and serves
every mode with it.

Started with a model folder and a plan as JSON. JSON lines on stdout: the facts, then {"say"} with a
line of progress at a time, then {"sweeps"} with what was measured; {"error"} with a message where
it cannot go on.
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

from app.bench.batch import Point, Sweep, SweepPlan
from app.bench.batch_engine import BatchEngine
from app.bench.batch_traffic import Requests
from app.bench.errors import BenchError
from engine.assembly import leave_thread
from engine.config import AdmissionMode, EngineConfig
from engine.errors import EngineError
from engine.model import device
from engine.model.info import AttentionMode, ModelInfo
from engine.prompt.codec import TextCodec
from engine.schedule.build import ScheduledModel

NewEngine = Callable[[EngineConfig], BatchEngine]


def main(path: Path, plan: SweepPlan) -> int:
    """Returns the exit code."""
    replies = _take_stdout()
    try:
        sweeps = _run(path, plan, lambda reply: _send(replies, reply))
        _send(replies, {"sweeps": [sweep.to_json() for sweep in sweeps]})
    except (BenchError, EngineError) as error:
        _send(replies, {"error": str(error)})
        return 1
    finally:
        gc.collect()  # modules of a model refer to each other, and no array may outlive its thread
        leave_thread()
    return 0


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


def _run(
    path: Path, plan: SweepPlan, send: Callable[[Mapping[str, object]], None]
) -> tuple[Sweep, ...]:
    device.prepare()
    from engine.model.loader import load
    from engine.model.runner import Runner

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
        budget = plan.pool_tokens * info.bytes_per_token
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
        return tuple(
            sweep(
                plan,
                mode,
                info.vocab_size,
                lambda config: BatchEngine(model, runner, codec, config),
                lambda line: send({"say": line}),
            )
            for mode in plan.modes
        )
    finally:
        runner.close()


def _check(info: ModelInfo, plan: SweepPlan) -> None:
    if not info.reuses or not info.cost.dense:
        raise BenchError(
            "This bench needs a model whose layers are all full attention and whose prefixes can "
            f"be reused; this one has {info.layers}. Choose another with --model."
        )
    longest = plan.traffic.longest_tokens
    if longest > info.context_window:
        raise BenchError(
            f"Prompts and answers of {longest:,} tokens do not fit this model's context window of "
            f"{info.context_window:,}."
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
    sys.exit(main(Path(sys.argv[1]), SweepPlan.from_json(json.loads(sys.argv[2]))))
