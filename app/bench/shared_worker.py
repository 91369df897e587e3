"""The process behind `ondol bench shared`: it loads the model once, and measures both
sides on it.

Started with a model folder and a plan as JSON.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path

from app.bench import worker
from app.bench.errors import BenchError
from app.bench.memory import Peak
from app.bench.shared import MOST_ROWS, Plan
from app.bench.worker import Replies
from engine.assembly import assemble
from engine.config import EngineConfig
from engine.model import device, machine
from engine.model.info import AttentionMode, ModelInfo

_STEP_TARGET_S = 60.0


def main(path: Path, plan: Plan) -> int:
    """Returns the exit code."""
    return worker.run(lambda replies: _run(path, plan, replies))


def _run(path: Path, plan: Plan, replies: Replies) -> None:
    # Both sides must have the same BLAS, and MLX finds it only if it is loaded first.
    device.prepare()
    from app.bench.shared_bench import Machine, SharedBench
    from app.bench.shared_rows import SharedRows
    from engine.model.plain_batch import ROOM_TOKENS, PlainBatch, allocated_bytes
    from engine.model.runner import Runner

    budget = machine.total_memory_bytes() // 2
    config = EngineConfig(
        kv_budget_bytes=budget,
        max_running=MOST_ROWS,
        # Nobody waits for a step here: a suffix is computed in as few of them as it can be.
        step_target_s=_STEP_TARGET_S,
    )
    assembly = assemble(path, path.name, config)
    info = assembly.info
    replies.facts(info.dtype, info.context_window)
    _check(info, plan)
    sharing = SharedRows(assembly, plan.answer_tokens)
    runner = assembly.parts.runner
    assert isinstance(runner, Runner)
    copies = PlainBatch(runner.model, device.default_prefill_chunk(), plan.answer_tokens)
    try:
        results = SharedBench(
            sharing,
            copies,
            Machine(
                allocated_bytes,
                machine.total_memory_bytes(),
                info.bytes_per_token,
                ROOM_TOKENS,
                info.vocab_size,
            ),
            replies.say,
        ).run(plan)
        peak = Peak.here("both sides", budget, info.weights_bytes)
    finally:
        assembly.close()
    replies.results(asdict(results), peak)


def _check(info: ModelInfo, plan: Plan) -> None:
    if info.attention is not AttentionMode.SHARED or not info.cost.dense:
        reason = f" ({info.attention_reason})" if info.attention_reason else ""
        raise BenchError(
            "This bench needs a model whose layers are all full attention and whose rows can share "
            f"their parts; this one has {info.layers}{reason}. Choose another with --model."
        )
    if plan.longest_tokens > info.context_window:
        raise BenchError(
            f"Rows of {plan.longest_tokens:,} tokens do not fit this model's context window of "
            f"{info.context_window:,}: choose shorter prefixes."
        )


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Plan.from_json(json.loads(sys.argv[2]))))
