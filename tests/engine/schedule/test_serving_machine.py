"""Random days of a house: requests come and go, pins are wished for and dropped, memory is short.

Loop, scheduler, admission, pins and cache are the real ones; only the forward pass is a function of
the tokens before it, so that a wrong page anywhere is a wrong answer.
"""

from __future__ import annotations

import hypothesis.strategies as st
import pytest
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from engine.commands import Pressure
from engine.config import AdmissionMode, PrefillOrder, Publication, Release, WaitOrCompute
from engine.errors import DeadlinePassed, PromptTooLong
from engine.request import Failed, Finished, FinishReason, Priority, Request, Started
from engine.schedule.job import Job
from engine.snapshot import PinState
from tests.support.answers import answer_to
from tests.support.effort import LONG, long_histories
from tests.support.engine import request
from tests.support.fake_runner import check_states
from tests.support.stepping import SteppedLoop

KINDS = [((), False), ((10,), False), ((), True), ((7, 30), True)]
PIN_NAMES = st.sampled_from(["policy", "tools", "house"])
BEGINNINGS = [
    [1, *(n % 5 for n in range(99))],
    [1, *(n % 5 for n in range(45)), *[7] * 54],  # parts from the first inside a page
    [2, *[7] * 99],
]
ENDINGS = [[1] * 40, [1, 2] * 20, [3, 1, 2, 2] * 10]

beginnings = st.builds(
    lambda n, length: BEGINNINGS[n][:length], st.integers(0, 2), st.integers(1, 100)
)
prompts = st.builds(
    lambda tokens, n, length: tokens + ENDINGS[n][:length],
    beginnings,
    st.integers(0, 2),
    st.integers(0, 40),
)
requests = st.tuples(
    prompts,
    st.one_of(st.integers(0, 12), st.integers(20, 40)),  # most tokens of the answer
    st.sampled_from(["", "", "guest"]),
    st.sampled_from([Priority.INTERACTIVE, Priority.BACKGROUND]),
    st.sampled_from(["ann", "bob"]),
    st.sampled_from([None, None, None, 0.02, 0.1, 0.5]),  # deadline in seconds, a token takes 1 ms
    st.sampled_from([None, None, 0.05, 0.5]),  # wanted time to the first token
)


class ServingMachine(RuleBasedStateMachine):
    @initialize(
        budget=st.sampled_from([330, 420, 600]),
        max_running=st.sampled_from([1, 2, 8]),
        page_and_unit=st.sampled_from([(16, 1), (16, 16), (4, 1), (4, 2)]),
        storage_step=st.sampled_from([1, 16, 256]),
        stops=st.booleans(),
        kind=st.sampled_from(KINDS),
        checkpoint_share=st.sampled_from([1.0, 0.3, 0.0]),
        release=st.sampled_from([Release.BOUNDARY_PUBLISHED] * 3 + list(Release)),
        publication=st.sampled_from([Publication.INCREMENTAL] * 3 + list(Publication)),
        choice=st.sampled_from([WaitOrCompute.CHOOSE] * 3 + list(WaitOrCompute)),
        order=st.sampled_from(PrefillOrder),
        admission=st.sampled_from(AdmissionMode),
    )
    def begin(
        self,
        budget: int,
        max_running: int,
        page_and_unit: tuple[int, int],
        storage_step: int,
        stops: bool,
        kind: tuple[tuple[int, ...], bool],
        checkpoint_share: float,
        release: Release,
        publication: Publication,
        choice: WaitOrCompute,
        order: PrefillOrder,
        admission: AdmissionMode,
    ) -> None:
        windows, recurrent = kind
        page, unit = page_and_unit
        self.loop = SteppedLoop(
            budget_tokens=budget if kind == KINDS[0] else 2 * budget,
            windows=windows,
            recurrent=recurrent,
            checkpoint_share=checkpoint_share,
            release=release,
            publication=publication,
            wait_or_compute=choice,
            prefill_order=order,
            admission=admission,
            page_tokens=page,
            match_unit=unit,
            max_running=max_running,
            storage_step=storage_step,
            prefill_chunk=64,
            step_target_s=0.064,
            eos_ids=frozenset(range(100, 160)) if stops else frozenset(),
        )
        self.unit = unit
        self.least = self.loop.budget  # requests were cut to fit it
        self.asked: dict[str, Request] = {}
        self.cancelled: set[str] = set()
        self.pinned: dict[str, list[int]] = {}
        self.cut_short: set[str] = set()
        cut_short = self.loop.loop._cut_short

        def noted(job: Job) -> None:
            """Only who is alone, and only where pins have the rest."""
            assert self.loop.scheduler.running == [job]
            assert self.pinned or self.resized
            self.cut_short.add(job.request.id)
            cut_short(job)

        self.loop.loop._cut_short = noted
        self.resized = False

    @rule(asked=st.lists(requests, min_size=1, max_size=8))
    def submit(
        self,
        asked: list[tuple[list[int], int, str, Priority, str, float | None, float | None]],
    ) -> None:
        longest = self.loop.admission.max_tokens
        for prompt, max_tokens, salt, priority, client, deadline_s, target_s in asked:
            name, tokens = f"r{len(self.asked)}", prompt[:longest]
            self.asked[name] = request(
                name,
                tokens,
                min(max_tokens, longest - len(tokens)),
                salt=salt,
                priority=priority,
                client=client,
                deadline_s=deadline_s,
                ttft_target_s=target_s,
            )
            self.loop.submit(self.asked[name])

    @precondition(lambda self: self.asked)
    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.asked)))
        live = self.loop.scheduler.knows(name)
        self.loop.cancel(name)
        if live:
            self.cancelled.add(name)
            assert self.loop.finished(name).reason is FinishReason.ABORT

    @rule(name=PIN_NAMES, tokens=beginnings)
    def pin(self, name: str, tokens: list[int]) -> None:
        self.pinned[name] = tokens[:50]
        self.loop.pin(name, tokens[:50])

    @rule(name=PIN_NAMES)
    def unpin(self, name: str) -> None:
        self.pinned.pop(name, None)
        self.loop.unpin(name)

    @rule(on=st.booleans())
    def pause(self, on: bool) -> None:
        self.loop.pause(on)

    @rule(share=st.floats(0.0, 1.0))
    def evict(self, share: float) -> None:
        self.loop.cache.reclaim(int(share * self.loop.cache.used_bytes))

    @rule()
    def compact(self) -> None:
        while self.loop.cache.compact(self.loop.budget - self.loop.cache.used_bytes, 2):
            pass

    @rule()
    def make_way(self) -> None:
        """Somebody who runs has to, whether or not memory is short."""
        running = self.loop.scheduler.running
        victim = self.loop.scheduler.make_way(self.loop.clock())
        assert (victim is None) == (len(running) <= 1)
        if victim is not None:
            assert victim.priority == max(job.priority for job in running)
            self.loop.loop._tell_preempted(victim)

    @rule(on=st.booleans())
    def pressure(self, on: bool) -> None:
        self.loop.obey(Pressure(on))

    @rule(share=st.floats(0.7, 1.5))
    def resize(self, share: float) -> None:
        """Another budget, but none that those who run were not promised."""
        promised = self.loop.cache.held_bytes() + self.loop.admission.reserved_bytes(
            self.loop.scheduler.running
        )
        self.resized = True
        self.loop.budget = max(int(self.loop.budget * share), promised, self.least)
        self.loop.admission.budget = self.loop.budget
        self.loop.cache.reclaim(self.loop.cache.used_bytes - self.loop.budget)
        self.loop.scheduler.memory_freed()

    @rule(steps=st.sampled_from([1, 2, 5, 40]))
    def work(self, steps: int) -> None:
        for _ in range(steps):
            self.step()

    def step(self) -> None:
        """The loop checks the integrity of the cache itself after each."""
        self.loop.step()
        assert self.loop.cache.used_bytes <= self.loop.budget

    @invariant()
    def each_request_lives_or_has_ended_once(self) -> None:
        if not hasattr(self, "loop"):
            return
        for name in self.asked:
            ends = len(self.loop.ends(name))
            assert ends == (0 if self.loop.scheduler.knows(name) else 1)
        assert set(self.loop.pins) == set(self.pinned)

    @invariant()
    def only_those_who_run_are_waited_for(self) -> None:
        """So there are no cycles; and who waits holds nothing. Whose leader has gone, or has lost
        its row, waits no longer than to the next step."""
        if not hasattr(self, "loop"):
            return
        flights = self.loop.scheduler._flights
        for parked in flights.parked:
            assert parked.job.row is None
            assert parked.job.hold is None
            assert self.loop.scheduler.knows(parked.job.request.id)
            assert parked.leader.row is not None or parked.leader not in flights._leaders

    @invariant()
    def what_pins_hold_is_found(self) -> None:
        if not hasattr(self, "loop"):
            return
        for name, status in self.loop.pins.items():
            if status.state is PinState.READY:
                tokens = self.pinned[name]
                match = self.loop.cache.match(tokens)
                assert match.num_tokens >= len(tokens) // self.unit * self.unit
                check_states(match.views, tokens[: match.num_tokens])

    def teardown(self) -> None:
        if not hasattr(self, "loop"):
            return
        self.loop.pause(False)
        while not self.loop.idle:
            self.step()
        for each in self.asked.values():
            self.check_end(each)
        assert not self.loop.scheduler.running
        assert self.loop.scheduler.num_waiting == 0
        assert self.loop.cache.held_bytes() == self.loop.pin_keeper.held_bytes
        self.what_pins_hold_is_found()
        for name in list(self.pinned):
            self.loop.unpin(name)
        assert self.loop.cache.held_bytes() == 0
        assert self.loop.cache.clear()
        assert (self.loop.cache.used_bytes, self.loop.cache.roots) == (0, {})

    def check_end(self, each: Request) -> None:
        (end,) = self.loop.ends(each.id)
        events = self.loop.events[each.id]
        assert events[-1] is end
        answer = answer_to(each.prompt.tokens, each.max_tokens)
        told = self.loop.tokens(each.id)
        if isinstance(end, Failed) and isinstance(end.error, DeadlinePassed):
            assert each.deadline_s is not None
            assert told == answer[: len(told)]
            return
        if isinstance(end, Failed):
            assert isinstance(end.error, PromptTooLong)
            assert end.error.num_tokens > end.error.limit
            assert events == [end]
            return
        assert isinstance(end, Finished)
        assert (each.id in self.cancelled) == (end.reason is FinishReason.ABORT)
        if self.loop.cache.cost.dense:  # else it ends at a checkpoint, wherever that was left
            assert end.usage.cached_tokens % self.unit == 0
        assert end.usage.prompt_tokens == len(each.prompt.tokens)
        if end.reason is not FinishReason.ABORT:
            assert isinstance(events[0], Started)
            stop = [n for n, token in enumerate(answer) if token < 160 and self.loop.loop._eos_ids]
            answer = answer[: stop[0]] if stop else answer
            if each.id in self.cut_short:
                assert end.reason is FinishReason.LENGTH
                answer = answer[: len(told)]
                stop = []
            assert end.reason is (FinishReason.STOP if stop else FinishReason.LENGTH)
            assert told == answer
            assert end.usage.completion_tokens == len(told) + bool(stop)
        assert told == answer[: len(told)]


ServingMachine.TestCase.settings = long_histories(60, steps=100)
TestServing = pytest.mark.timeout(3600 if LONG else 120)(ServingMachine.TestCase)
