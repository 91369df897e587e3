"""What `ondol bench flights` measures, and the ratios in it.

Seconds throughout. Ratios are taken within a round, between sides measured next to each other,
before the median: what slows the machine for a while slows both.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from app.bench import client
from app.bench.stats import Estimate, estimate, median, nearest_rank
from engine.config import EngineConfig, Publication, Release, WaitOrCompute

PAGE_TOKENS = EngineConfig().page_tokens


class Side(enum.StrEnum):
    """The policies under comparison: Ondol's own, and others that it is held against."""

    ONDOL = "ondol"
    INDEPENDENT = "independent"  # published as it is computed, but nobody waits
    ON_COMPLETION = "on_completion"  # nobody waits, and nothing is found before its request ends
    ON_PREFILL = "on_prefill"  # nobody waits, and nothing is found before the first token
    LEADER_FINISHED = "leader_finished"
    PREFILL_FINISHED = "prefill_finished"
    WAIT = "wait"
    COMPUTE = "compute"


@dataclass(frozen=True, slots=True)
class Policy:
    """The settings of a side."""

    publication: Publication = Publication.INCREMENTAL
    release: Release = Release.BOUNDARY_PUBLISHED
    wait_or_compute: WaitOrCompute = WaitOrCompute.CHOOSE


POLICIES: Mapping[Side, Policy] = {
    Side.ONDOL: Policy(),
    Side.INDEPENDENT: Policy(release=Release.INDEPENDENT),
    Side.ON_COMPLETION: Policy(Publication.ON_COMPLETION, Release.INDEPENDENT),
    Side.ON_PREFILL: Policy(Publication.ON_PREFILL, Release.INDEPENDENT),
    # The article had its incremental publication off beside these (S0-7, S0-8).
    Side.LEADER_FINISHED: Policy(Publication.ON_COMPLETION, Release.LEADER_FINISHED),
    Side.PREFILL_FINISHED: Policy(Publication.ON_PREFILL, Release.PREFILL_FINISHED),
    Side.WAIT: Policy(wait_or_compute=WaitOrCompute.WAIT),
    Side.COMPUTE: Policy(wait_or_compute=WaitOrCompute.COMPUTE),
}


class Kind(enum.StrEnum):
    """How requests that come together belong together."""

    IDENTICAL = "identical"
    DOCUMENT = "document"  # one document, a question each
    SOURCE = "source"  # identical, in the article's shape
    LATE = "late"  # identical; all but the first arrive when that one has its first token
    DISTINCT = "distinct"
    OVERLAP = "overlap"


@dataclass(frozen=True, slots=True)
class Case:
    """`requests` of `prompt_tokens` each, the first `shared_tokens` of them the same, each
    `stagger_s` seconds after the one before. Every answer has `answer_tokens`."""

    kind: Kind
    requests: int
    prompt_tokens: int
    shared_tokens: int
    answer_tokens: int
    sides: tuple[Side, ...] = (Side.ONDOL,)
    stagger_s: float = 0.0

    @property
    def overlap(self) -> float:
        return self.shared_tokens / self.prompt_tokens

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Case:
        sides = tuple(Side(name) for name in data["sides"])
        return Case(**{**data, "kind": Kind(data["kind"]), "sides": sides})


@dataclass(frozen=True, slots=True)
class Plan:
    """What to measure: all cases in each of `rounds`."""

    cases: tuple[Case, ...]
    rounds: int

    @property
    def sides(self) -> tuple[Side, ...]:
        """All that are measured."""
        return tuple(side for side in Side if any(side in case.sides for case in self.cases))

    @property
    def longest_tokens(self) -> int:
        return max(case.prompt_tokens + case.answer_tokens for case in self.cases)

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Plan:
        return Plan(tuple(map(Case.from_json, data["cases"])), data["rounds"])


@dataclass(frozen=True, slots=True)
class Scheduling:
    """What deciding took of the time of `steps` steps in which all requests decoded."""

    steps: int = 0
    schedule_s: float = 0.0
    step_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Measured:
    """One case, once, on one side. Of each request in order of arrival: the tokens of its prompt,
    seconds from its arrival to its first and to its last token, and how many of the prompt's tokens
    it did not compute. `waited`: of each that could wait for another, whether it did."""

    prompt_tokens: tuple[int, ...]
    ttft_s: tuple[float, ...]
    total_s: tuple[float, ...]
    restored_tokens: tuple[int, ...]
    decoding: Scheduling = Scheduling()
    waited: tuple[bool, ...] = ()

    @property
    def mean_ttft_s(self) -> float:
        return _mean(self.ttft_s)

    @property
    def followers_ttft_s(self) -> float:
        """Mean over all requests but the first."""
        return _mean(self.ttft_s[1:])

    @property
    def slowest_s(self) -> float:
        return max(self.total_s)

    @property
    def computed_tokens(self) -> int:
        """Prompt tokens, all requests together."""
        return sum(self.prompt_tokens) - sum(self.restored_tokens)

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Measured:
        return Measured(
            tuple(data["prompt_tokens"]),
            tuple(data["ttft_s"]),
            tuple(data["total_s"]),
            tuple(data["restored_tokens"]),
            Scheduling(**data["decoding"]),
            tuple(data["waited"]),
        )


Figure = Callable[[Measured], float]


@dataclass(frozen=True, slots=True)
class CaseResult:
    """All rounds of one case, on each of its sides."""

    case: Case
    rounds: Mapping[Side, tuple[Measured, ...]]

    def middle(self, side: Side, figure: Figure) -> float:
        """The median of the rounds."""
        return median([figure(one) for one in self.rounds[side]])

    def p95_ttft_s(self, side: Side) -> float:
        """Of all requests of all rounds."""
        return nearest_rank([s for one in self.rounds[side] for s in one.ttft_s], 0.95)

    def computed_tokens(self, side: Side) -> int:
        """Prompt tokens of all requests together, the median of the rounds."""
        return round(median([one.computed_tokens for one in self.rounds[side]]))

    def restored_tokens(self, side: Side) -> int | None:
        """The fewest that any follower restored; None where nobody follows."""
        return min((n for one in self.rounds[side] for n in one.restored_tokens[1:]), default=None)

    def ratio(self, side: Side, other: Side, figure: Figure) -> Estimate:
        return ratio(self.rounds[side], self.rounds[other], figure)

    @property
    def waited(self) -> tuple[bool, ...]:
        """What Ondol chose for each request that could wait for another, in all rounds."""
        return tuple(waited for one in self.rounds[Side.ONDOL] for waited in one.waited)

    @property
    def chosen(self) -> Side | None:
        """The forced way that Ondol's choices came to in every round; None where they differ."""
        if not self.waited or len(set(self.waited)) > 1:
            return None
        return Side.WAIT if self.waited[0] else Side.COMPUTE

    @property
    def scheduling_share(self) -> Estimate | None:
        """What deciding took of the time of Ondol's decode steps; None if there were none."""
        shares = [
            one.decoding.schedule_s / one.decoding.step_s
            for one in self.rounds.get(Side.ONDOL, ())
            if one.decoding.steps
        ]
        return estimate(shares) if shares else None

    def to_json(self) -> dict[str, Any]:
        rounds = {side: [asdict(one) for one in found] for side, found in self.rounds.items()}
        return {"case": asdict(self.case), "rounds": rounds}

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> CaseResult:
        rounds = {
            Side(name): tuple(map(Measured.from_json, found))
            for name, found in data["rounds"].items()
        }
        return CaseResult(Case.from_json(data["case"]), rounds)


class Server(enum.StrEnum):
    """The servers that are compared over HTTP."""

    ONDOL = client.ONDOL
    MLX_LM = "mlx_lm.server"


@dataclass(frozen=True, slots=True)
class Served:
    """One burst over HTTP on both servers."""

    kind: Kind
    measured: Mapping[Server, Measured]


@dataclass(frozen=True, slots=True)
class FlightsResults:
    """A whole run. `served` has the bursts over HTTP, round by round; it is empty where no other
    server was asked."""

    cases: tuple[CaseResult, ...]
    served: tuple[Served, ...] = ()

    def of_kind(self, kind: Kind) -> tuple[CaseResult, ...]:
        return tuple(result for result in self.cases if result.case.kind is kind)

    def single(self, kind: Kind) -> CaseResult | None:
        """The case of one request alone."""
        alone = (result for result in self.of_kind(kind) if result.case.requests == 1)
        return next(alone, None)

    def served_of(self, kind: Kind) -> Mapping[Server, tuple[Measured, ...]]:
        """Of each server one result a round."""
        found = [each.measured for each in self.served if each.kind is kind]
        return {server: tuple(each[server] for each in found) for server in Server}


def ratio(upper: Sequence[Measured], lower: Sequence[Measured], figure: Figure) -> Estimate:
    """Round by round."""
    return estimate([figure(a) / figure(b) for a, b in zip(upper, lower, strict=True)])


def mean_ttft_s(measured: Measured) -> float:
    return measured.mean_ttft_s


def followers_ttft_s(measured: Measured) -> float:
    return measured.followers_ttft_s


def slowest_s(measured: Measured) -> float:
    return measured.slowest_s


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
