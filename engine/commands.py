"""What other threads tell the engine thread: frozen data through one queue."""

from __future__ import annotations

from dataclasses import dataclass

from engine.request import Request


@dataclass(frozen=True, slots=True)
class Submit:
    """A new request. `max_tokens` is what the context window and the budget leave of the request's
    own."""

    request: Request
    max_tokens: int
    submitted_at: float


@dataclass(frozen=True, slots=True)
class Cancel:
    """End a request now. One that has ended meanwhile is no error here: the two may cross."""

    request_id: str


@dataclass(frozen=True, slots=True)
class WarmPin:
    """Compute these tokens in the background, and unless `keep` is false hold them."""

    name: str
    tokens: tuple[int, ...]
    keep: bool = True


@dataclass(frozen=True, slots=True)
class DropPin:
    """Let a pin's tokens go."""

    name: str


@dataclass(frozen=True, slots=True)
class Pause:
    """Start no further request, or (`on` false) start them again. Running ones finish."""

    on: bool


@dataclass(frozen=True, slots=True)
class Pressure:
    """The machine is short of memory, or (`on` false) no longer."""

    on: bool


@dataclass(frozen=True, slots=True)
class Stop:
    """Cancel everything and end the thread."""


Command = Submit | Cancel | WarmPin | DropPin | Pause | Pressure | Stop
