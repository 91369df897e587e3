"""An engine loop driven by hand: one step at a time, no threads, time that only computing moves."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from engine.cache.row import Row
from engine.commands import Cancel, Command, DropPin, Pause, Submit, WarmPin
from engine.config import (
    AdmissionMode,
    EngineConfig,
    Eviction,
    PrefillOrder,
    Publication,
    Release,
    WaitOrCompute,
)
from engine.counters import Counters
from engine.loop import EngineLoop, LoopParts
from engine.metrics import EngineMetrics
from engine.pin_keeper import PinKeeper
from engine.request import (
    Event,
    Failed,
    Finished,
    Progress,
    Request,
    RequestRecord,
    SamplingParams,
    Started,
    Text,
)
from engine.schedule.admission import Admission
from engine.schedule.scheduler import Scheduler
from engine.snapshot import PinStatus
from tests.support.cache import make_cache
from tests.support.engine import word_codec
from tests.support.fake_runner import BYTES_PER_TOKEN, STEP_TOKENS, FakeLayers, FakeRunner

TOKENS_PER_S = 1000.0


@dataclass(slots=True)
class Clock:
    """Seconds that pass only when somebody says so."""

    now: float = 1.0

    def __call__(self) -> float:
        return self.now


class TimedRunner(FakeRunner):
    """Every computed token takes a thousandth of a second of the clock."""

    def __init__(self, clock: Clock, layers: FakeLayers) -> None:
        super().__init__(layers=layers)
        self.forwards: list[list[str]] = []
        self._clock = clock

    def prefill(self, row: Row, num_tokens: int) -> None:
        self._clock.now += num_tokens / TOKENS_PER_S
        self.forwards.append([row.hold.owner])
        super().prefill(row, num_tokens)

    def next_tokens(
        self, rows: Sequence[Row], samplers: Sequence[SamplingParams], spare_bytes: int = 0
    ) -> list[int]:
        self._clock.now += sum(row.num_uncomputed for row in rows) / TOKENS_PER_S
        self.forwards.append([row.hold.owner for row in rows])
        return super().next_tokens(rows, samplers, spare_bytes)


class SteppedLoop:
    """The real loop, schedule and cache over fake storages, with everything they told.

    `budget_tokens` is the KV budget. `batches` are the deliveries in order, `events` the same by
    request.
    """

    def __init__(
        self,
        *,
        budget_tokens: int = 100_000,
        page_tokens: int = 16,
        match_unit: int = 1,
        max_running: int = 16,
        prefill_chunk: int = 256,
        step_target_s: float = 1.0,
        storage_step: int = STEP_TOKENS,
        eos_ids: frozenset[int] = frozenset(),
        check_integrity: bool = True,
        windows: tuple[int, ...] = (),
        recurrent: bool = False,
        checkpoint_share: float = 1.0,
        eviction: Eviction = Eviction.LRU,
        release: Release = Release.BOUNDARY_PUBLISHED,
        publication: Publication = Publication.INCREMENTAL,
        wait_or_compute: WaitOrCompute = WaitOrCompute.CHOOSE,
        prefill_order: PrefillOrder = PrefillOrder.LONGEST_CACHED,
        admission: AdmissionMode = AdmissionMode.PROTECT_CACHE,
    ) -> None:
        self.clock = Clock()
        layers = FakeLayers(windows, recurrent, storage_step)
        self.runner = TimedRunner(self.clock, layers)
        self.budget = budget_tokens * BYTES_PER_TOKEN
        self.cache = make_cache(
            page_tokens,
            match_unit,
            step=storage_step,
            windows=windows,
            recurrent=recurrent,
            most_checkpoint_bytes=int(self.budget * checkpoint_share),
            eviction=eviction,
            now=self.clock,
        )
        self.admission = Admission(self.cache, self.budget, mode=admission, max_running=max_running)
        self.scheduler = Scheduler(
            self.cache,
            self.admission,
            max_running=max_running,
            prefill_chunk=prefill_chunk,
            step_target_s=step_target_s,
            release=release,
            wait_or_compute=wait_or_compute,
            prefill_order=prefill_order,
        )
        self.counters = Counters()
        self.metrics = EngineMetrics("fake")
        self.batches: list[tuple[Event, ...]] = []
        self.events: dict[str, list[Event]] = defaultdict(list)
        self.records: list[RequestRecord] = []
        self.loop = EngineLoop(
            LoopParts(
                self.runner,
                self.cache,
                self.admission,
                self.scheduler,
                word_codec(),
                eos_ids,
                "fake",
            ),
            EngineConfig(check_integrity=check_integrity, publication=publication),
            deliver=self._deliver,
            record=self.records.append,
            metrics=self.metrics,
            counters=self.counters,
            clock=self.clock,
        )

    # Telling it

    def obey(self, command: Command) -> None:
        """What the loop does with a command it finds in its inbox between two steps."""
        self.loop._obey(command)

    def submit(self, *requests: Request) -> None:
        for request in requests:
            self.obey(Submit(request, request.max_tokens, self.clock()))

    def cancel(self, request_id: str) -> None:
        self.obey(Cancel(request_id))

    def pin(self, name: str, tokens: Sequence[int], keep: bool = True) -> None:
        self.obey(WarmPin(name, tuple(tokens), keep))

    def unpin(self, name: str) -> None:
        self.obey(DropPin(name))

    def pause(self, on: bool) -> None:
        self.obey(Pause(on))

    def step(self) -> list[tuple[Event, ...]]:
        """One step. Returns what it delivered, a tuple a delivery."""
        before = len(self.batches)
        self.loop.step()
        return self.batches[before:]

    @property
    def idle(self) -> bool:
        return not self.scheduler.jobs

    def run_until(self, happened: Callable[[], bool], most_steps: int = 5000) -> int:
        """Step until something has happened. Returns the number of steps."""
        for n in range(most_steps):
            if happened():
                return n
            self.step()
        raise AssertionError(f"it did not happen within {most_steps} steps")

    def finish_all(self) -> int:
        """Step until nobody waits or runs. Returns the number of steps."""
        return self.run_until(lambda: self.idle)

    def serve(self, *requests: Request) -> list[Finished]:
        """Submit together, run to the end, and return how they ended."""
        self.submit(*requests)
        self.finish_all()
        return [self.finished(request.id) for request in requests]

    # What it told

    @property
    def pins(self) -> dict[str, PinStatus]:
        return {status.name: status for status in self.pin_keeper.statuses()}

    @property
    def pin_keeper(self) -> PinKeeper:
        return self.loop._pins

    def kinds(self, request_id: str) -> list[type[Event]]:
        return [type(event) for event in self.events[request_id]]

    def started(self, request_id: str) -> Started:
        return next(event for event in self.events[request_id] if isinstance(event, Started))

    def ends(self, request_id: str) -> list[Finished | Failed]:
        return [event for event in self.events[request_id] if isinstance(event, Finished | Failed)]

    def finished(self, request_id: str) -> Finished:
        (end,) = self.ends(request_id)
        assert isinstance(end, Finished)
        return end

    def progress(self, request_id: str) -> list[int]:
        return [
            event.prompt_tokens_done
            for event in self.events[request_id]
            if isinstance(event, Progress)
        ]

    def text(self, request_id: str) -> str:
        return "".join(event.text for event in self.events[request_id] if isinstance(event, Text))

    def tokens(self, request_id: str) -> list[int]:
        """Tokens of the answer, read back from its text."""
        return [int(word) for word in self.text(request_id).split("t") if word]

    def _deliver(self, events: tuple[Event, ...]) -> None:
        self.batches.append(events)
        for event in events:
            self.events[event.request_id].append(event)
