"""A request that is not done by its deadline ends within a step, in whatever phase, and what it
computed stays."""

from __future__ import annotations

import gc
import queue
import threading
import time

import pytest

from engine.cache.part import Part
from engine.commands import Cancel, Pause, Stop, Submit
from engine.errors import DeadlinePassed
from engine.request import Failed, FinishReason
from tests.support.answers import answer_to
from tests.support.engine import request
from tests.support.stepping import TOKENS_PER_S, SteppedLoop
from tests.support.waiting import wait_until

PROMPT = [(7 * n) % 500 + 1 for n in range(600)]
CHUNK = 64


def overdue(loop: SteppedLoop, name: str) -> None:
    (end,) = loop.ends(name)
    assert isinstance(end, Failed)
    assert isinstance(end.error, DeadlinePassed)
    assert "it goes on from there" in str(end.error)
    (record,) = [record for record in loop.records if record.id == name]
    assert record.reason is FinishReason.ERROR
    assert not loop.scheduler.knows(name)


def make_loop(**options: object) -> SteppedLoop:
    return SteppedLoop(prefill_chunk=CHUNK, **options)  # type: ignore[arg-type]


def test_while_it_computes_its_prompt() -> None:
    loop = make_loop()
    began = loop.clock()
    loop.submit(request("slow", PROMPT, 4, deadline_s=0.3))
    loop.run_until(lambda: loop.idle)
    overdue(loop, "slow")
    assert 0.3 <= loop.clock() - began <= 0.3 + CHUNK / TOKENS_PER_S, "within one step"
    assert loop.cache.match(PROMPT).num_tokens == loop.runner.num_computed >= 300
    loop.serve(request("again", PROMPT, 4))
    assert loop.runner.num_computed == 600 + 3
    assert loop.tokens("again") == answer_to(PROMPT, 4)


def test_while_it_answers() -> None:
    loop = make_loop()
    loop.submit(request("chatty", PROMPT[:64], 500, deadline_s=0.1))
    loop.run_until(lambda: loop.idle)
    overdue(loop, "chatty")
    told = loop.tokens("chatty")
    assert 20 < len(told) < 40
    assert told == answer_to(PROMPT[:64], len(told))


def test_while_it_waits_for_its_turn() -> None:
    loop = make_loop(max_running=1)
    loop.submit(request("long", PROMPT, 4))
    loop.step()
    loop.submit(request("waits", [1, 2, 3], 4, deadline_s=0.1))
    loop.run_until(lambda: bool(loop.ends("waits")))
    overdue(loop, "waits")
    assert loop.scheduler.knows("long")
    assert loop.scheduler.num_waiting == 0


def test_while_it_waits_for_another() -> None:
    loop = make_loop()
    loop.submit(request("leader", PROMPT, 4))
    loop.step()
    loop.submit(request("follower", PROMPT, 4, deadline_s=0.1))
    loop.step()
    assert loop.scheduler.num_parked == 1
    loop.run_until(lambda: bool(loop.ends("follower")))
    overdue(loop, "follower")
    assert (loop.scheduler.num_parked, loop.scheduler.num_waiting) == (0, 0)
    loop.finish_all()
    assert loop.tokens("leader") == answer_to(PROMPT, 4)


@pytest.mark.parametrize("in_time", [False, True])
def test_an_id_that_was_used_before_has_no_old_deadline(in_time: bool) -> None:
    loop = make_loop()
    loop.serve(request("id", [1, 2, 3], 2, deadline_s=0.2))
    loop.submit(request("id", PROMPT, 4, deadline_s=5.0 if in_time else 0.25))
    loop.run_until(lambda: loop.idle)
    assert isinstance(loop.events["id"][-1], Failed) != in_time


def test_the_loop_wakes_for_a_deadline_while_it_is_paused() -> None:
    """Nothing else would wake it. Real seconds, as it sleeps in them."""
    loop = SteppedLoop()
    loop.loop._clock = time.monotonic
    inbox: queue.SimpleQueue = queue.SimpleQueue()
    thread = threading.Thread(target=loop.loop.run, args=(inbox,))
    thread.start()
    try:
        inbox.put(Pause(True))
        inbox.put(Submit(request("waits", PROMPT, 4, deadline_s=0.05), 4, time.monotonic()))
        wait_until(lambda: bool(loop.ends("waits")))
    finally:
        inbox.put(Cancel("waits"))
        inbox.put(Stop())
        thread.join(10.0)
    overdue(loop, "waits")


def test_whoever_ended_before_its_deadline_keeps_no_memory_until_then() -> None:
    loop = make_loop()
    loop.submit(request("quick", PROMPT[:100], 4, deadline_s=3600))
    loop.step()
    job = loop.scheduler.get("quick")
    assert job.row is not None
    serial = job.row.tail.serial
    loop.finish_all()
    assert job.row is None
    loop.cache.reclaim(loop.cache.used_bytes)
    gc.collect()
    assert not [
        each for each in gc.get_objects() if isinstance(each, Part) and each.serial == serial
    ]


def test_a_deadline_of_somebody_who_is_gone_wakes_nobody() -> None:
    loop = make_loop()
    loop.serve(request("quick", PROMPT[:100], 4, deadline_s=3600))
    commands: queue.SimpleQueue[object] = queue.SimpleQueue()
    commands.put(Pause(False))
    loop.loop._await_command(commands)  # type: ignore[arg-type]
    assert loop.loop._deadlines == []
