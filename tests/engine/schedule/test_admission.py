"""Admission arithmetic: what a job may come to need, what hits spare it, and what is left."""

from __future__ import annotations

import pytest

from engine.schedule.admission import GROWTH_SLACK_TOKENS, Admission
from engine.schedule.job import Job
from tests.support.cache import compute, make_cache, run
from tests.support.engine import request
from tests.support.fake_runner import BYTES_PER_TOKEN

SLACK = GROWTH_SLACK_TOKENS
PROMPT = list(range(1, 101))


def job(tokens: list[int], max_tokens: int, name: str = "job") -> Job:
    return Job(request(name, tokens, max_tokens), 0.0, max_tokens)


def in_tokens(num_bytes: int) -> int:
    assert num_bytes % BYTES_PER_TOKEN == 0
    return num_bytes // BYTES_PER_TOKEN


def test_the_longest_request_leaves_room_for_a_tails_growth() -> None:
    cache = make_cache()
    assert Admission(cache, 1000 * BYTES_PER_TOKEN).max_tokens == 1000 - SLACK
    assert Admission(cache, 1000 * BYTES_PER_TOKEN + 9).max_tokens == 1000 - SLACK
    assert Admission(cache, 10).max_tokens == 0


def test_a_cold_job_needs_prompt_answer_and_slack() -> None:
    admission = Admission(make_cache(), 1000 * BYTES_PER_TOKEN)
    assert in_tokens(admission.shortfall_bytes(job(PROMPT, 50), [])) == 100 + 50 + SLACK - 1000


@pytest.mark.parametrize(("max_tokens", "limit"), [(0, 100), (1, 99), (50, 99)])
def test_a_hit_leaves_the_token_whose_logits_begin_the_answer(max_tokens: int, limit: int) -> None:
    assert job(PROMPT, max_tokens).match_limit == limit


def test_a_hit_is_credited_and_costs_only_what_nobody_held() -> None:
    cache = make_cache()
    admission = Admission(cache, 1000 * BYTES_PER_TOKEN)
    run(cache, PROMPT)
    waiting = job([*PROMPT[:80], 900, 901], 50)
    unheld = in_tokens(admission.shortfall_bytes(waiting, []))
    assert unheld == 80 + (82 + 50 - 80) + SLACK - 1000
    cache.hold(cache.match(PROMPT[:60]), "another")
    partly = in_tokens(admission.shortfall_bytes(waiting, []))
    assert partly == unheld, "60 tokens are held already, 20 more would be"
    assert in_tokens(cache.newly_held_bytes(cache.match(PROMPT[:80]))) == 20


def test_sharing_jobs_pay_for_the_shared_part_once() -> None:
    cache = make_cache()
    admission = Admission(cache, 10_000 * BYTES_PER_TOKEN)
    run(cache, PROMPT)
    running = []
    need = []
    for n in range(4):
        one = job([*PROMPT, 900 + n], 20, f"r{n}")
        before = in_tokens(cache.held_bytes() + admission.reserved_bytes(running))
        need.append(in_tokens(admission.shortfall_bytes(one, running)) + 10_000 - before)
        one.row = cache.open_row(one.request.prompt.tokens, limit=one.match_limit)
        running.append(one)
    assert need == [100 + 21 + SLACK, *[21 + SLACK] * 3]


def test_what_running_jobs_reserve_shrinks_as_they_grow() -> None:
    cache = make_cache()
    admission = Admission(cache, 10_000 * BYTES_PER_TOKEN)
    one = job(PROMPT, 20)
    one.row = cache.open_row(PROMPT, limit=99)
    reserved, total = [], []
    for num_tokens in (0, 64, 36):
        compute(cache, one.row, num_tokens)
        reserved.append(in_tokens(admission.reserved_bytes([one])))
        total.append(reserved[-1] + in_tokens(cache.held_bytes()))
    assert reserved == [120 + SLACK, 56 + SLACK, 20 + SLACK]
    assert total == [120 + SLACK] * 3, "what is computed moves from reserved to held"


def test_evictable_memory_stands_in_nobodys_way() -> None:
    cache = make_cache()
    admission = Admission(cache, 500 * BYTES_PER_TOKEN)
    before = admission.shortfall_bytes(job([7] * 100, 50), [])
    run(cache, list(range(1000, 1400)))
    assert in_tokens(cache.used_bytes) == 400
    assert admission.shortfall_bytes(job([7] * 100, 50), []) == before


def test_asking_changes_nothing() -> None:
    cache = make_cache()
    run(cache, PROMPT)
    admission = Admission(cache, 500 * BYTES_PER_TOKEN)
    page = cache.match(PROMPT).last
    before = (page.hits, page.last_used, cache.used_bytes, cache.held_bytes())
    for _ in range(3):
        admission.shortfall_bytes(job(PROMPT, 50), [])
    assert (page.hits, page.last_used, cache.used_bytes, cache.held_bytes()) == before


@pytest.mark.parametrize(
    ("used", "wanted", "missing"),
    [(0, 0, 0), (0, 1280, 0), (0, 1281, 1 + 10), (640, 1000, 360 + 10)],
)
def test_room_is_made_a_little_at_a_time(used: int, wanted: int, missing: int) -> None:
    """A budget of 1,280 tokens; beyond what is missing, a 128th of it is asked for."""
    cache = make_cache()
    if used:
        run(cache, list(range(used)))
    admission = Admission(cache, 1280 * BYTES_PER_TOKEN)
    asked = admission.bytes_to_evict(wanted * BYTES_PER_TOKEN)
    assert max(0, asked) == missing * BYTES_PER_TOKEN


def test_what_is_hot_and_becomes_a_jobs_own_is_charged_once() -> None:
    """100 tokens are hot; whoever goes on from them leaves nothing to be kept beside it."""
    now = 5.0
    cache = make_cache(now=lambda: now)
    for _ in range(3):
        run(cache, PROMPT)
    assert in_tokens(cache.hot_bytes(now)) == 100
    admission = Admission(cache, 10_000 * BYTES_PER_TOKEN)
    running = [job([7] * 10, 5, "runs")]
    running[0].row = cache.open_row([7] * 10)
    goes_on, other = job([*PROMPT, 900], 50), job([8] * 101, 50)
    before = [admission.shortfall_bytes(each, running) for each in (goes_on, other)]
    admission.refresh(now)
    after = [admission.shortfall_bytes(each, running) for each in (goes_on, other)]
    assert in_tokens(admission.reserve_bytes) == 100
    added = [in_tokens(later - sooner) for later, sooner in zip(after, before, strict=True)]
    assert added == [0, 100]


def known(admission: Admission, prompt_tokens: int, answer_tokens: int) -> None:
    """The latest requests were all of this size."""
    for _ in range(8):
        admission.traffic.started(prompt_tokens, 0)
        admission.traffic.ended(answer_tokens)


def test_pins_leave_less_for_requests() -> None:
    admission = Admission(make_cache(), 10_000 * BYTES_PER_TOKEN)
    known(admission, 800, 200)
    assert admission.capacity().max_running == 10
    assert not admission.capacity().capped
    assert admission.capacity(5_000 * BYTES_PER_TOKEN).max_running == 5


def test_one_may_run_where_not_even_one_fits() -> None:
    admission = Admission(make_cache(), 500 * BYTES_PER_TOKEN)
    assert admission.capacity().max_running == 16, "as nothing is known yet"
    assert admission.capacity().capped
    known(admission, 800, 200)
    assert admission.capacity().max_running == 1
