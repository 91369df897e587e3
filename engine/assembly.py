"""Puts a loaded model and its rooms together, on the engine thread."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from engine.config import EngineConfig
from engine.loop import LoopParts
from engine.prompt.codec import TextCodec
from engine.schedule.build import ScheduledModel, build_rooms

if TYPE_CHECKING:
    from engine.model.info import ModelInfo


@dataclass(frozen=True, slots=True)
class Assembly:
    """A model ready to serve. `close` frees it, on the thread that made it."""

    info: ModelInfo
    parts: LoopParts
    chat_template: str | None
    special_tokens: Mapping[str, str]
    close: Callable[[], None]


def leave_thread() -> None:
    """Make a thread that may have used MLX fit to end; else the interpreter aborts at exit. Drop
    all arrays first."""
    if mx := sys.modules.get("mlx.core"):
        from engine.model import device

        mx.synchronize()
        device.free_unused()
        mx.clear_streams()


Assembler = Callable[[Path, str, EngineConfig], Assembly]


def assemble(path: Path, model_id: str, config: EngineConfig) -> Assembly:
    """Load a model folder and build its cache, admission and scheduler from the settings and the
    machine.

    Imports MLX, which takes seconds. Raises ModelError.
    """
    from engine.model import device

    device.prepare()
    from engine.model.info import AttentionMode
    from engine.model.loader import load
    from engine.model.runner import Runner

    loaded = load(path)
    prefill_chunk = config.prefill_chunk or device.default_prefill_chunk()
    runner = Runner(
        loaded,
        model_id,
        created=int((path / "config.json").stat().st_mtime),
        prefill_chunk=prefill_chunk,
    )
    budget = config.kv_budget_bytes or device.default_kv_budget(loaded.weights_bytes)
    device.apply_limits(budget, loaded.weights_bytes)
    device.free_unused()  # what loading took beside the weights
    rooms = build_rooms(
        ScheduledModel(
            loaded.identity,
            runner.new_storage,
            runner.info.cost,
            budget=budget,
            prefill_chunk=prefill_chunk,
            step_target_s=config.step_target_s or device.default_step_target_s(),
            reuses=runner.info.reuses,
            batches_rests=runner.info.attention is AttentionMode.SHARED,
        ),
        config,
    )
    codec = TextCodec(loaded.tokenizer)
    return Assembly(
        info=runner.info,
        parts=LoopParts(
            runner,
            rooms.cache,
            rooms.admission,
            rooms.scheduler,
            codec,
            loaded.eos_ids,
            model_id,
        ),
        chat_template=loaded.chat_template,
        special_tokens=loaded.special_tokens,
        close=runner.close,
    )
