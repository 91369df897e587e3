"""`ondol bench flights`: the measuring itself, one side at a time.

In the process of `app.bench.flights_worker`, which has the model.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from app.bench.flights import Case, CaseResult, Kind, Measured, Plan, Side

# One of each side, so that each schedule has seen what prefill takes on this machine.
_WARM_UP = Case(Kind.IDENTICAL, 1, 256, 256, 2)


class Engine(Protocol):
    """One side, as `app.bench.flights_engine.FlightsEngine`."""

    def run(self, case: Case, prompts: Sequence[Sequence[int]]) -> Measured: ...


class FlightsBench:
    """Serves every case on all its sides in turn, in another order each round. Prompts are random
    tokens, new ones for each measurement. `say` gets lines of progress."""

    def __init__(
        self, engines: Mapping[Side, Engine], vocabulary: int, say: Callable[[str], None]
    ) -> None:
        self._engines = engines
        self._vocabulary = vocabulary
        self._say = say
        self._chance = random.Random(1)

    def run(self, plan: Plan) -> tuple[CaseResult, ...]:
        """Raises BenchError when the engine fails."""
        self._say("Warming up")
        for side in plan.sides:
            self._measure(_WARM_UP, side)
        found: list[dict[Side, list[Measured]]] = [
            {side: [] for side in case.sides} for case in plan.cases
        ]
        for number in range(plan.rounds):
            for case, rounds in zip(plan.cases, found, strict=True):
                for side in case.sides if number % 2 == 0 else case.sides[::-1]:
                    rounds[side].append(self._measure(case, side))
                self._say(f"round {number + 1} of {plan.rounds}, {_told(case, rounds)}")
        return tuple(
            CaseResult(case, {side: tuple(all_of) for side, all_of in rounds.items()})
            for case, rounds in zip(plan.cases, found, strict=True)
        )

    def _measure(self, case: Case, side: Side) -> Measured:
        shared = self._tokens(case.shared_tokens)
        own = case.prompt_tokens - case.shared_tokens
        prompts = [shared + self._tokens(own) for _ in range(case.requests)]
        return self._engines[side].run(case, prompts)

    def _tokens(self, count: int) -> list[int]:
        return self._chance.choices(range(self._vocabulary), k=count)


def case_name(case: Case) -> str:
    """As people are told."""
    match case.kind:
        case Kind.OVERLAP:
            return f"{100 * case.overlap:.0f} % the same"
        case Kind.SOURCE:
            return "the article's"
        case _:
            return case.kind.value


def _told(case: Case, rounds: Mapping[Side, Sequence[Measured]]) -> str:
    times = ", ".join(f"{side} {found[-1].mean_ttft_s:.2f} s" for side, found in rounds.items())
    stagger = f", {case.stagger_s:g} s apart" if case.stagger_s else ""
    return f"{case_name(case)} x {case.requests}{stagger}: first tokens after {times}"
