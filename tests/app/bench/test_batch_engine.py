"""Clients in a closed loop over the engine's own steps. The runner is a fake one, whose steps take
next to no time."""

from __future__ import annotations

import pytest

from app.bench.batch_engine import BatchEngine
from app.bench.batch_traffic import Requests, Traffic
from app.bench.errors import BenchError
from engine.config import EngineConfig
from engine.errors import StepFailed
from engine.schedule.build import ScheduledModel
from tests.support.cache import IDENTITY
from tests.support.engine import word_codec
from tests.support.fake_runner import FakeLayers, FakeRunner

LAYERS = FakeLayers(step=16)
WORDS = range(100, 1_000)
TRAFFIC = Traffic(3, 100, (4, 8))


def engine(runner: FakeRunner | None = None, pool_tokens: int = 20_000) -> BatchEngine:
    model = ScheduledModel(
        IDENTITY,
        LAYERS.new_storage,
        LAYERS.cost,
        budget=pool_tokens * LAYERS.cost.bytes_per_token,
        prefill_chunk=64,
        step_target_s=1.0,
    )
    return BatchEngine(model, runner or FakeRunner(), word_codec(), EngineConfig())


def test_all_requests_are_served_and_the_first_do_not_count() -> None:
    requests = Requests(TRAFFIC, WORDS)
    served = engine()
    served.warm_up(requests.warm_up(), 1)
    point = served.serve(requests.mixed(20), clients=4, lead_in=4)
    assert (point.clients, point.requests) == (4, 16)
    # The assistants are warm: four fifths of every prompt are found.
    assert 0.8 <= point.hit_rate < 0.85
    assert 0 < point.ttft_p50_s <= point.ttft_p99_s
    assert 0 < point.gap_p50_s <= point.longest_gap_s
    assert point.tokens_per_s > 0
    assert (point.preemptions, point.evicted_pages) == (0, 0)


def test_without_a_warm_up_the_first_of_each_assistant_finds_nothing() -> None:
    point = engine().serve(Requests(TRAFFIC, WORDS).mixed(20), clients=1, lead_in=0)
    found = round(point.hit_rate * 20 * 100)
    assert 17 * 80 <= found <= 17 * 85


def test_what_does_not_fit_is_evicted_and_counted() -> None:
    requests = Requests(Traffic(3, 100, (4, 8), one_off_share=1.0), WORDS)
    point = engine(pool_tokens=800).serve(requests.mixed(40), clients=2, lead_in=2)
    # 40 requests of at least 104 tokens, of which the pool holds 800.
    assert point.evicted_pages >= (40 * 104 - 800) // 16 - 40


def test_nothing_is_left_of_an_earlier_point() -> None:
    served = engine()
    for _ in range(2):
        point = served.serve(Requests(TRAFFIC, WORDS).mixed(3), clients=1, lead_in=0)
        assert point.hit_rate < 0.6
        served.clear()


def test_a_request_that_fails_is_told() -> None:
    def fail() -> None:
        raise StepFailed("no luck")

    runner = FakeRunner()
    runner.before_step = fail
    with pytest.raises(BenchError, match=r"could not complete a request: .*no luck"):
        engine(runner).serve(Requests(TRAFFIC, WORDS).mixed(2), clients=1, lead_in=0)
