"""What the engine lets others see: plain frozen data, replaced as a whole, read without locks."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from engine.config import AdmissionMode


class EngineState(enum.Enum):
    """Where the engine stands. READY and BUSY serve; every other state answers 503."""

    STOPPED = "stopped"
    LOADING = "loading"
    READY = "ready"
    BUSY = "busy"
    HUNG = "hung"
    RESTARTING = "restarting"
    FAILED = "failed"
    STOPPING = "stopping"


@dataclass(frozen=True, slots=True)
class Health:
    """Whether requests are served now. `reason` is empty when they are."""

    state: EngineState
    reason: str = ""

    @property
    def ok(self) -> bool:
        return self.state in (EngineState.READY, EngineState.BUSY)


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes of KV. `running` are open tails, `resident` sealed parts; of those, `pinned` are held
    by pins and `checkpoints` are windows and recurrent states."""

    budget: int = 0
    running: int = 0
    resident: int = 0
    pinned: int = 0
    checkpoints: int = 0
    reserved: int = 0

    @property
    def used(self) -> int:
        return self.running + self.resident

    @property
    def free(self) -> int:
        return self.budget - self.used


@dataclass(frozen=True, slots=True)
class Capacity:
    """B_max and what it is made of. `reserve_bytes` stay for the `hot_bytes` that nobody holds;
    `mean_tokens` is what a request needs for itself. `capped`: it is the most that may run, and
    the memory has room for more, or what requests need is not known yet."""

    mode: AdmissionMode = AdmissionMode.PROTECT_CACHE
    max_running: int = 0
    mean_tokens: float = 0.0
    hot_bytes: int = 0
    reserve_bytes: int = 0
    capped: bool = False


@dataclass(frozen=True, slots=True)
class Totals:
    """Counters since the engine object was made; they survive a restart of its thread. Of
    `cached_tokens`, `awaited_tokens` were computed by another request while this one waited.
    `recomputed_tokens` were lost between a preemption and its end and are computed twice. Of what
    was not found, `lost_tokens` had been there before they were evicted, and `new_tokens` had not,
    as far as that is remembered. `starts`: a model began to serve, with nothing warm."""

    requests: int = 0
    hits: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    awaited_tokens: int = 0
    completion_tokens: int = 0
    evicted_pages: int = 0
    evicted_bytes: int = 0
    preemptions: int = 0
    recomputed_tokens: int = 0
    lost_tokens: int = 0
    new_tokens: int = 0
    starts: int = 0
    restarts: int = 0


@dataclass(frozen=True, slots=True)
class EvictionTotal:
    """What was evicted for one reason of the pages of one client ("" where nobody owned them),
    since the engine object was made."""

    reason: str
    client: str
    num_pages: int
    num_bytes: int


class Waits(enum.Enum):
    """What those who have not started wait for, other than what another request computes."""

    TURN = "turn"  # the next step looks at them
    MEMORY = "memory"
    ROWS = "rows"  # as many run as may
    PAUSE = "pause"


class PinState(enum.Enum):
    """What has become of a pin, or of a prefix that was only warmed."""

    ABSENT = "absent"
    QUEUED = "queued"
    BUILDING = "building"
    READY = "ready"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class PinStatus:
    """One pin as seen from outside. `done_tokens` of `num_tokens` stand in KV; `num_bytes` is their
    price. `last_hit_at` is Unix seconds, 0.0 before the first hit. `kept` tells a pin from a prefix
    that was only warmed."""

    name: str
    state: PinState
    num_tokens: int = 0
    done_tokens: int = 0
    num_bytes: int = 0
    hits: int = 0
    last_hit_at: float = 0.0
    error: str = ""
    kept: bool = True


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The engine at one moment.

    `seq` grows with every snapshot; an equal `seq` means nothing changed. Of those that wait,
    `num_parked` wait for what another computes, the others for `waits_for`. `prefill_done` of
    `prefill_tokens` stand in KV of the longest prompt that is being computed for a request; both
    are 0 where there is none. `notice` is a sentence about something unusual, such as a cache that
    was made smaller because the machine is short of memory; empty otherwise.
    """

    seq: int = 0
    state: EngineState = EngineState.STOPPED
    reason: str = ""
    model_id: str = ""
    memory: Memory = Memory()
    capacity: Capacity = Capacity()
    totals: Totals = Totals()
    paused: bool = False
    num_running: int = 0
    num_waiting: int = 0
    num_parked: int = 0
    waits_for: Waits = Waits.TURN
    prefill_done: int = 0
    prefill_tokens: int = 0
    num_pages: int = 0
    num_parts: int = 0
    num_checkpoints: int = 0
    pins: tuple[PinStatus, ...] = ()
    evictions: tuple[EvictionTotal, ...] = ()
    notice: str = ""
