"""The door to the engine: there from the start, while the engine behind it comes, goes or is
replaced."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from app.ports import EnginePort
from engine.errors import EngineUnavailable, UnknownPin, UnknownRequest
from engine.request import Prompt, Request, RequestRecord
from engine.snapshot import EngineState, Health, Snapshot

if TYPE_CHECKING:
    from engine.model.info import ModelInfo
    from engine.pins import PinSpec
    from engine.prompt.chat import Message


class EngineDoor:
    """Satisfies EnginePort. While nobody is behind it, it says why, and refuses what needs a model.

    `put` and `take` are for the composition root alone; everything else may be called by anyone.
    """

    def __init__(self) -> None:
        self._engine: EnginePort | None = None
        self._alone = Health(EngineState.LOADING, "Ondol is starting.")
        self._paused = False
        self._left_records: list[RequestRecord] = []
        self._changed = threading.Condition()

    @property
    def engine(self) -> EnginePort | None:
        """Who is behind the door."""
        return self._engine

    def put(self, engine: EnginePort) -> None:
        """From now on this engine answers. It is paused if the one before was."""
        with self._changed:
            if self._paused:
                engine.pause()
            self._engine = engine
            self._changed.notify_all()

    def take(self, why: Health) -> None:
        """From now on nobody answers, for this reason. What the engine has recorded stays."""
        with self._changed:
            if self._engine is not None:
                self._left_records += self._engine.drain_records()
            self._engine, self._alone = None, why
            self._changed.notify_all()

    # EnginePort

    @property
    def health(self) -> Health:
        engine = self._engine
        return engine.health if engine else self._alone

    @property
    def snapshot(self) -> Snapshot:
        engine = self._engine
        if engine is not None:
            return engine.snapshot
        return Snapshot(state=self._alone.state, reason=self._alone.reason, paused=self._paused)

    @property
    def model(self) -> ModelInfo | None:
        engine = self._engine
        return engine.model if engine else None

    def start(self) -> None:
        self._present().start()

    def stop(self, timeout_s: float = 30.0) -> bool:
        engine = self._engine
        return engine.stop(timeout_s) if engine else True

    def wait_until_ready(self, timeout_s: float) -> Health:
        with self._changed:
            self._changed.wait_for(
                lambda: self._engine or self._alone.state is not EngineState.LOADING, timeout_s
            )
        engine = self._engine
        return engine.wait_until_ready(timeout_s) if engine else self._alone

    def format(
        self,
        messages: Sequence[Message],
        tools: Sequence[Mapping[str, object]] | None = None,
        template_kwargs: Mapping[str, object] | None = None,
    ) -> Prompt:
        return self._present().format(messages, tools, template_kwargs)

    def submit(self, request: Request) -> None:
        self._present().submit(request)

    def cancel(self, request_id: str) -> None:
        engine = self._engine
        if engine is None:
            raise UnknownRequest(f"No request with id {request_id} is live.")
        engine.cancel(request_id)

    def prefix(self, spec: PinSpec) -> Prompt:
        return self._present().prefix(spec)

    def pause(self) -> None:
        self._set_paused(True)

    def resume(self) -> None:
        self._set_paused(False)

    @property
    def pins(self) -> Mapping[str, PinSpec]:
        engine = self._engine
        return engine.pins if engine else {}

    def pin(self, spec: PinSpec) -> None:
        self._present().pin(spec)

    def warm(self, spec: PinSpec) -> None:
        self._present().warm(spec)

    def unpin(self, name: str) -> None:
        engine = self._engine
        if engine is None:
            raise UnknownPin(f"No pin is called {name}.")
        engine.unpin(name)

    def switch_model(self, model: Path, model_id: str) -> None:
        self._present().switch_model(model, model_id)

    def drain_records(self) -> list[RequestRecord]:
        with self._changed:
            left, self._left_records = self._left_records, []
            return left + (self._engine.drain_records() if self._engine else [])

    def _present(self) -> EnginePort:
        engine = self._engine
        if engine is None:
            raise EngineUnavailable(self._alone.reason)
        return engine

    def _set_paused(self, paused: bool) -> None:
        with self._changed:
            self._paused = paused
            if self._engine is not None:
                (self._engine.pause if paused else self._engine.resume)()
