"""The engine from outside: answers, life, death, pins. Real threads over the fake runner."""

from __future__ import annotations

import threading

import pytest

from engine.config import EngineConfig
from engine.errors import (
    DuplicateRequest,
    EmptyPrompt,
    EngineFailed,
    EngineUnavailable,
    PinRefused,
    PromptTooLong,
    QueueFull,
    UnknownPin,
    UnknownRequest,
)
from engine.pins import PinSpec
from engine.prompt.chat import Message
from engine.request import (
    Failed,
    Finished,
    FinishReason,
    Priority,
    RequestRecord,
    Timings,
    Usage,
)
from engine.snapshot import EngineState, PinState, Snapshot
from tests.support.engine import CONTEXT_WINDOW, request, running_engine
from tests.support.fake_runner import BYTES_PER_TOKEN, FakeRunner, expected_answer
from tests.support.waiting import wait_until

PROMPT = [10 + n % 50 for n in range(300)]


class Gate:
    """Blocks the engine thread at its next step until opened."""

    def __init__(self) -> None:
        self.reached, self.opened = threading.Event(), threading.Event()

    def __call__(self) -> None:
        self.reached.set()
        assert self.opened.wait(20)


def test_answer_is_that_of_a_fresh_run_and_the_second_is_warm() -> None:
    with running_engine() as (engine, runner, listener):
        engine.submit(request("cold", PROMPT, 40))
        cold = listener.wait("cold")
        engine.submit(request("warm", PROMPT, 40))
        warm = listener.wait("warm")
    assert isinstance(cold, Finished)
    assert isinstance(warm, Finished)
    assert listener.tokens("cold") == listener.tokens("warm") == expected_answer(PROMPT, 40)
    assert (cold.usage.cached_tokens, cold.usage.computed_tokens, cold.usage.completion_tokens) == (
        0,
        300,
        40,
    )
    assert (warm.usage.cached_tokens, warm.usage.computed_tokens) == (299, 1)
    assert cold.reason is FinishReason.LENGTH
    assert runner.num_computed == 300 + 39 + 1 + 39
    assert 0 < warm.timings.ttft_s <= warm.timings.total_s


def test_many_at_once_each_get_their_own_answer() -> None:
    prompts = {f"r{n}": [*PROMPT[: 20 + 31 * n], 500 + n] for n in range(9)}
    with running_engine(EngineConfig(check_integrity=True, max_running=8, prefill_chunk=64)) as (
        engine,
        _,
        listener,
    ):
        for name, tokens in prompts.items():
            engine.submit(request(name, tokens, 25))
        ends = {name: listener.wait(name) for name in prompts}
    for name, tokens in prompts.items():
        assert isinstance(ends[name], Finished)
        assert listener.tokens(name) == expected_answer(tokens, 25)


def test_cancel_keeps_what_was_computed_and_frees_the_rest() -> None:
    gate = Gate()
    with running_engine(EngineConfig(check_integrity=True, prefill_chunk=64)) as (
        engine,
        runner,
        listener,
    ):
        runner.before_step = gate
        engine.submit(request("gone", PROMPT, 10))
        assert gate.reached.wait(20)
        engine.cancel("gone")
        gate.opened.set()
        end = listener.wait("gone")
        engine.submit(request("again", PROMPT, 10))
        again = listener.wait("again")
        with pytest.raises(UnknownRequest):
            engine.cancel("gone")
    assert isinstance(end, Finished)
    assert end.reason is FinishReason.ABORT
    assert isinstance(again, Finished)
    assert again.usage.cached_tokens == 64
    assert listener.tokens("again") == expected_answer(PROMPT, 10)


def test_end_of_sequence_and_stop_strings_end_the_answer() -> None:
    answer = expected_answer(PROMPT, 12)
    with running_engine(eos_ids=frozenset({answer[5]})) as (engine, _, listener):
        engine.submit(request("eos", PROMPT, 12))
        eos = listener.wait("eos")
        engine.submit(request("stop", PROMPT, 12, stop=(f"t{answer[2]}t{answer[3]}",)))
        stop = listener.wait("stop")
    assert isinstance(eos, Finished)
    assert isinstance(stop, Finished)
    assert (eos.reason, eos.usage.completion_tokens) == (FinishReason.STOP, 6)
    assert listener.tokens("eos") == answer[:5]
    assert (stop.reason, stop.usage.completion_tokens) == (FinishReason.STOP, 4)
    assert listener.tokens("stop") == answer[:2]


def test_no_tokens_wanted_fills_the_cache() -> None:
    with running_engine() as (engine, runner, listener):
        engine.submit(request("fill", PROMPT, 0))
        fill = listener.wait("fill")
        engine.submit(request("fill again", PROMPT, 0))
        again = listener.wait("fill again")
    assert isinstance(fill, Finished)
    assert isinstance(again, Finished)
    assert fill.reason is again.reason is FinishReason.LENGTH
    assert (fill.usage.completion_tokens, again.usage.cached_tokens, runner.num_computed) == (
        0,
        300,
        300,
    )


def test_salts_never_share() -> None:
    with running_engine() as (engine, _, listener):
        for name, salt in (("a", "one"), ("b", "two"), ("c", "one")):
            engine.submit(request(name, PROMPT, 2, salt=salt))
            listener.wait(name)
    assert [listener.wait(name).usage.cached_tokens for name in "abc"] == [0, 0, 299]  # type: ignore[union-attr]


def test_bad_requests_are_refused_at_once() -> None:
    gate = Gate()
    config = EngineConfig(max_running=1, max_queue=1)
    with running_engine(config) as (engine, runner, listener):
        with pytest.raises(EmptyPrompt):
            engine.submit(request("empty", []))
        with pytest.raises(
            PromptTooLong, match=f"{CONTEXT_WINDOW} tokens > {CONTEXT_WINDOW - 1} tokens"
        ):
            engine.submit(request("long", [1] * CONTEXT_WINDOW))
        runner.before_step = gate
        engine.submit(request("runs", PROMPT))
        assert gate.reached.wait(20)
        with pytest.raises(DuplicateRequest):
            engine.submit(request("runs", PROMPT))
        engine.submit(request("waits", PROMPT))
        with pytest.raises(QueueFull) as refused:
            engine.submit(request("refused", PROMPT))
        gate.opened.set()
        listener.wait("waits")
    assert refused.value.retry_after_s == 1


def test_a_full_queue_says_when_there_will_be_room() -> None:
    """16 at a time take 2 s each; what they had waited themselves does not count."""
    timings = Timings(queue_s=32.0, prefill_s=1.0, decode_s=1.0, ttft_s=33.0, total_s=34.0)
    record = RequestRecord(
        "r", "", "fake", Priority.INTERACTIVE, FinishReason.STOP, Usage(10), timings, 1e9
    )
    with running_engine() as (engine, _, _):
        for _ in range(16):
            engine._keep_record(record)
        assert len(engine.drain_records()) == 16, "somebody keeps the history"
        waits_s = [engine._retry_after_s(Snapshot(num_waiting=number)) for number in (0, 255, 999)]
    assert waits_s == [1, 32, 60]


def test_answer_is_cut_to_the_context_window() -> None:
    tokens = [5] * (CONTEXT_WINDOW - 3)
    with running_engine() as (engine, _, listener):
        engine.submit(request("long", tokens, 1000))
        end = listener.wait("long")
    assert isinstance(end, Finished)
    assert (end.reason, end.usage.completion_tokens) == (FinishReason.LENGTH, 3)


def test_stop_with_requests_running_ends_them() -> None:
    gate = Gate()
    with running_engine() as (engine, runner, listener):
        runner.before_step = gate
        engine.submit(request("running", PROMPT, 50))
        engine.submit(request("waiting", PROMPT, 50))
        assert gate.reached.wait(20)
        threading.Timer(0.05, gate.opened.set).start()
        assert engine.stop(20)
        ends = [listener.wait(name) for name in ("running", "waiting")]
        assert engine.health.state is EngineState.STOPPED
        with pytest.raises(EngineUnavailable):
            engine.submit(request("late", PROMPT))
    assert [getattr(end, "reason", None) for end in ends] == [FinishReason.ABORT] * 2


def test_a_dead_thread_is_noticed_answered_and_restarted_with_its_pins() -> None:
    policy = PinSpec("policy", (Message(role="system", content=" ".join(f"t{n}" for n in PROMPT)),))
    gate = Gate()
    with running_engine(EngineConfig(check_integrity=True, restart_delay_s=0.3)) as (
        engine,
        runner,
        listener,
    ):
        engine.pin(policy)
        wait_until(lambda: [pin.state for pin in engine.snapshot.pins] == [PinState.READY])

        def die() -> None:
            gate()
            raise MemoryError("no memory left")

        runner.before_step = die
        engine.submit(request("victim", PROMPT))
        engine.submit(request("queued", PROMPT))
        assert gate.reached.wait(20)
        runner.before_step = lambda: None
        gate.opened.set()
        ends = [listener.wait(name) for name in ("victim", "queued")]
        assert not engine.health.ok
        assert "restarted" in engine.health.reason
        with pytest.raises(EngineUnavailable):
            engine.submit(request("too soon", PROMPT))
        assert engine.wait_until_ready(20).ok
        wait_until(lambda: [pin.state for pin in engine.snapshot.pins] == [PinState.READY])
        prompt = engine.format([*policy.messages, Message(role="user", content="t7 t8")])
        engine.submit(request("warm", list(prompt.tokens), 2))
        warm = listener.wait("warm")
        assert engine.snapshot.totals.restarts == 1
    assert all(isinstance(end, Failed) and isinstance(end.error, EngineFailed) for end in ends)
    assert isinstance(warm, Finished)
    assert warm.usage.cached_tokens >= len(PROMPT)


def test_a_model_that_cannot_be_freed_is_no_reason_to_hang() -> None:
    """Everybody is answered, and the thread is started again."""
    refused = []

    def close() -> None:
        if not refused:
            refused.append(True)
            raise RuntimeError("the device is gone")

    def die() -> None:
        raise MemoryError("no memory left")

    runner = FakeRunner()
    config = EngineConfig(check_integrity=True, restart_delay_s=0.1)
    with running_engine(config, runner, close=close) as (engine, _, listener):
        runner.before_step = die
        engine.submit(request("victim", PROMPT))
        end = listener.wait("victim")
        runner.before_step = lambda: None
        assert isinstance(end, Failed)
        assert engine.wait_until_ready(20).ok
        engine.submit(request("later", PROMPT, 2))
        assert isinstance(listener.wait("later"), Finished)
    assert refused


def test_a_hung_thread_turns_unhealthy_until_it_moves() -> None:
    gate = Gate()
    with running_engine(EngineConfig(hang_limit_s=0.2)) as (engine, runner, listener):
        runner.before_step = gate
        engine.submit(request("stuck", PROMPT, 50))
        engine.submit(request("behind", PROMPT, 50))
        assert gate.reached.wait(20)
        wait_until(lambda: engine.health.state is EngineState.HUNG)
        ends = [listener.wait(name) for name in ("stuck", "behind")]
        with pytest.raises(EngineUnavailable, match="has not moved"):
            engine.submit(request("piled up", PROMPT))
        runner.before_step = lambda: None
        gate.opened.set()
        wait_until(lambda: engine.health.state is EngineState.READY)
        engine.submit(request("after", PROMPT, 3))
        after = listener.wait("after")
        wait_until(lambda: engine.snapshot.num_running == 0)
    assert all(isinstance(end, Failed) for end in ends)
    assert isinstance(after, Finished)
    assert [
        len([e for e in listener.events[name] if isinstance(e, Finished | Failed)])
        for name in ("stuck", "behind")
    ] == [1, 1]


def test_pins_survive_any_pressure_and_show_their_price() -> None:
    budget = 4000 * BYTES_PER_TOKEN
    policy = PinSpec("policy", (Message(role="system", content=" ".join(f"t{n}" for n in PROMPT)),))
    with running_engine(EngineConfig(kv_budget_bytes=budget, check_integrity=True)) as (
        engine,
        _,
        listener,
    ):
        engine.pin(policy)
        wait_until(lambda: [pin.state for pin in engine.snapshot.pins] == [PinState.READY])
        (pin,) = engine.snapshot.pins
        for n in range(12):
            engine.submit(request(f"flood{n}", [200 + n] * 1000, 5))
            assert isinstance(listener.wait(f"flood{n}"), Finished)
            assert engine.snapshot.memory.used <= budget
        prompt = engine.format([*policy.messages, Message(role="user", content="t7")])
        engine.submit(request("pinned", list(prompt.tokens), 2))
        end = listener.wait("pinned")
        (after,) = engine.snapshot.pins
        assert engine.snapshot.totals.evicted_pages > 0
        engine.unpin("policy")
        with pytest.raises(UnknownPin):
            engine.unpin("policy")
    assert isinstance(end, Finished)
    assert end.usage.cached_tokens >= pin.num_tokens >= len(PROMPT)
    assert pin.num_bytes == pin.num_tokens * BYTES_PER_TOKEN
    assert (pin.hits, after.hits) == (0, 1)


def test_a_pin_that_does_not_fit_is_refused_with_figures() -> None:
    content = " ".join(f"t{n}" for n in PROMPT)
    with running_engine(EngineConfig(kv_budget_bytes=1000 * BYTES_PER_TOKEN)) as (
        engine,
        _,
        _listener,
    ):
        engine.pin(PinSpec("fits", (Message(role="system", content=content),)))
        engine.pin(PinSpec("nested", (Message(role="system", content=content + " t9" * 100),)))
        with pytest.raises(PinRefused, match="of the 5000 bytes"):
            engine.pin(PinSpec("large", (Message(role="system", content="t8 " + content),)))


def test_another_model_gets_the_pins_too() -> None:
    policy = PinSpec("policy", (Message(role="system", content="t7 " * 40),))
    with running_engine() as (engine, _, listener):
        engine.pin(policy)
        wait_until(lambda: [pin.state for pin in engine.snapshot.pins] == [PinState.READY])
        engine.switch_model(engine._path.with_name("other"), "other")
        assert engine.wait_until_ready(20).ok
        wait_until(lambda: [pin.state for pin in engine.snapshot.pins] == [PinState.READY])
        assert engine.model is not None
        assert engine.model.id == "other"
        engine.submit(request("there", PROMPT, 2))
        assert isinstance(listener.wait("there"), Finished)


def test_what_was_counted_stays_counted_while_another_model_loads() -> None:
    """Else whoever watches the totals would see evictions undone, and then done again."""
    config = EngineConfig(kv_budget_bytes=1000 * BYTES_PER_TOKEN, check_integrity=True)
    with running_engine(config) as (engine, _, listener):
        for number in range(4):
            engine.submit(request(f"r{number}", [number + 1] * 600, 2))
            listener.wait(f"r{number}")
        wait_until(lambda: engine.snapshot.totals.evicted_bytes > 0)
        seen = [engine.snapshot]
        engine.switch_model(engine._path.with_name("other"), "other")
        while not engine.health.ok or engine.snapshot.totals.starts < 2:
            seen.append(engine.snapshot)
    evicted = [sum(each.num_bytes for each in one.evictions) for one in seen]
    assert evicted == sorted(evicted)
    assert evicted[0] > 0
    assert (seen[0].totals.starts, seen[0].totals.new_tokens) == (1, 4 * 600)


def test_a_request_that_can_never_fit_beside_the_pins_fails() -> None:
    content = "t8 " * 480
    with running_engine(
        EngineConfig(kv_budget_bytes=1500 * BYTES_PER_TOKEN, check_integrity=True)
    ) as (engine, _, listener):
        engine.pin(PinSpec("large", (Message(role="system", content=content),)))
        wait_until(lambda: [pin.state for pin in engine.snapshot.pins] == [PinState.READY])
        engine.submit(request("large", [5] * 1000, 10))
        large = listener.wait("large")
        engine.submit(request("small", [5] * 100, 10))
        small = listener.wait("small")
    assert isinstance(large, Failed)
    assert isinstance(large.error, PromptTooLong)
    assert isinstance(small, Finished)


def test_records_tell_sizes_and_times() -> None:
    with running_engine(runner=FakeRunner()) as (engine, _, listener):
        engine.submit(request("one", PROMPT, 3))
        listener.wait("one")
        wait_until(lambda: engine.snapshot.num_running == 0)
        (record,) = engine.drain_records()
        assert engine.drain_records() == []
    assert (record.id, record.usage.prompt_tokens, record.usage.completion_tokens) == (
        "one",
        300,
        3,
    )
    assert record.model == "fake"


def test_pause_lets_running_requests_finish_and_keeps_new_ones_waiting() -> None:
    gate = Gate()
    with running_engine() as (engine, runner, listener):
        runner.before_step = gate
        engine.submit(request("running", PROMPT, 20))
        assert gate.reached.wait(20)
        engine.pause()
        engine.submit(request("waiting", PROMPT, 3))
        gate.opened.set()
        assert isinstance(listener.wait("running"), Finished)
        wait_until(lambda: engine.snapshot.num_running == 0 and engine.snapshot.num_waiting == 1)
        assert engine.health.ok
        assert engine.snapshot.paused
        assert listener.events["waiting"] == []
        engine.resume()
        waiting = listener.wait("waiting")
    assert isinstance(waiting, Finished)
    assert waiting.usage.cached_tokens == 299


def test_a_warmed_prefix_is_ready_until_memory_is_wanted() -> None:
    budget = 4000 * BYTES_PER_TOKEN
    policy = PinSpec("policy", (Message(role="system", content=" ".join(f"t{n}" for n in PROMPT)),))
    config = EngineConfig(kv_budget_bytes=budget, check_integrity=True)
    with running_engine(config) as (engine, _, listener):
        engine.warm(policy)
        wait_until(lambda: [pin.state for pin in engine.snapshot.pins] == [PinState.READY])
        (pin,) = engine.snapshot.pins
        assert (pin.kept, pin.done_tokens) == (False, pin.num_tokens)
        assert engine.snapshot.memory.pinned == 0
        for n in range(8):
            engine.submit(request(f"flood{n}", [200 + n] * 1000, 5))
            listener.wait(f"flood{n}")
        wait_until(lambda: [pin.state for pin in engine.snapshot.pins] == [PinState.ABSENT])
        engine.unpin("policy")
        wait_until(lambda: engine.snapshot.pins == ())
        with pytest.raises(PinRefused, match="5001 tokens; the model and the memory take 3744"):
            engine.warm(PinSpec("huge", (Message(role="system", content="t7 " * 4998),)))


def test_a_stop_string_that_ends_the_last_allowed_text_is_the_reason() -> None:
    answer = expected_answer(PROMPT, 3)
    longer = f"t{answer[1]}t{answer[2]}t0"  # may still become whole when the answer ends
    with running_engine() as (engine, _, listener):
        engine.submit(request("cut", PROMPT, 3, stop=(longer, f"t{answer[2]}")))
        end = listener.wait("cut")
    assert isinstance(end, Finished)
    assert listener.tokens("cut") == answer[:2]
    assert end.reason is FinishReason.STOP


def test_a_text_that_must_be_too_long_is_not_encoded() -> None:
    with running_engine() as (engine, _, _listener):
        word = max(len(f"t{n}") for n in range(1000))
        too_long = "x" * ((CONTEXT_WINDOW + 1) * word)
        with pytest.raises(PromptTooLong, match=f"> {CONTEXT_WINDOW} tokens"):
            engine.format([Message(role="user", content=too_long)])
