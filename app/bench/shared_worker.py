"""The process behind `ondol bench shared`: it loads the model for each side, and measures both.

Started with a model folder and a plan as JSON. JSON lines on stdout: the facts, then {"say"} with a
line of progress at a time, then {"results"}; {"error"} with a message where it cannot go on.
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
from app.bench.shared import MOST_ROWS, Plan, SharedResults
from engine.assembly import assemble, leave_thread
from engine.config import EngineConfig
from engine.errors import EngineError
from engine.model import device, machine
from engine.model.info import AttentionMode, ModelInfo

_STEP_TARGET_S = 60.0


def main(path: Path, plan: Plan) -> int:
    """Returns the exit code."""
    replies = _take_stdout()
    try:
        results = _run(path, plan, lambda reply: _send(replies, reply))
        _send(replies, {"results": asdict(results)})
    except (BenchError, EngineError) as error:
        _send(replies, {"error": str(error)})
        return 1
    finally:
        gc.collect()  # modules of a model refer to each other, and no array may outlive its thread
        leave_thread()
    return 0


def _run(path: Path, plan: Plan, send: Callable[[Mapping[str, object]], None]) -> SharedResults:
    # Both sides must have the same BLAS, and MLX finds it only if it is loaded first.
    device.prepare()
    from app.bench.shared_bench import Machine, SharedBench
    from app.bench.shared_rows import SharedRows
    from engine.model.loader import load
    from engine.model.plain_batch import ROOM_TOKENS, PlainBatch, allocated_bytes

    budget = machine.total_memory_bytes() // 2
    config = EngineConfig(
        kv_budget_bytes=budget,
        max_running=MOST_ROWS,
        # Nobody waits for a step here: a suffix is computed in as few of them as it can be.
        step_target_s=_STEP_TARGET_S,
    )
    assembly = assemble(path, path.name, config)
    info = assembly.info
    chunk = device.default_prefill_chunk()
    send(
        {
            "device": asdict(device.describe()),
            "prefill_chunk": chunk,
            "context_window": info.context_window,
            "dtype": info.dtype,
        }
    )
    _check(info, plan)
    device.apply_limits(budget, 2 * info.weights_bytes)  # the model is here twice
    sharing = SharedRows(assembly, plan.answer_tokens)
    copies = PlainBatch(load(path).model, chunk, plan.answer_tokens)
    try:
        return SharedBench(
            sharing,
            copies,
            Machine(
                allocated_bytes,
                machine.total_memory_bytes(),
                info.bytes_per_token,
                ROOM_TOKENS,
                info.vocab_size,
            ),
            lambda line: send({"say": line}),
        ).run(plan)
    finally:
        assembly.close()


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
