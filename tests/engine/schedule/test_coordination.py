"""Wait or compute: which is expected to be sooner, what a client asked for, what is recorded."""

from __future__ import annotations

import pytest

from engine.config import PrefillOrder, Release, WaitOrCompute
from engine.request import Priority, Segment
from engine.schedule.job import Job
from tests.support.answers import answer_to
from tests.support.engine import request
from tests.support.stepping import TOKENS_PER_S, SteppedLoop

DOCUMENT = [(7 * n) % 500 + 1 for n in range(1000)]
QUESTION = [*DOCUMENT[:960], *[600] * 40]
CHUNK = 64


def begun(computed: int = 320, **options: object) -> SteppedLoop:
    """Somebody computes the document and has come so far."""
    loop = SteppedLoop(prefill_chunk=CHUNK, **options)  # type: ignore[arg-type]
    loop.submit(request("leader", DOCUMENT, 2))
    loop.run_until(lambda: loop.runner.num_computed >= computed)
    return loop


def decided(loop: SteppedLoop, name: str) -> tuple[bool, int, int]:
    decision = loop.scheduler.get(name).decision
    assert decision is not None
    return decision.waited, decision.boundary, decision.num_cached


def test_the_decision_and_its_numbers_are_on_record() -> None:
    loop = begun()
    loop.serve(request("follower", QUESTION, 2))
    (record,) = [record for record in loop.records if record.id == "follower"]
    decision = record.decision
    assert decision is not None
    assert (decision.waited, decision.leader_id) == (True, "leader")
    assert (decision.boundary, decision.num_cached) == (960, 320)
    # The leader has 640 tokens to go until their prompts part, and 40 more are the follower's own.
    assert decision.wait_s == pytest.approx(680 / TOKENS_PER_S, rel=0.01)
    # Alone, it would compute 680 tokens too, and the leader with its as many first.
    assert decision.compute_s == pytest.approx((680 + 680) / TOKENS_PER_S, rel=0.01)
    assert record.timings.parked_s == pytest.approx(640 / TOKENS_PER_S, abs=CHUNK / TOKENS_PER_S)
    assert record.timings.queue_s >= record.timings.parked_s
    text = loop.metrics.render(loop.loop.snapshot)[0].decode()
    assert 'ondol:wait_or_compute_total{choice="wait",engine="0",model_name="fake"} 1.0' in text


@pytest.mark.parametrize(
    ("choice", "waits", "computed"),
    [
        (WaitOrCompute.CHOOSE, True, 1000 + 40),
        (WaitOrCompute.WAIT, True, 1000 + 40),
        (WaitOrCompute.COMPUTE, False, 1000 + 680),
    ],
)
def test_the_choice_can_be_taken_away(choice: WaitOrCompute, waits: bool, computed: int) -> None:
    loop = begun(wait_or_compute=choice)
    loop.submit(request("follower", QUESTION, 2))
    loop.step()
    assert decided(loop, "follower") == (waits, 960, 320)
    loop.finish_all()
    assert loop.runner.num_computed == computed + 2
    assert loop.tokens("follower") == answer_to(QUESTION, 2)


@pytest.mark.parametrize(
    ("target_s", "waits"),
    [
        (None, True),  # 0.10 s against 0.22 s
        (5.0, True),
        (0.15, True),
        (0.05, True),  # neither is soon enough: the sooner of both
    ],
)
def test_a_wanted_time_is_heeded_where_waiting_is_sooner(
    target_s: float | None, waits: bool
) -> None:
    loop = begun(64)
    loop.submit(request("asks", [*DOCUMENT[:160], 601], 1, ttft_target_s=target_s))
    loop.step()
    assert decided(loop, "asks")[0] is waits


def test_a_leader_goes_when_those_who_wait_for_it_would() -> None:
    """It stands behind another prompt, before which a short one goes: it lends its place."""
    loop = SteppedLoop(prefill_chunk=CHUNK, prefill_order=PrefillOrder.SHORTEST)
    loop.submit(request("leader", DOCUMENT, 1))
    loop.step()
    loop.submit(request("between", [900 + n % 90 for n in range(600)], 1))
    loop.step()
    assert loop.scheduler.get("between").row.num_computed == CHUNK
    loop.submit(request("asks", [*DOCUMENT[:160], 601], 1))
    leader, between = loop.scheduler.get("leader"), loop.scheduler.get("between")
    loop.run_until(lambda: leader.row.num_computed == 160)
    assert between.row.num_computed == CHUNK
    loop.step()
    assert loop.started("asks").cached_tokens == 160
    assert (leader.row.num_computed, leader.lent) == (160, None)
    assert between.row.num_computed > CHUNK, "the leader's own rest has its own place"


@pytest.mark.parametrize(
    ("wait_s", "compute_s", "target_s", "waits"),
    [
        (1.0, 2.0, None, True),
        (2.0, 1.0, None, False),
        (1.04, 1.0, None, True),  # as good as equal: waiting spares the work
        (1.06, 1.0, None, False),
        (2.0, 1.0, 3.0, True),  # both are soon enough
        (2.0, 1.0, 1.5, False),  # only computing is
        (1.0, 2.0, 1.5, True),  # only waiting is
        (2.0, 1.0, 0.5, False),  # neither is: the sooner of both
        (1.0, 2.0, 0.5, True),
    ],
)
def test_which_of_two_expectations_is_chosen(
    wait_s: float, compute_s: float, target_s: float | None, waits: bool
) -> None:
    loop = SteppedLoop()
    job = Job(request("asks", DOCUMENT, 1, ttft_target_s=target_s), 10.0, 1)
    coordinator = loop.scheduler._coordinator
    assert coordinator._waits(job, wait_s, compute_s, now=10.0) is waits
    if target_s is not None:  # of the time it had, some has gone
        later = 10.0 + target_s
        assert coordinator._waits(job, wait_s, compute_s, now=later) is (wait_s <= compute_s)


@pytest.mark.parametrize("order", PrefillOrder)
def test_identical_prompts_among_others_are_computed_once(order: PrefillOrder) -> None:
    """A leader that is a token longer sorts behind them, and others of their length before it."""
    shared = DOCUMENT[:400]
    loop = SteppedLoop(prefill_chunk=CHUNK, prefill_order=order, max_running=32)
    loop.submit(
        request("other", [900 + n % 90 for n in range(400)], 1),
        request("leader", [*shared, 601], 1),
        *(request(f"tail{n}", [*shared, 602 + n, 7, 7], 1) for n in range(16)),
        *(request(f"same{n}", shared, 1) for n in range(6)),
    )
    loop.finish_all()
    distinct = 400 + 400 + 1 + 16 * 3
    assert loop.runner.num_computed <= distinct + 16 * 23


def test_who_waits_for_a_background_request_makes_it_urgent() -> None:
    loop = SteppedLoop(prefill_chunk=CHUNK)
    loop.submit(request("sweep", DOCUMENT, 1, priority=Priority.BACKGROUND))
    loop.step()
    loop.submit(request("other", [700 + n % 99 for n in range(600)], 1))
    loop.step()
    before = loop.scheduler.get("sweep").row
    assert before is not None
    stood = before.num_computed
    loop.step()
    assert before.num_computed == stood, "somebody waits for another answer"
    loop.submit(request("asks", QUESTION, 1))
    loop.run_until(lambda: bool(loop.ends("asks")))
    assert loop.started("asks").cached_tokens == 960
    assert loop.scheduler.knows("sweep") or loop.ends("sweep")


@pytest.mark.parametrize("order", PrefillOrder)
def test_in_every_order_the_common_part_is_computed_once(order: PrefillOrder) -> None:
    loop = begun(prefill_order=order)
    loop.serve(request("follower", QUESTION, 2))
    assert loop.runner.num_computed == 1000 + 40 + 2


def test_independent_requests_have_nothing_to_decide() -> None:
    loop = begun(release=Release.INDEPENDENT)
    loop.serve(request("follower", QUESTION, 2))
    assert [record.decision for record in loop.records] == [None, None]


@pytest.mark.parametrize("busy", [False, True])
def test_on_recurrent_layers_the_second_to_come_finds_the_junction(busy: bool) -> None:
    """Two that wait share a prefix: the first leaves a checkpoint where they part, so the second is
    a hit already, whether or not it could start beside the first."""
    loop = SteppedLoop(prefill_chunk=256, recurrent=True, max_running=1 if busy else 16)
    first = [*DOCUMENT[:500], *[601] * 300]
    second = [*DOCUMENT[:500], *[602] * 300]
    segments = (Segment("system", 0, 100), Segment("messages", 100, 800))
    loop.serve(
        request("first", first, 2, segments=segments),
        request("second", second, 2, segments=segments),
    )
    assert loop.started("second").cached_tokens == 496
    assert loop.tokens("second") == answer_to(second, 2)


def test_the_junction_is_left_for_one_that_comes_later_and_cannot_start() -> None:
    loop = SteppedLoop(prefill_chunk=64, recurrent=True, max_running=1)
    loop.submit(request("first", [*DOCUMENT[:500], *[601] * 300], 2))
    loop.step()
    loop.submit(request("blocks", [9] * 50, 2), request("second", [*DOCUMENT[:500], 602], 2))
    loop.finish_all()
    assert loop.started("second").cached_tokens == 496
