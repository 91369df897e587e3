"""Keeps the engine thread's pins: which are wanted, which stand, and what holds them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

from engine.cache.part import Hold
from engine.cache.prefix_cache import PrefixCache
from engine.schedule.job import Job
from engine.snapshot import PinState, PinStatus

HOLD_OWNER = "pin"


@dataclass(slots=True)
class _Pin:
    name: str
    tokens: tuple[int, ...]
    keep: bool
    state: PinState
    job: Job | None = None
    hold: Hold | None = None
    hits: int = 0
    last_hit_at: float = 0.0
    error: str = ""
    checked_at: int = 0  # the cache's `given_back` when the prefix was last seen whole

    @property
    def num_tokens(self) -> int:
        return len(self.tokens)


class PinKeeper:
    """Pins by name. A pin is a background job first, then a hold on what it computed. A prefix that
    is only warmed (`keep` false) is followed without a hold: it may be evicted, and then shows."""

    def __init__(self, cache: PrefixCache) -> None:
        self._cache = cache
        self._pins: dict[str, _Pin] = {}

    def begin(self, job: Job, keep: bool) -> None:
        """A job starts to warm the pin it names; the pin of that name before it is let go."""
        self.drop(job.pin)
        self._pins[job.pin] = _Pin(job.pin, job.request.prompt.tokens, keep, PinState.QUEUED, job)

    def complete(self, job: Job) -> None:
        """The job has computed its tokens: hold them. Call before the job's row is closed."""
        assert job.row is not None
        pin = self._pins[job.pin]
        if pin.keep:
            pin.hold = self._cache.hold_row(job.row, HOLD_OWNER)
        pin.checked_at = self._cache.given_back
        pin.job, pin.state = None, PinState.READY

    def fail(self, job: Job, error: str) -> None:
        """The job cannot be done."""
        pin = self._pins[job.pin]
        pin.job, pin.state, pin.error = None, PinState.FAILED, error

    def count_hits(self, job: Job) -> None:
        """A request starts: it hits every pin that its restored tokens begin with."""
        assert job.row is not None
        if job.request.salt:  # its tokens were restored from a cache of its own
            return
        tokens, num_cached = job.request.prompt.tokens, job.row.num_cached
        for pin in self._pins.values():
            found = pin.num_tokens <= num_cached and tokens[: pin.num_tokens] == pin.tokens
            if found and pin.state is PinState.READY:
                pin.hits += 1
                pin.last_hit_at = time.time()

    def job(self, name: str) -> Job | None:
        """The job that warms a pin now, if any."""
        pin = self._pins.get(name)
        return pin.job if pin else None

    def drop(self, name: str) -> None:
        """Forget a pin and let go what it holds."""
        pin = self._pins.pop(name, None)
        if pin and pin.hold:
            self._cache.release(pin.hold)

    def clear(self) -> None:
        for name in list(self._pins):
            self.drop(name)

    @property
    def held_bytes(self) -> int:
        """Bytes that pins hold; shared beginnings count once."""
        return self._cache.bytes_held_by([pin.hold for pin in self._pins.values() if pin.hold])

    def statuses(self) -> Iterator[PinStatus]:
        for pin in self._pins.values():
            yield self._status(pin)

    def _status(self, pin: _Pin) -> PinStatus:
        state, done = pin.state, 0
        if pin.job is not None and pin.job.row is not None:
            state, done = PinState.BUILDING, pin.job.row.num_computed
        elif state is PinState.READY:
            done = pin.num_tokens
            if not pin.keep and pin.checked_at != self._cache.given_back:
                pin.checked_at = self._cache.given_back
                if self._cache.match(pin.tokens).num_tokens < pin.num_tokens:
                    pin.state = state = PinState.ABSENT
                    done = 0
        return PinStatus(
            name=pin.name,
            state=state,
            num_tokens=pin.num_tokens,
            done_tokens=done,
            num_bytes=self._cache.cost.prefix_bytes(pin.num_tokens),
            hits=pin.hits,
            last_hit_at=pin.last_hit_at,
            error=pin.error,
            kept=pin.keep,
        )
