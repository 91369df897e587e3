"""The step loop: what is computed in which step, and what is told of it."""

from __future__ import annotations

import queue
from itertools import pairwise

import hypothesis.strategies as st
import pytest
from hypothesis import given

from engine.commands import Cancel, Command, Stop, Submit
from engine.config import Release
from engine.errors import DuplicateRequest, PromptTooLong
from engine.request import (
    Failed,
    Finished,
    FinishReason,
    Priority,
    Progress,
    Request,
    Started,
    Text,
    Usage,
)
from engine.snapshot import EngineState
from tests.support.answers import answer_to
from tests.support.effort import effort
from tests.support.engine import request
from tests.support.fake_runner import BYTES_PER_TOKEN
from tests.support.stepping import SteppedLoop

PROMPT = [10 + n % 50 for n in range(300)]


def check_told(loop: SteppedLoop, asked: Request) -> Finished:
    """What is told of a request that came to its own end: in order, complete, once."""
    events = loop.events[asked.id]
    kinds = [type(event) for event in events]
    assert (kinds[0], kinds[-1]) == (Started, Finished)
    assert (kinds.count(Started), kinds.count(Finished), kinds.count(Failed)) == (1, 1, 0)
    end = loop.finished(asked.id)
    started = loop.started(asked.id)
    num_prompt = len(asked.prompt.tokens)
    assert (started.prompt_tokens, started.cached_tokens) == (num_prompt, end.usage.cached_tokens)
    assert end.usage.prompt_tokens == num_prompt
    assert end.usage.computed_tokens + end.usage.cached_tokens == num_prompt
    done = [end.usage.cached_tokens, *loop.progress(asked.id)]
    assert all(before < after for before, after in pairwise(done))
    assert done[-1] <= num_prompt
    texts = [event for event in events if isinstance(event, Text)]
    assert all(text.text for text in texts)
    counts = [text.completion_tokens for text in texts]
    assert counts == sorted(counts)
    assert not counts or counts[-1] <= end.usage.completion_tokens
    return end


# One request


def test_a_request_from_its_start_to_its_end() -> None:
    loop = SteppedLoop(prefill_chunk=128)
    asked = request("a", PROMPT, 3)
    loop.serve(asked)
    end = check_told(loop, asked)
    assert loop.kinds("a") == [
        *[Started, Progress, Progress],
        *[Text, Text, Text, Finished],
    ]
    assert loop.progress("a") == [128, 256]
    assert loop.tokens("a") == answer_to(PROMPT, 3)
    assert (end.reason, end.usage) == (FinishReason.LENGTH, Usage(300, 0, 3))
    assert loop.runner.num_computed == 300 + 2
    assert loop.runner.num_forwards == 3 + 2


def test_times_are_those_of_the_clock() -> None:
    """A token takes a millisecond: 300 of prompt, whose last 44 bring the first answer token."""
    loop = SteppedLoop(prefill_chunk=256)
    loop.submit(request("a", PROMPT, 11))
    loop.clock.now += 2.0
    loop.finish_all()
    times = loop.finished("a").timings
    assert times.queue_s == pytest.approx(2.0)
    assert times.prefill_s == pytest.approx(0.300)
    assert times.ttft_s == pytest.approx(2.300)
    assert times.decode_s == pytest.approx(0.010)
    assert times.total_s == pytest.approx(2.310)


def test_a_warm_request_computes_its_last_prompt_token_in_one_forward() -> None:
    loop = SteppedLoop()
    loop.serve(request("cold", PROMPT, 4))
    before = loop.runner.num_forwards
    asked = request("warm", PROMPT, 4)
    loop.serve(asked)
    end = check_told(loop, asked)
    assert (end.usage.cached_tokens, loop.runner.num_forwards - before) == (299, 4)
    assert loop.tokens("warm") == loop.tokens("cold") == answer_to(PROMPT, 4)
    assert loop.kinds("warm") == [Started, Text, Text, Text, Text, Finished]


@pytest.mark.parametrize("num_tokens", [1, 2, 16, 17, 63, 64, 65, 128, 300])
def test_prompts_of_any_length(num_tokens: int) -> None:
    loop = SteppedLoop(prefill_chunk=64)
    asked = request("a", PROMPT[:num_tokens], 20)
    loop.serve(asked)
    check_told(loop, asked)
    assert loop.tokens("a") == answer_to(PROMPT[:num_tokens], 20)
    assert loop.runner.num_computed == num_tokens + 19


def test_no_answer_wanted_fills_the_cache_and_tells_its_progress() -> None:
    loop = SteppedLoop(prefill_chunk=128)
    loop.serve(request("fill", PROMPT, 0))
    assert loop.kinds("fill") == [Started, Progress, Progress, Progress, Finished]
    assert loop.progress("fill") == [128, 256, 300]
    (known,) = loop.serve(request("known", PROMPT, 0))
    assert (known.reason, known.usage) == (FinishReason.LENGTH, Usage(300, 300, 0))
    assert loop.kinds("known") == [Started, Finished]


def test_the_end_token_counts_and_has_no_text() -> None:
    answer = answer_to(PROMPT, 8)
    loop = SteppedLoop(eos_ids=frozenset({answer[5]}))
    asked = request("a", PROMPT, 50)
    (end,) = loop.serve(asked)
    check_told(loop, asked)
    assert (end.reason, end.usage.completion_tokens) == (FinishReason.STOP, 6)
    assert loop.tokens("a") == answer[:5]


def test_an_end_token_at_once_gives_an_empty_answer() -> None:
    loop = SteppedLoop(eos_ids=frozenset(answer_to(PROMPT, 1)))
    (end,) = loop.serve(request("a", PROMPT, 50))
    assert (end.reason, end.usage.completion_tokens, loop.text("a")) == (FinishReason.STOP, 1, "")
    assert end.timings.ttft_s == pytest.approx(0.3)


def test_a_stop_string_across_tokens_is_cut_and_ends_the_answer() -> None:
    first, second, third = (f"t{token}" for token in answer_to(PROMPT, 3))
    stop = second[-1] + third[:2]
    loop = SteppedLoop()
    asked = request("a", PROMPT, 50, stop=(stop,))
    (end,) = loop.serve(asked)
    check_told(loop, asked)
    whole = first + second + third
    assert loop.text("a") == whole[: whole.index(stop)]
    assert (end.reason, end.usage.completion_tokens) == (FinishReason.STOP, 3)


def test_text_held_back_for_a_stop_string_comes_with_the_end() -> None:
    *_, last = (f"t{token}" for token in answer_to(PROMPT, 3))
    loop = SteppedLoop()
    (end,) = loop.serve(request("a", PROMPT, 3, stop=(last + "never",)))
    assert end.reason is FinishReason.LENGTH
    assert loop.tokens("a") == answer_to(PROMPT, 3)
    assert [type(event) for event in loop.events["a"]][-2:] == [Text, Finished]


# Steps


def test_each_step_delivers_once_and_a_start_is_told_before_its_prefill() -> None:
    loop = SteppedLoop(prefill_chunk=64, max_running=2)
    loop.submit(*(request(name, [n, *PROMPT], 30) for n, name in enumerate("abcd")))
    while not loop.idle:
        batches = loop.step()
        starts = [batch for batch in batches if any(isinstance(event, Started) for event in batch)]
        assert len(batches) - len(starts) <= 1
        assert len(starts) <= 1
        if starts:
            assert batches[0] is starts[0], "the start is told first"
            assert all(isinstance(event, Started) for event in starts[0])
    assert (
        len([event for batch in loop.batches for event in batch if isinstance(event, Finished)])
        == 4
    )


def test_rows_that_decode_go_through_one_forward_and_one_chunk_goes_beside_them() -> None:
    loop = SteppedLoop(prefill_chunk=64)
    loop.serve(request("warm", PROMPT, 1))
    loop.submit(*(request(name, [*PROMPT, n], 9) for n, name in enumerate("abc")))
    loop.submit(request("long", [999] * 200, 2))
    loop.runner.forwards.clear()
    loop.step()
    assert sorted(loop.runner.forwards[0]) == ["a", "b", "c"]
    assert loop.runner.forwards[1:] == [["long"]]
    loop.finish_all()
    assert max(len(owners) for owners in loop.runner.forwards) == 4


def test_tokens_are_found_from_the_step_after_the_one_that_computed_them() -> None:
    loop = SteppedLoop(prefill_chunk=64, release=Release.INDEPENDENT)
    loop.submit(request("leader", PROMPT, 4))
    found = []
    for n in range(4):
        loop.step()
        loop.submit(request(f"follower{n}", PROMPT, 1))
        found.append(loop.cache.match(PROMPT).num_tokens)
    assert found[0] == 64
    loop.finish_all()
    cached = [loop.started(f"follower{n}").cached_tokens for n in range(4)]
    assert cached[0] == 64
    assert cached == sorted(cached)
    assert all(loop.tokens(f"follower{n}") == answer_to(PROMPT, 1) for n in range(4))


def test_a_short_prompt_is_answered_while_a_long_one_computes() -> None:
    loop = SteppedLoop(prefill_chunk=64)
    loop.submit(request("long", [7] * 3000, 1))
    loop.step()
    loop.submit(request("short", PROMPT[:50], 5))
    steps = loop.run_until(lambda: bool(loop.ends("short")))
    assert steps <= 6
    assert not loop.ends("long")
    loop.finish_all()
    assert loop.tokens("long") == answer_to([7] * 3000, 1)


def test_a_long_prompt_ends_in_time_however_many_short_ones_arrive() -> None:
    """5 s of prefill among short prompts of 0.1 s, of which a new one is always there."""
    loop = SteppedLoop(prefill_chunk=64)
    loop.submit(request("long", [7] * 5000, 1))
    arrived = 0
    while not loop.ends("long"):
        assert loop.clock.now < 30.0
        if all(loop.ends(f"s{n}") for n in range(arrived)):
            loop.submit(request(f"s{arrived}", [200 + arrived % 700, *PROMPT[:100]], 2))
            arrived += 1
        loop.step()
    long = loop.finished("long").timings
    assert arrived > 10, "short prompts did overtake"
    assert long.total_s < 2.5 * 5.0


# Ends


def test_cancelling_keeps_the_work_and_tells_the_end_at_once() -> None:
    loop = SteppedLoop(prefill_chunk=64)
    loop.submit(request("a", PROMPT, 30))
    for _ in range(2):
        loop.step()
    before = len(loop.batches)
    loop.cancel("a")
    (batch,) = loop.batches[before:]
    assert [type(event) for event in batch] == [Finished]
    end = loop.finished("a")
    assert (end.reason, end.usage) == (FinishReason.ABORT, Usage(300, 0, 0))
    assert loop.idle
    assert (loop.cache.held_bytes(), loop.cache.match(PROMPT).num_tokens) == (0, 128)
    loop.step()
    assert loop.ends("a") == [end], "nothing is told after the end"


def test_cancelling_one_that_waits_ends_it_without_a_start() -> None:
    loop = SteppedLoop(max_running=1)
    loop.submit(request("runs", PROMPT, 5), request("waits", PROMPT, 5))
    loop.step()
    loop.cancel("waits")
    assert loop.kinds("waits") == [Finished]
    assert loop.finished("waits").usage == Usage(300, 0, 0)
    loop.finish_all()
    assert loop.finished("runs").reason is FinishReason.LENGTH


def test_cancelling_one_that_decodes_keeps_its_text() -> None:
    loop = SteppedLoop()
    loop.submit(request("a", PROMPT, 30))
    loop.run_until(lambda: len(loop.tokens("a")) == 4)
    loop.cancel("a")
    assert loop.tokens("a") == answer_to(PROMPT, 4)
    assert loop.finished("a").usage.completion_tokens == 4
    assert loop.cache.match([*PROMPT, *answer_to(PROMPT, 4)]).num_tokens == 303


def test_a_cancel_that_crosses_the_end_is_no_error() -> None:
    loop = SteppedLoop()
    loop.serve(request("a", PROMPT, 2))
    before = len(loop.batches)
    loop.cancel("a")
    loop.cancel("never seen")
    assert len(loop.batches) == before


def test_a_request_that_can_never_fit_fails_with_the_figures() -> None:
    loop = SteppedLoop(budget_tokens=500)
    loop.submit(request("large", PROMPT, 5), request("small", PROMPT[:20], 5))
    loop.finish_all()
    (failed,) = loop.ends("large")
    assert isinstance(failed, Failed)
    assert isinstance(failed.error, PromptTooLong)
    assert str(failed.error).startswith("This prompt has 305 tokens > 244 tokens")
    assert loop.kinds("large") == [Failed]
    assert loop.finished("small").reason is FinishReason.LENGTH
    assert {record.id: record.reason for record in loop.records} == {
        "large": FinishReason.ERROR,
        "small": FinishReason.LENGTH,
    }


def test_a_second_request_of_a_live_id_is_an_error() -> None:
    loop = SteppedLoop()
    loop.submit(request("a", PROMPT, 5))
    with pytest.raises(DuplicateRequest):
        loop.submit(request("a", PROMPT, 5))
    loop.finish_all()
    assert len(loop.ends("a")) == 1


# Together


def test_priorities_order_the_starts() -> None:
    loop = SteppedLoop(max_running=1)
    for name, priority in (("pinlike", 2), ("background", 1), ("one", 0), ("two", 0)):
        loop.submit(request(name, PROMPT[:10], 1, priority=Priority(priority)))
        loop.clock.now += 0.1
    loop.finish_all()
    order = [
        event.request_id for batch in loop.batches for event in batch if isinstance(event, Started)
    ]
    assert order == ["one", "two", "background", "pinlike"]


def test_a_pause_starts_nothing_and_lets_running_requests_finish() -> None:
    loop = SteppedLoop()
    loop.submit(request("runs", PROMPT, 5))
    loop.step()
    loop.pause(True)
    loop.submit(request("waits", PROMPT, 5), request("leaves", PROMPT, 5))
    loop.pin("policy", [900] * 40)
    loop.run_until(lambda: bool(loop.ends("runs")))
    for _ in range(5):
        loop.step()
    assert (loop.kinds("waits"), loop.scheduler.num_waiting, loop.scheduler.running) == ([], 3, [])
    loop.cancel("leaves")
    assert loop.kinds("leaves") == [Finished]
    loop.pause(False)
    loop.finish_all()
    assert loop.tokens("waits") == answer_to(PROMPT, 5)
    assert loop.pins["policy"].done_tokens == 40


def test_counters_records_and_snapshot_agree() -> None:
    loop = SteppedLoop()
    loop.serve(request("a", PROMPT, 3))
    loop.serve(request("b", PROMPT, 4))
    loop.submit(request("c", [999] * 100, 50))
    loop.step()
    totals = loop.counters.totals()
    assert (totals.requests, totals.hits) == (3, 1)
    assert (totals.prompt_tokens, totals.cached_tokens, totals.completion_tokens) == (700, 299, 7)
    assert [(r.id, r.usage.cached_tokens, r.model) for r in loop.records] == [
        ("a", 0, "fake"),
        ("b", 299, "fake"),
    ]
    loop.clock.now += 1.0
    loop.step()
    seen = loop.loop.snapshot
    assert (seen.state, seen.num_running, seen.num_waiting) == (EngineState.BUSY, 1, 0)
    assert seen.memory.budget == loop.budget
    assert seen.memory.running == 256 * BYTES_PER_TOKEN
    assert seen.memory.used == loop.cache.used_bytes == seen.memory.running + seen.memory.resident
    assert (seen.num_pages, seen.num_parts) == (loop.cache.num_pages, len(loop.cache.parts))


def test_the_snapshot_tells_how_far_the_longest_prefill_is() -> None:
    loop = SteppedLoop()
    loop.pin("policy", [7] * 900)
    loop.submit(request("short", [8] * 100, 50), request("long", [9] * 800, 50))
    seen = set()
    while not loop.idle:
        loop.step()
        loop.loop._publish_snapshot(force=True)
        snapshot = loop.loop.snapshot
        seen.add((snapshot.prefill_done, snapshot.prefill_tokens))
    assert {(256, 800), (512, 800), (768, 800), (0, 0)} <= seen
    assert all(tokens in (0, 100, 800) for _, tokens in seen)


def test_run_serves_its_inbox_until_told_to_stop() -> None:
    """All commands are there before the loop begins; what comes after the stop is not looked at."""
    loop = SteppedLoop()
    inbox: queue.SimpleQueue[Command] = queue.SimpleQueue()
    for name in ("a", "b", "c"):
        inbox.put(Submit(request(name, PROMPT, 500), 500, loop.clock()))
    inbox.put(Cancel("b"))
    seen: list[int] = []

    def stop_at_step_9() -> None:
        seen.append(loop.scheduler.num_waiting)
        if len(seen) == 9:
            inbox.put(Stop())
            inbox.put(Submit(request("late", PROMPT, 1), 1, loop.clock()))

    loop.runner.before_step = stop_at_step_9
    loop.loop.run(inbox)
    assert loop.kinds("b") == [Finished]
    assert [loop.finished(name).reason for name in "abc"] == [FinishReason.ABORT] * 3
    assert "late" not in loop.events
    assert (loop.cache.rows, loop.cache.held_bytes()) == ({}, 0)
    snapshot = loop.loop.snapshot
    assert (snapshot.num_running, snapshot.num_waiting, snapshot.state) == (0, 0, EngineState.READY)
    assert loop.loop.step_started_at is None


REQUESTS = st.lists(
    st.tuples(
        st.integers(0, 3),  # which beginning
        st.integers(1, 120),  # how much of it
        st.lists(st.integers(1, 3), max_size=30),  # what follows
        st.integers(0, 25),  # most tokens of the answer
        st.integers(0, 3),  # steps until the next one arrives
    ),
    min_size=1,
    max_size=14,
)


@given(
    REQUESTS,
    st.sampled_from([360, 520, 1000]),
    st.sampled_from([1, 64, 256]),
    st.sampled_from([1, 3, 16]),
    st.sampled_from([1, 16]),
)
@effort(150)
def test_answers_are_right_and_the_budget_holds(
    asked: list[tuple[int, int, list[int], int, int]],
    budget: int,
    storage_step: int,
    max_running: int,
    unit: int,
) -> None:
    loop = SteppedLoop(
        budget_tokens=budget,
        match_unit=unit,
        max_running=max_running,
        storage_step=storage_step,
        prefill_chunk=64,
    )

    def step() -> None:
        loop.step()
        assert loop.cache.used_bytes <= loop.budget

    requests: dict[str, Request] = {}
    for n, (beginning, length, rest, max_tokens, pause) in enumerate(asked):
        tokens = [beginning * 10 + k % 7 for k in range(length)] + rest
        fitting = min(max_tokens, loop.admission.max_tokens - len(tokens))
        if fitting >= 0:
            requests[f"r{n}"] = request(f"r{n}", tokens, fitting)
            loop.submit(requests[f"r{n}"])
        for _ in range(pause):
            step()
    while not loop.idle:
        step()
    computed = 0
    for each in requests.values():
        end = check_told(loop, each)
        assert end.reason is FinishReason.LENGTH
        assert loop.tokens(each.id) == answer_to(each.prompt.tokens, each.max_tokens)
        computed += end.usage.computed_tokens + max(0, each.max_tokens - 1)
    assert loop.runner.num_computed == computed
    assert loop.cache.held_bytes() == 0
