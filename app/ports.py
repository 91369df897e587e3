"""What the house needs from an engine. The product's is `engine.engine.Engine`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from engine.request import Prompt, Request, RequestRecord
from engine.snapshot import Health, Snapshot

if TYPE_CHECKING:
    from engine.model.info import ModelInfo
    from engine.pins import PinSpec
    from engine.prompt.chat import Message


class EnginePort(Protocol):
    """Every method may be called from any thread; events come back through `deliver`."""

    @property
    def health(self) -> Health: ...

    @property
    def snapshot(self) -> Snapshot: ...

    @property
    def model(self) -> ModelInfo | None:
        """None until the model is loaded."""

    def start(self) -> None:
        """Returns at once; the model is loaded on the engine's own thread."""

    def stop(self, timeout_s: float = 30.0) -> bool:
        """Cancel, drain, free, join. False where the engine thread did not end in time."""

    def wait_until_ready(self, timeout_s: float) -> Health: ...

    def format(
        self,
        messages: Sequence[Message],
        tools: Sequence[Mapping[str, object]] | None = None,
        template_kwargs: Mapping[str, object] | None = None,
    ) -> Prompt:
        """Takes milliseconds. Raises TemplateError, EngineUnavailable."""

    def submit(self, request: Request) -> None:
        """Raises EngineUnavailable, QueueFull, PromptTooLong, EmptyPrompt, DuplicateRequest."""

    def cancel(self, request_id: str) -> None:
        """The request ends with Finished(ABORT). Raises UnknownRequest."""

    def prefix(self, spec: PinSpec) -> Prompt:
        """Takes milliseconds. Raises TemplateError, EngineUnavailable."""

    def pause(self) -> None:
        """Running requests finish, new ones wait."""

    def resume(self) -> None: ...

    @property
    def pins(self) -> Mapping[str, PinSpec]: ...

    def pin(self, spec: PinSpec) -> None:
        """Raises PinRefused, TemplateError, EngineUnavailable."""

    def warm(self, spec: PinSpec) -> None:
        """Compute without keeping. Raises as `pin`."""

    def unpin(self, name: str) -> None: ...

    def switch_model(self, model: Path, model_id: str) -> None:
        """Serve another model; requests in the old one end with an error."""

    def drain_records(self) -> list[RequestRecord]: ...
