"""The order of measurements, and the prompts that each case is made of."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from app.bench.flights import Case, Kind, Measured, Plan, Side
from app.bench.flights_bench import FlightsBench, case_name

BURST = Case(Kind.IDENTICAL, 4, 40, 40, 8, (Side.ONDOL, Side.INDEPENDENT))
OVERLAP = Case(Kind.OVERLAP, 2, 40, 30, 8, (Side.ONDOL, Side.WAIT, Side.COMPUTE), 0.5)

Log = list[tuple[Side, Case]]


class Scripted:
    """Notes what it is asked for; every first token comes after `seconds`."""

    def __init__(self, side: Side, seconds: float, log: Log) -> None:
        self.side, self.seconds, self.log = side, seconds, log
        self.prompts: list[Sequence[Sequence[int]]] = []

    def run(self, case: Case, prompts: Sequence[Sequence[int]]) -> Measured:
        self.log.append((self.side, case))
        self.prompts.append(prompts)
        count = len(prompts)
        times = (self.seconds,) * count
        return Measured(tuple(map(len, prompts)), times, times, (0,) * count)


def scripted() -> tuple[FlightsBench, dict[Side, Scripted], Log, list[str]]:
    log: Log = []
    engines = {side: Scripted(side, 1.0 + at, log) for at, side in enumerate(Side)}
    said: list[str] = []
    return FlightsBench(engines, 1_000, said.append), engines, log, said


def test_sides_are_measured_next_to_each_other_in_another_order_each_round() -> None:
    plan = Plan((BURST, OVERLAP), rounds=2)
    bench, _, log, said = scripted()
    cases = bench.run(plan)
    warmed, rounds = log[: len(plan.sides)], log[len(plan.sides) :]
    assert {side for side, _ in warmed} == {*BURST.sides, *OVERLAP.sides}
    assert rounds == [
        *((side, BURST) for side in BURST.sides),
        *((side, OVERLAP) for side in OVERLAP.sides),
        *((side, BURST) for side in BURST.sides[::-1]),
        *((side, OVERLAP) for side in OVERLAP.sides[::-1]),
    ]
    assert [result.case for result in cases] == [BURST, OVERLAP]
    assert {side: len(found) for side, found in cases[1].rounds.items()} == {
        Side.ONDOL: 2,
        Side.WAIT: 2,
        Side.COMPUTE: 2,
    }
    assert cases[0].rounds[Side.INDEPENDENT][1].ttft_s == (2.0,) * 4
    assert said[1] == (
        "round 1 of 2, identical x 4: first tokens after ondol 1.00 s, independent 2.00 s"
    )
    assert said[2].startswith("round 1 of 2, 75 % the same x 2, 0.5 s apart: ")


def test_prompts_are_new_for_each_measurement_and_share_what_the_case_says() -> None:
    plan = Plan((OVERLAP, BURST), rounds=2)
    bench, engines, _, _ = scripted()
    bench.run(plan)
    _, overlap, burst, *others = engines[Side.ONDOL].prompts
    assert [len(prompt) for prompt in (*overlap, *burst)] == [40] * 6
    assert overlap[0][:30] == overlap[1][:30]
    assert overlap[0][30:] != overlap[1][30:]
    assert burst[0] == burst[1] == burst[2] == burst[3]
    heads = {tuple(prompts[0][:16]) for engine in engines.values() for prompts in engine.prompts}
    assert len(heads) == sum(len(engine.prompts) for engine in engines.values())
    assert len(others) == 2


@pytest.mark.parametrize(
    ("case", "name"),
    [
        (BURST, "identical"),
        (OVERLAP, "75 % the same"),
        (Case(Kind.SOURCE, 8, 532, 532, 128), "the article's"),
        (Case(Kind.DISTINCT, 4, 40, 0, 8), "distinct"),
    ],
)
def test_names(case: Case, name: str) -> None:
    assert case_name(case) == name
