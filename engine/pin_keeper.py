"""Keeps the engine thread's pins: which are wanted, which stand, and what holds them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from engine.cache.page import Page
from engine.cache.part import Hold
from engine.cache.prefix_cache import PrefixCache
from engine.schedule.job import Job
from engine.snapshot import PinState, PinStatus

HOLD_OWNER = "pin"


@dataclass(slots=True)
class _Pin:
    name: str
    num_tokens: int
    state: PinState
    job: Job | None = None
    hold: Hold | None = None
    last: Page | None = None
    hits_before: int = 0
    error: str = ""


class PinKeeper:
    """Pins by name. A pin is a background job first, then a hold on what it computed."""

    def __init__(self, cache: PrefixCache) -> None:
        self._cache = cache
        self._pins: dict[str, _Pin] = {}

    def begin(self, job: Job) -> None:
        """A job starts to warm the pin it names; the pin of that name before it is let go."""
        self.drop(job.pin)
        self._pins[job.pin] = _Pin(job.pin, len(job.request.prompt.tokens), PinState.QUEUED, job)

    def complete(self, job: Job) -> None:
        """The job has computed its tokens: hold them. Call before the job's row is closed."""
        assert job.row is not None
        pin = self._pins[job.pin]
        self._cache.publish_partial(job.row)
        match = self._cache.match(job.request.prompt.tokens)
        pin.hold = self._cache.hold(match, HOLD_OWNER)
        pin.last, pin.hits_before = match.last, match.last.hits
        pin.job, pin.state = None, PinState.READY

    def fail(self, job: Job, error: str) -> None:
        """The job cannot be done."""
        pin = self._pins[job.pin]
        pin.job, pin.state, pin.error = None, PinState.FAILED, error

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
        held = {id(pin.hold) for pin in self._pins.values() if pin.hold}
        return self._cache.held_bytes(lambda hold: id(hold) in held, open_tails=False)

    def statuses(self) -> Iterator[PinStatus]:
        for pin in self._pins.values():
            row = pin.job.row if pin.job else None
            done = pin.num_tokens if pin.state is PinState.READY else row.num_computed if row else 0
            state = PinState.BUILDING if row else pin.state
            hits = pin.last.hits - pin.hits_before if pin.last else 0
            num_bytes = pin.num_tokens * self._cache.bytes_per_token
            yield PinStatus(pin.name, state, pin.num_tokens, done, num_bytes, hits, pin.error)
