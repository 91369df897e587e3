"""Who asks for what, and when."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from engine.request import Request


@dataclass(frozen=True, slots=True)
class Arrival:
    """A request that comes `at_s` seconds after it was made known, whatever the engine does
    (open loop)."""

    at_s: float
    request: Request


@dataclass(frozen=True, slots=True)
class Client:
    """Sends its first request after `starts_at_s` seconds, and each other `think_s` seconds after
    it heard the end of the one before (closed loop)."""

    requests: Iterator[Request]
    starts_at_s: float = 0.0
    think_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Workload:
    """Everybody who comes."""

    arrivals: tuple[Arrival, ...] = ()
    clients: tuple[Client, ...] = ()
