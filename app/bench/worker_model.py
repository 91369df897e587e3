"""A loaded model that a worker serves with schedules of its own."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from app.bench.errors import BenchError
from app.bench.worker import Replies
from engine.cache.identity import ModelIdentity
from engine.model import device
from engine.model.info import AttentionMode, ModelInfo
from engine.prompt.codec import TextCodec
from engine.schedule.build import ScheduledModel

if TYPE_CHECKING:
    from engine.model.runner import Runner


@dataclass(frozen=True, slots=True)
class WorkerModel:
    """What every engine of a worker has in common."""

    identity: ModelIdentity
    info: ModelInfo
    runner: Runner
    codec: TextCodec

    def check_window(self, longest_tokens: int) -> None:
        """Raises BenchError where so long a prompt with its answer does not fit."""
        window = self.info.context_window
        if longest_tokens > window:
            raise BenchError(
                f"Prompts and answers of {longest_tokens:,} tokens do not fit this model's "
                f"context window of {window:,}."
            )

    def scheduled(self, budget: int) -> ScheduledModel:
        """With so many bytes of KV, which become the machine's limit."""
        device.apply_limits(budget, self.info.weights_bytes)
        return ScheduledModel(
            self.identity,
            self.runner.new_storage,
            self.info.cost,
            budget=budget,
            prefill_chunk=device.default_prefill_chunk(),
            step_target_s=device.default_step_target_s(),
            batches_rests=self.info.attention is AttentionMode.SHARED,
        )


@contextlib.contextmanager
def worker_model(path: Path, replies: Replies) -> Iterator[WorkerModel]:
    """Loads the model, tells the facts, and frees it with the block. Raises EngineError."""
    device.prepare()
    from engine.model.loader import load
    from engine.model.runner import Runner

    loaded = load(path)
    runner = Runner(loaded, path.name, created=0, prefill_chunk=device.default_prefill_chunk())
    try:
        info = runner.info
        replies.facts(info.dtype, info.context_window)
        yield WorkerModel(loaded.identity, info, runner, TextCodec(loaded.tokenizer))
    finally:
        runner.close()
