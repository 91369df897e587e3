"""No prompt is computed twice at once: who computes, who waits, and for how long."""

from __future__ import annotations

import pytest

from engine.config import PrefillOrder, Publication, Release
from engine.request import FinishReason, Priority
from tests.support.answers import answer_to
from tests.support.engine import request
from tests.support.stepping import SteppedLoop

PROMPT = [(7 * n) % 500 + 1 for n in range(500)]
CHUNK = 64


def make_loop(release: Release = Release.BOUNDARY_PUBLISHED, **options: object) -> SteppedLoop:
    """Whoever comes first leads, unless another order is set."""
    options.setdefault("prefill_order", PrefillOrder.FIRST_COME)
    return SteppedLoop(prefill_chunk=CHUNK, release=release, **options)  # type: ignore[arg-type]


def cached(loop: SteppedLoop, *names: str) -> list[int]:
    return [loop.started(name).cached_tokens for name in names]


@pytest.mark.parametrize("group", [2, 4, 8])
@pytest.mark.parametrize("recurrent", [False, True])
def test_identical_prompts_are_computed_once(group: int, recurrent: bool) -> None:
    """One prompt and at most a page a follower (issue's bar); nobody gets another answer."""
    loop = make_loop(recurrent=recurrent)
    names = [f"r{n}" for n in range(group)]
    loop.serve(*(request(name, PROMPT, 5) for name in names))
    prompt_tokens = loop.runner.num_computed - group * 4  # answers after their first tokens
    assert prompt_tokens <= len(PROMPT) + 16 * (group - 1)
    assert cached(loop, *names) == [0] + [496] * (group - 1)
    for name in names:
        assert loop.tokens(name) == answer_to(PROMPT, 5)
        assert loop.finished(name).usage.awaited_tokens == (0 if name == "r0" else 496)
    assert loop.counters.awaited_tokens == 496 * (group - 1)


def test_independent_requests_compute_what_others_do() -> None:
    loop = make_loop(Release.INDEPENDENT)
    loop.serve(request("a", PROMPT, 2), request("b", PROMPT, 2))
    assert cached(loop, "a", "b") == [0, 0]
    assert loop.runner.num_computed == 2 * 501


def test_followers_wait_for_the_boundary_and_not_for_the_leader() -> None:
    """Eight questions on one document: each goes on from where it leaves the document."""
    loop = make_loop(prefill_order=PrefillOrder.LONGEST_CACHED)
    leader = [*PROMPT, *[600] * 300]
    followers = {f"q{n}": [*PROMPT[: 200 + 30 * n], *[700 + n] * 20] for n in range(8)}
    loop.submit(request("leader", leader, 2))
    loop.step()
    loop.submit(*(request(name, tokens, 2) for name, tokens in followers.items()))
    loop.step()
    assert loop.scheduler.num_parked == 8
    loop.run_until(lambda: bool(loop.ends("q0")))
    assert not loop.ends("leader")
    loop.finish_all()
    assert cached(loop, *followers) == [(200 + 30 * n) // 16 * 16 for n in range(8)]
    for name, tokens in {"leader": leader, **followers}.items():
        assert loop.tokens(name) == answer_to(tokens, 2)


def test_distinct_prompts_wait_for_nobody() -> None:
    loop = make_loop()
    loop.submit(*(request(f"r{n}", [n + 1] * 200, 2) for n in range(4)))
    loop.step()
    assert (loop.scheduler.num_parked, len(loop.scheduler.running)) == (0, 4)
    loop.finish_all()


def test_salts_do_not_wait_for_each_other() -> None:
    loop = make_loop()
    loop.serve(request("a", PROMPT, 1, salt="x"), request("b", PROMPT, 1, salt="y"))
    assert cached(loop, "a", "b") == [0, 0]


@pytest.mark.parametrize("recurrent", [False, True])
def test_a_leader_that_is_cancelled_hands_on_what_it_has(recurrent: bool) -> None:
    """Exactly one follower leads on, the others wait for that one: nothing is computed twice."""
    loop = make_loop(recurrent=recurrent)
    loop.submit(*(request(f"r{n}", PROMPT, 3) for n in range(5)))
    loop.run_until(lambda: loop.progress("r0")[-1:] >= [192])
    loop.cancel("r0")
    loop.step()
    assert (loop.scheduler.num_parked, len(loop.scheduler.running)) == (3, 1)
    assert loop.started("r1").cached_tokens == 192
    loop.finish_all()
    assert cached(loop, "r2", "r3", "r4") == [496] * 3
    assert loop.runner.num_computed <= 500 + 4 * (2 + 16)
    assert all(loop.tokens(f"r{n}") == answer_to(PROMPT, 3) for n in range(1, 5))


def test_a_follower_that_is_cancelled_is_gone() -> None:
    loop = make_loop()
    loop.submit(request("leader", PROMPT, 3), request("follower", PROMPT, 3))
    loop.step()
    assert loop.scheduler.num_parked == 1
    loop.cancel("follower")
    assert loop.scheduler.num_parked == 0
    assert loop.finished("follower").reason is FinishReason.ABORT
    loop.finish_all()
    assert loop.tokens("leader") == answer_to(PROMPT, 3)


def test_a_late_arrival_opens_a_new_flight_on_warm_pages_S0_9() -> None:
    """Just after the leader starts its answer nothing is left to wait for."""
    loop = make_loop()
    loop.submit(request("leader", PROMPT, 60))
    loop.run_until(lambda: bool(loop.text("leader")))
    loop.submit(request("late", PROMPT, 1))
    loop.step()
    assert loop.started("late").cached_tokens == 499
    assert bool(loop.ends("late"))
    loop.finish_all()


def test_a_late_arrival_waits_to_the_end_where_followers_do_S0_7() -> None:
    loop = make_loop(Release.LEADER_FINISHED)
    loop.submit(request("leader", PROMPT, 30))
    loop.run_until(lambda: bool(loop.text("leader")))
    loop.submit(request("late", PROMPT, 1))
    while not loop.ends("leader"):
        assert not loop.kinds("late")
        loop.step()
    loop.finish_all()
    assert loop.started("late").cached_tokens == 499


def test_prefill_finished_releases_at_the_first_token_S0_8() -> None:
    loop = make_loop(Release.PREFILL_FINISHED)
    loop.submit(request("leader", PROMPT, 30), request("follower", [*PROMPT[:100], 7, 8], 1))
    loop.run_until(lambda: bool(loop.text("leader")))
    assert not loop.kinds("follower")
    loop.step()
    assert loop.started("follower").cached_tokens == 100
    loop.finish_all()


def test_published_on_completion_two_cold_requests_share_nothing_K14() -> None:
    loop = make_loop(Release.INDEPENDENT, publication=Publication.ON_COMPLETION)
    loop.serve(request("a", PROMPT, 2), request("b", PROMPT, 2))
    assert cached(loop, "a", "b") == [0, 0]
    loop.serve(request("c", PROMPT, 1))
    assert cached(loop, "c") == [499]


def test_published_on_prefill_nothing_is_found_before() -> None:
    loop = make_loop(Release.INDEPENDENT, publication=Publication.ON_PREFILL)
    loop.submit(request("a", PROMPT, 20))
    loop.run_until(lambda: loop.progress("a")[-1:] >= [256])
    assert loop.cache.match(PROMPT).num_tokens == 0
    loop.run_until(lambda: bool(loop.text("a")))
    assert loop.cache.match(PROMPT).num_tokens == 500
    loop.finish_all()


def test_an_urgent_follower_makes_its_leader_urgent() -> None:
    """A background leader is behind a long interactive prompt, until somebody waits for it."""
    loop = make_loop()
    loop.submit(request("sweep", PROMPT, 1, priority=Priority.BACKGROUND))
    loop.step()
    loop.submit(request("talk", [900] * 2000, 1))
    loop.step()
    assert loop.progress("talk") == [64]
    before = loop.progress("sweep")
    loop.submit(request("urgent", PROMPT, 1))
    loop.step()
    assert loop.scheduler.num_parked == 1
    assert loop.progress("sweep")[-1] > before[-1]
    loop.run_until(lambda: loop.scheduler.num_parked == 0)
    assert not loop.ends("talk")
    loop.finish_all()


def test_patience_ends() -> None:
    """A leader that gets no turn for long is waited for no longer."""
    loop = make_loop()
    loop.submit(request("leader", PROMPT, 1))
    loop.step()
    loop.submit(request("follower", PROMPT, 1))
    loop.step()
    assert loop.scheduler.num_parked == 1
    loop.clock.now += 60.0
    loop.step()
    assert loop.scheduler.num_parked == 0
    assert loop.started("follower").cached_tokens == 128
    loop.finish_all()
    assert loop.tokens("follower") == answer_to(PROMPT, 1)


def test_what_was_published_for_a_follower_is_kept_until_it_starts() -> None:
    """Memory is short: others want room, but not that of pages somebody waits for."""
    loop = make_loop(budget_tokens=1600, storage_step=1, max_running=1)
    loop.submit(request("leader", PROMPT, 1), request("follower", [*PROMPT, 5, 6], 1))
    loop.finish_all()
    assert cached(loop, "follower")[0] >= 496


def test_a_row_on_record_says_for_whom_it_waited() -> None:
    loop = make_loop()
    loop.serve(request("leader", PROMPT, 1))
    loop.submit(request("first", [9, *PROMPT], 1), request("second", [9, *PROMPT], 1))
    loop.step()
    job = loop.scheduler.get("second")
    assert job.decision is not None
    assert (job.decision.leader_id, job.decision.boundary, job.decision.num_cached) == (
        "first",
        496,
        0,
    )
    assert 0 < job.decision.wait_s <= job.decision.compute_s
    loop.finish_all()


def test_who_waits_for_an_event_waits_however_long_it_takes_S0_7() -> None:
    """Expectations are about prompts; a leader that answers at length is no reason to compute."""
    loop = make_loop(
        Release.LEADER_FINISHED, publication=Publication.ON_COMPLETION, check_integrity=False
    )
    loop.submit(request("leader", PROMPT, 4800), request("follower", PROMPT, 2))
    loop.finish_all()
    assert loop.started("follower").cached_tokens == 499
    decision = next(record.decision for record in loop.records if record.id == "follower")
    assert decision is not None
    assert loop.finished("follower").timings.parked_s > decision.wait_s + 2.0 > 4.0


def test_nobody_waits_for_a_leader_that_has_gone_past_where_their_prompts_part() -> None:
    """Recurrent layers: it has left no state there, so there is nothing to wait for."""
    loop = make_loop(recurrent=True)
    loop.submit(request("leader", [*PROMPT, *[600] * 600], 2))
    loop.run_until(lambda: loop.runner.num_computed >= 320)
    loop.submit(request("follower", [*PROMPT[:200], *[601] * 40], 2))
    loop.step()
    assert loop.scheduler.num_parked == 0
    assert loop.scheduler.get("follower").decision is None
    loop.finish_all()
    assert loop.finished("follower").timings.parked_s == 0
    assert loop.tokens("follower") == answer_to([*PROMPT[:200], *[601] * 40], 2)


def test_a_prompt_that_extends_a_leaders_takes_up_what_it_can_leave() -> None:
    """Recurrent layers: after the last token of a prompt of whole pages no state is left, a page
    before it there is."""
    loop = make_loop(recurrent=True)
    loop.submit(request("leader", PROMPT[:320], 100))
    loop.step()
    loop.submit(request("longer", PROMPT[:400], 2))
    loop.step()
    assert loop.scheduler.num_parked == 1
    loop.run_until(lambda: bool(loop.ends("longer")))
    assert not loop.ends("leader")
    assert cached(loop, "longer") == [304]
    assert loop.tokens("longer") == answer_to(PROMPT[:400], 2)


@pytest.mark.parametrize("ends", ["released", "cancelled"])
def test_what_was_lent_goes_back(ends: str) -> None:
    """A batch is urgent for as long as somebody who is urgent waits for it, and no longer."""
    loop = make_loop(prefill_order=PrefillOrder.LONGEST_CACHED)
    batch = [*PROMPT, *[600] * 900]
    loop.submit(request("batch", batch, 2, priority=Priority.BACKGROUND))
    loop.step()
    loop.submit(request("asks", [*PROMPT[:320], 601], 2))
    loop.step()
    leader = loop.scheduler.get("batch")
    assert (loop.scheduler.num_parked, leader.priority) == (1, Priority.INTERACTIVE)
    assert leader.lent is not None
    if ends == "cancelled":
        loop.cancel("asks")
    else:
        loop.run_until(lambda: bool(loop.ends("asks")))
    assert not loop.ends("batch")
    assert (leader.priority, leader.lent) == (Priority.BACKGROUND, None)
    loop.finish_all()


def test_who_makes_way_keeps_nothing_that_was_lent() -> None:
    loop = make_loop(prefill_order=PrefillOrder.LONGEST_CACHED)
    loop.submit(request("other", [900] * 20, 50))
    loop.step()
    loop.submit(request("batch", PROMPT, 2, priority=Priority.BACKGROUND))
    loop.step()
    loop.submit(request("asks", [*PROMPT[:320], 601], 2))
    loop.step()
    leader = loop.scheduler.get("batch")
    assert leader.priority is Priority.INTERACTIVE
    assert loop.scheduler.make_way(loop.clock()) is leader
    assert (leader.priority, leader.lent) == (Priority.BACKGROUND, None)
    loop.finish_all()
    assert loop.tokens("asks") == answer_to([*PROMPT[:320], 601], 2)
