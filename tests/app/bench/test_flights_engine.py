"""Requests as they arrive, by the engine's own steps under each policy. The runner is a
fake one, whose steps take next to no time."""

from __future__ import annotations

import time
from collections.abc import Sequence

import pytest

from app.bench.errors import BenchError
from app.bench.flights import POLICIES, Case, Kind, Measured, Side
from app.bench.flights_engine import FlightsEngine
from engine.errors import StepFailed
from engine.schedule.build import ScheduledModel
from tests.support.cache import IDENTITY
from tests.support.engine import word_codec
from tests.support.fake_runner import FakeLayers, FakeRunner

PROMPT = [100 + n * n % 800 for n in range(200)]
LAYERS = FakeLayers()


def engine(side: Side, runner: FakeRunner | None = None) -> FlightsEngine:
    model = ScheduledModel(
        IDENTITY,
        LAYERS.new_storage,
        LAYERS.cost,
        budget=1 << 24,
        prefill_chunk=64,
        step_target_s=1.0,
    )
    return FlightsEngine(model, runner or FakeRunner(), word_codec(), POLICIES[side])


def run(side: Side, case: Case, prompts: Sequence[Sequence[int]] | None = None) -> Measured:
    return engine(side).run(case, prompts or [PROMPT] * case.requests)


def test_a_burst_is_computed_once() -> None:
    case = Case(Kind.IDENTICAL, 4, 200, 200, 8)
    found = run(Side.ONDOL, case)
    assert found.prompt_tokens == (200,) * 4
    assert found.restored_tokens[0] == 0
    assert min(found.restored_tokens[1:]) >= 192
    assert found.computed_tokens <= 200 + 3 * 16
    assert all(0 < first < last for first, last in zip(found.ttft_s, found.total_s, strict=True))
    assert found.decoding.steps > 0
    assert 0 < found.decoding.schedule_s < found.decoding.step_s


def test_nobody_waits_where_all_are_independent() -> None:
    case = Case(Kind.IDENTICAL, 4, 200, 200, 8)
    assert run(Side.ON_COMPLETION, case).computed_tokens == 4 * 200


def test_nothing_is_found_of_an_earlier_measurement() -> None:
    case = Case(Kind.IDENTICAL, 2, 200, 200, 8)
    ours = engine(Side.ONDOL)
    assert [ours.run(case, [PROMPT] * 2).restored_tokens[0] for _ in range(2)] == [0, 0]


def test_distinct_prompts_share_nothing() -> None:
    case = Case(Kind.DISTINCT, 2, 200, 0, 8)
    found = run(Side.ONDOL, case, [PROMPT, PROMPT[::-1]])
    assert found.restored_tokens == (0, 0)


@pytest.mark.parametrize(("side", "restored"), [(Side.ONDOL, 199), (Side.ON_COMPLETION, 0)])
def test_late_ones_arrive_when_the_first_has_its_first_token(side: Side, restored: int) -> None:
    case = Case(Kind.LATE, 3, 200, 200, 64)
    found = run(side, case)
    assert found.restored_tokens == (0, restored, restored)
    # The followers' clocks start at the leader's first token.
    assert found.ttft_s[0] + found.ttft_s[1] < found.total_s[0], "the leader still answers"


def test_late_ones_wait_for_the_leader_s_end_where_the_policy_is_so() -> None:
    case = Case(Kind.LATE, 3, 200, 200, 64)
    found = run(Side.LEADER_FINISHED, case)
    assert found.ttft_s[0] + min(found.ttft_s[1:]) >= found.total_s[0]
    assert min(found.restored_tokens[1:]) >= 192


def test_staggered_ones_arrive_when_they_should() -> None:
    case = Case(Kind.OVERLAP, 3, 200, 200, 4, stagger_s=0.02)
    began = time.monotonic()
    found = run(Side.ONDOL, case)
    assert time.monotonic() - began >= 0.04
    assert found.restored_tokens == (0, 199, 199)
    assert set(found.waited) <= {True}


def test_a_request_that_fails_is_told() -> None:
    def fail() -> None:
        raise StepFailed("no luck")

    runner = FakeRunner()
    runner.before_step = fail
    with pytest.raises(BenchError, match=r"could not complete a request: .*no luck"):
        engine(Side.ONDOL, runner).run(Case(Kind.IDENTICAL, 1, 200, 200, 8), [PROMPT])
