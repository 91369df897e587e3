"""The engine's own step loop, schedule and cache, served by a simulated model on a virtual clock.

Nothing in it is chance or real time, so the same requests have the same outcomes. What the loop
itself takes is not in the times, and HTTP, template and tokenizer are left out.
"""

from __future__ import annotations

from collections import Counter

from tokenizers import Tokenizer, models

from app.bench.errors import BenchError
from app.bench.simulation.arrivals import Arrival, Client, Workload
from app.bench.simulation.clock import VirtualClock
from app.bench.simulation.model import SimulatedModel
from app.bench.simulation.outcome import Outcome, PoolSample, Simulation
from app.bench.simulation.runner import FIRST_TOKEN, SimulatedRunner
from app.bench.simulation.timetable import Timetable
from engine.cache.cost import KVCost
from engine.cache.identity import ModelIdentity
from engine.commands import Cancel, Submit
from engine.config import EngineConfig
from engine.counters import Counters
from engine.loop import EngineLoop, LoopParts
from engine.metrics import EngineMetrics
from engine.prompt.codec import TextCodec
from engine.request import Event, Failed, Finished, FinishReason, Request, Text, Usage
from engine.schedule.build import ScheduledModel, build_rooms
from engine.schedule.scheduler import Scheduler

_SAMPLE_S = 0.25  # between two looks at the pool
_EMPTY_STEP_S = 1e-4  # a step that computes nothing
_MOST_EMPTY_STEPS = 1_000_000


class SimulatedEngine:
    """An engine to which requests come at times of a virtual clock, in open or closed loops.

    Settings that the config leaves to the device are the model's. The queue has no limit.
    """

    def __init__(
        self,
        model: SimulatedModel,
        config: EngineConfig | None = None,
        *,
        scheduler_class: type[Scheduler] = Scheduler,
    ) -> None:
        self._config = config or EngineConfig()
        self._name = model.name
        self.clock = VirtualClock()
        self._runner = SimulatedRunner(model, self.clock)
        self._rooms = build_rooms(
            ScheduledModel(
                ModelIdentity(weights=model.name, tokenizer="none"),
                self._runner.new_storage,
                KVCost(model.bytes_per_token, grows_by_eighths=True),
                budget=self._config.kv_budget_bytes or model.kv_budget_bytes,
                prefill_chunk=self._config.prefill_chunk or model.prefill_chunk,
                step_target_s=self._config.step_target_s or model.step_target_s,
            ),
            self._config,
            scheduler_class=scheduler_class,
            now=self.clock,
        )
        self.scheduler = self._rooms.scheduler
        self.num_ends: Counter[str] = Counter()
        self._codec = _first_token_codec()
        self._metrics = EngineMetrics(self._name)
        self._counters = Counters()
        self._timetable = Timetable(self.clock, self._before_step)
        self._submitted_at: dict[str, float] = {}
        self._first_token_at: dict[str, float] = {}
        self._askers: dict[str, Client] = {}
        self._outcomes: list[Outcome] = []
        self._pool: list[PoolSample] = []
        self._stepped_at = 0.0
        self._num_empty_steps = 0

    def submit(self, *arrivals: Arrival) -> None:
        """Requests that come so many seconds from now."""
        for arrival in arrivals:
            self._submit(self.clock() + arrival.at_s, arrival.request)

    def serve(self, *clients: Client) -> None:
        """Clients that come from now on, each with one request at a time."""
        for client in clients:
            self._ask(client, self.clock() + client.starts_at_s)

    def cancel(self, request_id: str, after_s: float) -> None:
        """A request is cancelled so many seconds from now."""
        self._timetable.add(self.clock() + after_s, Cancel(request_id))

    def run(self, workload: Workload | None = None) -> Simulation:
        """Serve all that comes, until nobody is left. May be called again: what is cached stays,
        and outcomes and totals add up.

        Raises BenchError where a request never ends, or ends twice.
        """
        if workload is not None:
            self.submit(*workload.arrivals)
            self.serve(*workload.clients)
        parts = LoopParts(
            self._runner,
            self._rooms.cache,
            self._rooms.admission,
            self._rooms.scheduler,
            self._codec,
            frozenset(),
            self._name,
        )
        EngineLoop(
            parts,
            self._config,
            deliver=self._deliver,
            record=lambda record: None,
            metrics=self._metrics,
            counters=self._counters,
            clock=self.clock,
        ).run(self._timetable)
        if self.num_ends != Counter(self._submitted_at.keys()):
            raise BenchError("Not every simulated request ended exactly once.")
        return Simulation(
            tuple(self._outcomes),
            self._counters.totals(),
            self._rooms.admission.budget,
            tuple(self._pool),
        )

    def _submit(self, at: float, request: Request) -> None:
        if request.id in self._submitted_at:
            raise BenchError(f"There is a simulated request {request.id} already.")
        self._submitted_at[request.id] = at
        self._timetable.add(at, Submit(request, request.max_tokens, at))

    def _ask(self, client: Client, at: float) -> None:
        request = next(client.requests, None)
        if request is not None:
            self._askers[request.id] = client
            self._submit(at, request)

    def _deliver(self, events: tuple[Event, ...]) -> None:
        for event in events:
            match event:
                case Text(request_id):
                    self._first_token_at.setdefault(request_id, self.clock())
                case Finished(request_id, reason, usage):
                    self._end(request_id, reason, usage)
                case Failed(request_id, error):
                    self._end(request_id, FinishReason.ERROR, Usage(), str(error))
                case _:
                    pass

    def _end(self, request_id: str, reason: FinishReason, usage: Usage, error: str = "") -> None:
        now = self.clock()
        self.num_ends[request_id] += 1
        self._outcomes.append(
            Outcome(
                request_id,
                self._submitted_at[request_id],
                self._first_token_at.get(request_id),
                now,
                reason,
                usage,
                error,
            )
        )
        client = self._askers.pop(request_id, None)
        if client is not None:
            self._ask(client, now + client.think_s)

    def _before_step(self) -> None:
        now = self.clock()
        if now > self._stepped_at:
            self._num_empty_steps = 0
        else:  # so that what waits for a time does not wait for ever
            self._num_empty_steps += 1
            self.clock.advance(_EMPTY_STEP_S)
        if self._num_empty_steps > _MOST_EMPTY_STEPS:
            raise BenchError("Simulated requests wait for ever: nothing is computed any more.")
        self._stepped_at = self.clock()
        if not self._pool or now - self._pool[-1].at >= _SAMPLE_S:
            running = self._rooms.cache.held_bytes()
            cached = self._rooms.cache.used_bytes - running
            self._pool.append(PoolSample(now, running, cached))


def _first_token_codec() -> TextCodec:
    """Only the first token of an answer has a text, so that its time is seen and no other one
    costs anything."""
    return TextCodec(Tokenizer(models.WordLevel({"first": FIRST_TOKEN}, unk_token="first")))
