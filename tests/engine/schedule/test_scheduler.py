"""The scheduler: who starts, who waits, who runs in the next step."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from engine.cache.prefix_cache import Match
from engine.config import PrefillOrder
from engine.errors import DuplicateRequest, UnknownRequest
from engine.request import Priority
from engine.schedule.admission import GROWTH_SLACK_TOKENS, Admission
from engine.schedule.job import Job, Phase
from engine.schedule.scheduler import PATIENCE_S, Scheduler, Step
from tests.support.cache import compute, make_cache
from tests.support.engine import request
from tests.support.fake_runner import BYTES_PER_TOKEN

SLACK = GROWTH_SLACK_TOKENS


class CountingAdmission(Admission):
    """Counts how often it was asked whether a job fits."""

    asked = 0

    def shortfall_bytes(self, job: Job, running: Sequence[Job], match: Match | None = None) -> int:
        self.asked += 1
        return super().shortfall_bytes(job, running, match)


class Office:
    """A scheduler over a cache of its own, with shorthands. `budget` is in tokens."""

    def __init__(
        self,
        budget: int = 100_000,
        max_running: int = 16,
        chunk: int = 256,
        step_target_s: float = 1.0,
        order: PrefillOrder = PrefillOrder.LONGEST_CACHED,
        tokens_per_s: float = 200.0,
    ) -> None:
        self.cache = make_cache()
        self.admission = CountingAdmission(self.cache, budget * BYTES_PER_TOKEN)
        self.scheduler = Scheduler(
            self.cache,
            self.admission,
            max_running=max_running,
            prefill_chunk=chunk,
            step_target_s=step_target_s,
            prefill_order=order,
        )
        self.scheduler.cost.observe(0, 1000, 1000 / tokens_per_s)

    def add(
        self,
        name: str,
        num_tokens: int = 10,
        max_tokens: int = 5,
        at: float = 0.0,
        priority: Priority = Priority.INTERACTIVE,
    ) -> Job:
        """Prompts of different names share nothing."""
        tokens = [ord(name[0]) * 1000 + n for n in range(num_tokens)]
        job = Job(request(name, tokens, max_tokens, priority=priority), at, max_tokens)
        self.scheduler.add(job)
        return job

    def admit(self, now: float = 0.0) -> list[str]:
        started, hopeless = self.scheduler.admit(now)
        assert not hopeless
        return [job.request.id for job in started]

    def compute(self, job: Job, num_tokens: int | None = None) -> None:
        assert job.row is not None
        compute(self.cache, job.row, num_tokens)

    def decode(self, job: Job) -> None:
        """Bring a job to where it waits for one decode step."""
        assert job.row is not None
        compute(self.cache, job.row, job.row.num_uncomputed - 1)
        assert job.phase is Phase.DECODE

    def plan(self) -> Step:
        return self.scheduler.plan()


def test_an_empty_scheduler_has_nothing_to_do() -> None:
    office = Office()
    assert office.admit() == []
    assert not office.plan()
    assert (office.scheduler.running, office.scheduler.jobs, office.scheduler.num_waiting) == (
        [],
        [],
        0,
    )


@pytest.mark.parametrize(
    ("arrivals", "order"),
    [
        ([(2, 0), (0, 0), (1, 0)], [1, 2, 0]),
        ([(1, 3), (1, 1), (1, 2)], [1, 2, 0]),
        ([(2, 1), (1, 3), (1, 2), (0, 4)], [3, 2, 1, 0]),
    ],
)
def test_admission_is_by_priority_then_arrival_E8(
    arrivals: list[tuple[int, float]], order: list[int]
) -> None:
    office = Office()
    for n, (priority, at) in enumerate(arrivals):
        office.add(str(n), at=at, priority=Priority(priority))
    assert office.admit(now=7.0) == [str(n) for n in order]
    assert {job.admitted_at for job in office.scheduler.running} == {7.0}


def test_no_more_than_max_running_start() -> None:
    office = Office(max_running=3)
    jobs = [office.add(name) for name in "abcdefghij"]
    assert office.admit() == ["a", "b", "c"]
    assert (len(office.scheduler.running), office.scheduler.num_waiting) == (3, 7)
    assert office.admit() == []
    office.scheduler.remove(jobs[1])
    assert office.admit() == ["d"]


def test_the_first_that_does_not_fit_holds_back_those_behind_it() -> None:
    """Else small requests would starve a large one."""
    office = Office(budget=2000)
    running = office.add("a", 900, 100)
    assert office.admit() == ["a"]
    office.add("b", 900, 100)
    office.add("c", 10, 5, at=4.5)
    for _ in range(3):
        assert office.admit() == []
    office.scheduler.remove(running)
    assert office.admit() == ["b", "c"]


def test_a_blocked_queue_is_not_asked_again_until_memory_is_freed() -> None:
    office = Office(budget=1000)
    office.add("a", 400, 10)
    office.admit()
    office.add("b", 400, 10)
    before = office.admission.asked
    for _ in range(5):
        assert office.admit() == []
    assert office.admission.asked == before + 1
    office.scheduler.memory_freed()
    assert office.admit() == []
    assert office.admission.asked == before + 2


def test_a_more_urgent_arrival_is_tried_before_the_one_that_blocks() -> None:
    office = Office(budget=1500)
    office.add("a", 600, 100, at=1.0)
    office.admit()
    office.add("b", 600, 100, at=2.0, priority=Priority.BACKGROUND)
    assert office.admit() == []
    office.add("c", 10, 5, at=6.0, priority=Priority.BACKGROUND)
    assert office.admit() == [], "behind the one that blocks"
    office.add("d", 10, 5, at=7.0)
    assert office.admit() == ["d"]


def test_a_job_that_fits_nowhere_is_given_up_only_when_nothing_runs() -> None:
    office = Office(budget=1000)
    small = office.add("a", 10, 5)
    office.admit()
    large = office.add("b", 990, 10)
    behind = office.add("c", 10, 5, at=5.0)
    assert office.scheduler.admit(0.0) == ([], [])
    office.scheduler.remove(small)
    assert office.scheduler.admit(0.0) == ([behind], [large])
    office.scheduler.remove(large)
    assert not office.scheduler.knows("b")
    assert (large.row, behind.row is not None) == (None, True)


def test_a_request_of_exactly_the_budget_starts() -> None:
    office = Office(budget=1000)
    office.add("a", 1000 - SLACK - 10, 10)
    assert office.admit() == ["a"]
    other = Office(budget=1000)
    job = other.add("a", 1000 - SLACK - 10, 11)
    assert other.scheduler.admit(0.0) == ([], [job])


def test_ids_are_unique_among_live_jobs() -> None:
    office = Office()
    job = office.add("a")
    with pytest.raises(DuplicateRequest, match="id a is running already"):
        office.add("a")
    office.admit()
    with pytest.raises(DuplicateRequest):
        office.add("a")
    assert office.scheduler.jobs == [job]
    office.scheduler.remove(job)
    office.add("a")


def test_an_unknown_id_is_an_error() -> None:
    office = Office()
    job = office.add("a")
    office.scheduler.remove(job)
    with pytest.raises(UnknownRequest, match="No request with id a is live"):
        office.scheduler.remove(job)
    with pytest.raises(UnknownRequest):
        office.scheduler.get("a")
    assert not office.scheduler.knows("a")


def test_removing_a_job_closes_its_row_and_keeps_what_it_computed() -> None:
    office = Office()
    job = office.add("a", 40)
    office.admit()
    office.compute(job, 20)
    assert office.cache.held_bytes() == 20 * BYTES_PER_TOKEN
    office.scheduler.remove(job)
    assert (office.cache.rows, office.cache.held_bytes()) == ({}, 0)
    assert office.cache.match(job.request.prompt.tokens).num_tokens == 20


def test_every_job_that_decodes_does_and_one_prefill_goes_with_them() -> None:
    office = Office()
    jobs = [office.add(name, 200) for name in "abcd"]
    office.admit()
    for job in jobs[:2]:
        office.decode(job)
    step = office.plan()
    assert step.decode == tuple(jobs[:2])
    assert step.prefill in jobs[2:]
    assert step.chunk == 192, "a second at the rate assumed before anything is measured"


def test_a_prefill_alone_takes_the_full_chunk_and_beside_decodes_what_the_time_allows() -> None:
    office = Office(chunk=512, step_target_s=0.5)
    alone = office.add("a", 1000)
    office.admit()
    assert (office.plan().prefill, office.plan().chunk) == (alone, 512)
    beside = office.add("b", 100)
    office.admit()
    office.decode(beside)
    office.scheduler.rate.tokens_per_s = 300.0
    assert (office.plan().prefill, office.plan().chunk) == (alone, 128)
    office.scheduler.rate.tokens_per_s = 10.0
    assert office.plan().chunk == 64, "a prefill never stands still"
    office.scheduler.rate.tokens_per_s = 1e6
    assert office.plan().chunk == 512


def test_a_short_prompt_overtakes_a_long_one() -> None:
    office = Office(tokens_per_s=100.0)
    long = office.add("l", 2000, at=0.0)
    office.admit()
    office.compute(long, 256)
    short = office.add("s", 100, at=2.0)
    office.admit()
    assert office.plan().prefill is short
    office.decode(short)
    assert office.plan().prefill is long


def test_a_long_prompt_is_not_overtaken_for_ever() -> None:
    """Ten seconds of prefill; a new short prompt of half a second arrives whenever one is done."""
    office = Office(max_running=1000, tokens_per_s=100.0, order=PrefillOrder.SHORTEST)
    long = office.add("long", 1000, at=0.0)
    now, shorts = 0.0, 0
    while True:
        short = office.add(chr(200 + shorts), 50, at=now)
        office.admit()
        chosen = office.plan().prefill
        if chosen is long:
            break
        assert chosen is short
        office.decode(short)
        now, shorts = now + 0.5, shorts + 1
    assert now == pytest.approx(9.5, abs=0.51)
    assert 18 <= shorts <= 20


def test_priority_comes_before_length() -> None:
    office = Office()
    pin = office.add("p", 10, 0, at=0.0, priority=Priority.PIN)
    background = office.add("b", 20, at=0.0, priority=Priority.BACKGROUND)
    asked = office.add("i", 5000, at=50.0)
    office.admit()
    order = []
    for job in (asked, background, pin):
        order.append(office.plan().prefill)
        office.compute(job)
        office.scheduler.remove(job)
    assert order == [asked, background, pin]


def test_orders_of_prefill_S0_17() -> None:
    """A long prompt came first, a short one 1 s later; both are half computed when two more come:
    one whose beginning is known, and one as long that is new."""
    firsts = {}
    for order in PrefillOrder:
        office = Office(order=order, tokens_per_s=100.0)
        known = office.add("known", 800, 0)
        office.admit()
        office.compute(known)
        office.scheduler.remove(known)
        office.add("long", 900, at=1.0)
        office.add("short", 100, at=2.0)
        office.add("new", 500, at=3.0)
        office.add("known again", 850, at=4.0)
        office.admit()
        turns = []
        while (step := office.plan()).prefill is not None:
            job = step.prefill
            if job.request.id not in turns:
                turns.append(job.request.id)
            assert job.row is not None
            left = job.row.num_uncomputed - 1
            office.compute(job, min(step.chunk, left))
        firsts[order] = turns
    assert firsts == {
        PrefillOrder.FIRST_COME: ["long", "short", "new", "known again"],
        PrefillOrder.SHORTEST: ["short", "known again", "new", "long"],
        PrefillOrder.LONGEST_CACHED: ["known again", "short", "new", "long"],
        PrefillOrder.ROUND_ROBIN: ["long", "short", "new", "known again"],
    }


def test_round_robin_gives_everybody_a_chunk_in_turn() -> None:
    office = Office(order=PrefillOrder.ROUND_ROBIN)
    for at, name in enumerate("abc"):
        office.add(name, 1000, at=at)
    office.admit()
    turns = []
    for _ in range(7):
        job = office.plan().prefill
        assert job is not None
        turns.append(job.request.id)
        office.compute(job, 64)
    assert turns == ["a", "b", "c", "a", "b", "c", "a"]


def test_who_waits_is_chosen_by_what_is_cached_and_nobody_starves() -> None:
    """One may run at a time. A warm prompt overtakes a cold one that came 4 s before it, but not
    one that came earlier than the cold one takes to compute."""
    office = Office(max_running=1, tokens_per_s=100.0)
    known = office.add("known", 500, 0)
    office.admit()
    office.compute(known)
    office.add("cold", 400, at=1.0)
    office.add("known now", 500, at=5.0)
    office.add("known later", 500, at=16.0)
    order = []
    while office.scheduler.jobs:
        for job in office.scheduler.running:
            order.append(job.request.id)
            office.scheduler.remove(job)
        office.admit()
    assert order == ["known", "known now", "cold", "known later"]


@pytest.mark.parametrize("priority", [Priority.BACKGROUND, Priority.PIN])
def test_what_is_less_urgent_does_not_wait_for_ever(priority: Priority) -> None:
    """Somebody talks all the time; after two minutes the sweep is as urgent."""
    office = Office(max_running=1)
    office.add("b", 10, at=0.0, priority=priority)
    running = office.add("a", 10, at=0.0)
    started_at = None
    for now in range(1, 400):
        office.add(f"{chr(300 + now)}", 10, at=float(now))
        if running.row is not None:
            office.scheduler.remove(running)
        names = office.admit(now=float(now))
        if names:
            running = office.scheduler.get(names[0])
        if "b" in names:
            started_at = now
            break
    assert started_at == pytest.approx(PATIENCE_S, abs=2)


def test_a_step_looks_at_no_more_than_a_few_of_a_crowd() -> None:
    office = Office(max_running=1000)
    for n in range(100):
        office.add(chr(300 + n), 10, at=float(n))
    assert [len(office.admit()) for _ in range(5)] == [32, 32, 32, 4, 0]
