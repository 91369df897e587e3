"""What the engine's figures mean to whoever looks up at the menu bar. Plain functions."""

from __future__ import annotations

import datetime
import enum
from collections.abc import Iterable
from dataclasses import dataclass

from app.storage.aggregates import MinuteRow
from engine.snapshot import EngineState, PinState, Snapshot

_BROKEN = (EngineState.FAILED, EngineState.HUNG, EngineState.RESTARTING)
_NOT_YET = (EngineState.LOADING, EngineState.STOPPED, EngineState.STOPPING)


class TrayState(enum.Enum):
    """One shape of the icon each."""

    IDLE = "idle"
    WORKING = "working"
    WARMING = "warming"
    PAUSED = "paused"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Warming:
    """Prefixes that are being computed, and tokens done of all their tokens."""

    num_prefixes: int = 0
    done_tokens: int = 0
    num_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Today:
    """Since midnight: prompt tokens that were restored instead of computed, and requests that found
    any."""

    reused_tokens: int = 0
    hits: int = 0


def tray_state(snapshot: Snapshot) -> TrayState:
    if snapshot.state in _BROKEN:
        return TrayState.ERROR
    if snapshot.state in _NOT_YET:
        return TrayState.WARMING if snapshot.state is EngineState.LOADING else TrayState.IDLE
    if snapshot.paused:
        return TrayState.PAUSED
    if num_live(snapshot):
        return TrayState.WORKING
    return TrayState.WARMING if warming(snapshot).num_prefixes else TrayState.IDLE


def num_running(snapshot: Snapshot) -> int:
    """Requests that are being computed. Warming is no request."""
    return max(0, snapshot.num_running - _num_pins(snapshot, PinState.BUILDING))


def num_waiting(snapshot: Snapshot) -> int:
    """Requests that wait for their turn, or for the end of a pause."""
    return max(0, snapshot.num_waiting - _num_pins(snapshot, PinState.QUEUED))


def num_live(snapshot: Snapshot) -> int:
    """Requests that somebody waits for."""
    return num_running(snapshot) + num_waiting(snapshot)


def warming(snapshot: Snapshot) -> Warming:
    pins = [pin for pin in snapshot.pins if pin.state in (PinState.QUEUED, PinState.BUILDING)]
    return Warming(
        len(pins), sum(pin.done_tokens for pin in pins), sum(pin.num_tokens for pin in pins)
    )


def today(rows: Iterable[MinuteRow], now: datetime.datetime) -> Today:
    """The figures since midnight of `now`'s day and time zone, from rows of single minutes."""
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0).timestamp()
    since = [row for row in rows if row.started_at >= midnight]
    return Today(sum(row.cached_tokens for row in since), sum(row.hits for row in since))


def _num_pins(snapshot: Snapshot, state: PinState) -> int:
    return sum(pin.state is state for pin in snapshot.pins)
