"""What `ondol bench batch` measures: a chat service whose warm prefixes and running requests share
one pool of KV, with more and more clients at a time (S3-5, S3-6).

Seconds throughout: virtual ones in the simulator.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.bench.batch_traffic import Traffic
from app.bench.simulation.model import GIB, SimulatedModel
from engine.config import AdmissionMode
from engine.schedule.capacity import most_running


@dataclass(frozen=True, slots=True)
class Quoted:
    """A row of the source article's table (S3-6)."""

    clients: int
    hit_rate: float
    ttft_p50_s: float
    ttft_p99_s: float
    tokens_per_s: float


ARTICLE = (
    Quoted(8, 0.65, 0.130, 0.210, 310),
    Quoted(32, 0.60, 0.200, 1.850, 840),
    Quoted(64, 0.31, 0.490, 6.400, 1_150),
    Quoted(128, 0.18, 1.280, 16.200, 1_300),
)

# The article's inputs (S3-5): 56 GiB beside the weights, 9 of them for the hot set, Llama-3-8B.
_ARTICLE_FREE_BYTES, _ARTICLE_RESERVE_BYTES = 56 * GIB, 9 * GIB
_ARTICLE_BYTES_PER_TOKEN = 131_072
EXAMPLE_TOKENS = (2_048, 8_192)


@dataclass(frozen=True, slots=True)
class Knee:
    """The numbers of clients between which the hit rate falls where nothing protects the cache:
    with `before` the running requests take 60 to 70 % of the pool (S3-6)."""

    before: int
    after: int


@dataclass(frozen=True, slots=True)
class SweepPlan:
    """What is asked of every mode: `clients` at a time, ascending, in a cache that `warm_clients`
    fill first. `requests` are counted at each number, and at least `rounds` of
    every client, after `lead_rounds` until the pool is as it stays."""

    traffic: Traffic
    pool_tokens: int
    clients: tuple[int, ...]
    modes: tuple[AdmissionMode, ...]
    requests: int
    rounds: int
    lead_rounds: int = 1
    warm_clients: int = 4

    def lead_in(self, clients: int) -> int:
        """Requests that are served first and not counted."""
        return self.lead_rounds * clients

    def num_requests(self, clients: int) -> int:
        """All that are asked for."""
        return self.lead_in(clients) + max(self.requests, self.rounds * clients)

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> SweepPlan:
        return SweepPlan(
            **{
                **data,
                "traffic": Traffic.from_json(data["traffic"]),
                "clients": tuple(data["clients"]),
                "modes": tuple(map(AdmissionMode, data["modes"])),
            }
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "traffic": self.traffic.to_json(),
            "pool_tokens": self.pool_tokens,
            "clients": self.clients,
            "modes": [mode.value for mode in self.modes],
            "requests": self.requests,
            "rounds": self.rounds,
            "lead_rounds": self.lead_rounds,
            "warm_clients": self.warm_clients,
        }


@dataclass(frozen=True, slots=True)
class ChunkPlan:
    """Long prompts, cut to each of `chunks` tokens a step and whole, for so many clients in a pool
    that is too small for them (S3-10)."""

    traffic: Traffic
    pool_tokens: int
    clients: int
    chunks: tuple[int, ...]
    requests: int

    def to_sweep(self) -> SweepPlan:
        """One number of clients."""
        return SweepPlan(
            self.traffic,
            self.pool_tokens,
            (self.clients,),
            (AdmissionMode.MAX_THROUGHPUT,),
            self.requests,
            rounds=1,
        )


@dataclass(frozen=True, slots=True)
class SimulatedPlan:
    """What is simulated. `few` clients tell what a common system prompt saves (S3-11). The requests
    of the sweeps are drawn with the first of `seeds`; those just before and after the knee, where
    nothing protects the cache, with each of them."""

    model: SimulatedModel
    sweep: SweepPlan
    knee: Knee
    few: SweepPlan
    chunked: ChunkPlan
    seeds: tuple[int, ...] = (1, 2, 3)


@dataclass(frozen=True, slots=True)
class BatchPlan:
    """Both halves of a run: in the simulator, and on a model."""

    simulated: SimulatedPlan
    measured: SweepPlan


@dataclass(frozen=True, slots=True)
class Point:
    """One number of clients under one mode, while all of them were busy; `evicted_pages` alone
    counts from the first request to the last.

    A gap lies between two tokens of one answer. `most_preempted` counts preemptions within one
    second. `recomputed_tokens` had been computed before a preemption. `most_running` is the
    engine's own B_max at the end. `running_share` is what running requests held of the pool, and
    `mean_running` how many ran, in the mean over time.
    """

    clients: int
    requests: int
    hit_rate: float
    ttft_p50_s: float
    ttft_p99_s: float
    gap_p50_s: float
    gap_p99_s: float
    longest_gap_s: float
    tokens_per_s: float
    preemptions: int
    most_preempted: int
    recomputed_tokens: int
    evicted_pages: int
    most_running: int
    mean_running: float
    running_share: float


@dataclass(frozen=True, slots=True)
class Sweep:
    """One mode with every number of clients, ascending."""

    mode: AdmissionMode
    points: tuple[Point, ...]

    def at(self, clients: int) -> Point:
        """Raises KeyError for a number of clients that was not asked for."""
        for point in self.points:
            if point.clients == clients:
                return point
        raise KeyError(clients)

    @property
    def kept_share(self) -> float:
        """The lowest hit rate, of the one with the fewest clients."""
        return min(point.hit_rate for point in self.points) / self.points[0].hit_rate

    @property
    def preemptions(self) -> int:
        return sum(point.preemptions for point in self.points)

    def fall(self, knee: Knee) -> float:
        """Points of hit rate, in percent, that are lost across the knee."""
        return 100 * (self.at(knee.before).hit_rate - self.at(knee.after).hit_rate)

    def gain(self, knee: Knee) -> float:
        """Throughput after the knee, of that before it."""
        return self.at(knee.after).tokens_per_s / self.at(knee.before).tokens_per_s

    def to_json(self) -> dict[str, Any]:
        return {"mode": self.mode.value, "points": [_fields(point) for point in self.points]}

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Sweep:
        points = tuple(Point(**point) for point in data["points"])
        return Sweep(AdmissionMode(data["mode"]), points)


@dataclass(frozen=True, slots=True)
class ChunkResult:
    """Prompts cut to so many tokens a step; None: whole."""

    chunk: int | None
    point: Point


@dataclass(frozen=True, slots=True)
class SimulatedResults:
    """Sweeps in the order of the plan's modes; `few` clients whose prompts share what the traffic
    says, and `few_distinct` whose prompts share nothing (S3-11). `redrawn`: across the knee with
    max throughput, for each of the plan's seeds after the first."""

    sweeps: tuple[Sweep, ...]
    chunks: tuple[ChunkResult, ...]
    few: Point
    few_distinct: Point
    redrawn: tuple[Sweep, ...] = ()

    @property
    def unprotected(self) -> tuple[Sweep, ...]:
        """Max throughput with every seed; none if it was not simulated."""
        first = sweep_of(self.sweeps, AdmissionMode.MAX_THROUGHPUT)
        return (first, *self.redrawn) if first is not None else ()


@dataclass(frozen=True, slots=True)
class BatchResults:
    """A whole run."""

    simulated: SimulatedResults
    measured: tuple[Sweep, ...]


def sweep_of(sweeps: Sequence[Sweep], mode: AdmissionMode) -> Sweep | None:
    return next((sweep for sweep in sweeps if sweep.mode is mode), None)


def article_example(mean_tokens: int) -> int:
    """B_max for the article's inputs and requests of so many tokens: 188 for its 2,048, and its own
    47 only for 8,192 (S3-5)."""
    return most_running(
        _ARTICLE_FREE_BYTES, _ARTICLE_RESERVE_BYTES, mean_tokens, _ARTICLE_BYTES_PER_TOKEN
    )


def _fields(point: Point) -> dict[str, Any]:
    return {name: getattr(point, name) for name in Point.__slots__}
