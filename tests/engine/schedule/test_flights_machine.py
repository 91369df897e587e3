"""Random arrivals, progress, cancels and failures against what flights promise: nobody waits in a
circle or for ever, every request ends once, and no page is computed twice while the one who
computes it lives."""

from __future__ import annotations

from collections import Counter

import hypothesis.strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from engine.config import PrefillOrder, WaitOrCompute
from engine.errors import StepFailed
from engine.request import Failed, FinishReason, Priority, Request
from engine.schedule.job import Job
from tests.support.answers import answer_to
from tests.support.effort import long_histories
from tests.support.engine import request
from tests.support.stepping import SteppedLoop

PAGE = 16
TRUNK = [(7 * n) % 500 + 1 for n in range(400)]

# Identical prompts, beginnings of each other, and branches that leave the trunk inside a page.
prompts = st.builds(
    lambda common, own, ending: [*TRUNK[:common], *[600 + own] * ending],
    st.sampled_from([0, 30, 64, 100, 200, 200, 400]),
    st.integers(0, 3),
    st.sampled_from([1, 1, 20, 70, 150]),
)
arrivals = st.lists(
    st.tuples(
        prompts,
        st.integers(0, 6),
        st.sampled_from([Priority.INTERACTIVE, Priority.INTERACTIVE, Priority.BACKGROUND]),
    ),
    min_size=1,
    max_size=8,
)


class FlightsMachine(RuleBasedStateMachine):
    @initialize(
        order=st.sampled_from(PrefillOrder),
        chunk=st.sampled_from([64, 128]),
        max_running=st.sampled_from([2, 16]),
        recurrent=st.booleans(),
    )
    def begin(self, order: PrefillOrder, chunk: int, max_running: int, recurrent: bool) -> None:
        self.loop = SteppedLoop(
            prefill_chunk=chunk,
            prefill_order=order,
            max_running=max_running,
            recurrent=recurrent,
            wait_or_compute=WaitOrCompute.WAIT,
        )
        self.loop.runner.before_step = self.maybe_fail
        self.fails = False
        self.asked: dict[str, Request] = {}
        self.cancelled: set[str] = set()
        self.jobs: dict[str, Job] = {}
        self.recurrent = recurrent
        # Who computed a page, by its prefix, and as the how manieth.
        self.computed_by: dict[tuple[int, ...], tuple[str, int]] = {}
        self.stood_at: dict[str, int] = {}
        self.num_pages_before: dict[str, int] = {}  # when somebody was first seen to run

    def maybe_fail(self) -> None:
        if self.fails:
            self.fails = False
            raise StepFailed("the device is busy with something else")

    @rule(several=arrivals)
    def arrive(self, several: list[tuple[list[int], int, Priority]]) -> None:
        for tokens, answer, priority in several:
            name = f"r{len(self.asked)}"
            self.asked[name] = request(name, tokens, answer, priority=priority)
            self.loop.submit(self.asked[name])
            self.jobs[name] = self.loop.scheduler.get(name)

    @rule(steps=st.sampled_from([1, 1, 3, 10]))
    def progress(self, steps: int) -> None:
        for _ in range(steps):
            self.step()

    def step(self) -> None:
        before = {job.request.id: job for job in self.loop.scheduler.running}
        self.loop.step()
        live = {job.request.id: job for job in self.loop.scheduler.running} | before
        for name, job in live.items():
            self.note_pages(name, job)

    def note_pages(self, name: str, job: Job) -> None:
        """A row that ended has no more to tell than its prompt, which it had computed by then."""
        tokens = self.asked[name].prompt.tokens
        began = self.stood_at.setdefault(name, job.num_cached)
        num_before = self.num_pages_before.setdefault(name, len(self.computed_by))
        at = began
        if job.row is not None:
            at = min(job.row.num_computed, len(tokens))
        elif job.num_generated:
            at = len(tokens)
        for end in range(began // PAGE * PAGE + PAGE, at // PAGE * PAGE + 1, PAGE):
            if end - PAGE < began:
                continue  # it took up inside the page
            first, number = self.computed_by.setdefault(tokens[:end], (name, len(self.computed_by)))
            # Recurrent layers: what had been computed before it came may have left no state.
            gone_past = self.recurrent and number < num_before
            # And none is left right after the last token of a prompt.
            at_the_end = self.recurrent and end in (
                len(tokens),
                len(self.asked[first].prompt.tokens),
            )
            excused = gone_past or at_the_end or not job.patient
            excused = excused or not self.loop.scheduler.knows(first)
            assert first == name or excused, f"{name} computes what {first} has computed"
        self.stood_at[name] = max(began, at)

    @precondition(lambda self: self.loop.scheduler.jobs)
    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(j.request.id for j in self.loop.scheduler.jobs)))
        self.loop.cancel(name)
        self.cancelled.add(name)

    @rule()
    def fail(self) -> None:
        """The next forward pass fails."""
        self.fails = True

    @invariant()
    def only_those_who_run_are_waited_for(self) -> None:
        if not hasattr(self, "loop"):
            return
        for parked in self.loop.scheduler._flights.parked:
            assert parked.job.row is None
            assert parked.job.hold is None
            live = self.loop.scheduler.knows(parked.leader.request.id)
            assert parked.leader.row is not None or not live

    @invariant()
    def each_ends_once(self) -> None:
        if not hasattr(self, "loop"):
            return
        ends = Counter({name: len(self.loop.ends(name)) for name in self.asked})
        for name, count in ends.items():
            assert count == (0 if self.loop.scheduler.knows(name) else 1)

    def teardown(self) -> None:
        if not hasattr(self, "loop"):
            return
        self.fails = False
        steps = 0
        while not self.loop.idle:
            self.step()
            steps += 1
            assert steps < 20 * (10 + 60 * len(self.asked)), "somebody waits for ever"
        for name, each in self.asked.items():
            (end,) = self.loop.ends(name)
            answer = answer_to(each.prompt.tokens, each.max_tokens)
            told = self.loop.tokens(name)
            if isinstance(end, Failed) or end.reason is FinishReason.ABORT:
                assert told == answer[: len(told)]
            else:
                assert told == answer
        assert self.loop.cache.held_bytes() == 0


FlightsMachine.TestCase.settings = long_histories(60, steps=30)
TestFlights = FlightsMachine.TestCase
