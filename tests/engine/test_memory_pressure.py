"""The machine is short of memory: the cache keeps what is in use and what is hot."""

from __future__ import annotations

from engine.commands import Pressure
from engine.config import Eviction
from engine.memory_keeper import SHRUNK
from tests.support.answers import answer_to
from tests.support.engine import request, running_engine
from tests.support.fake_runner import BYTES_PER_TOKEN
from tests.support.stepping import SteppedLoop
from tests.support.waiting import wait_until


def prompt(number: int, num_tokens: int = 320) -> list[int]:
    return [(number * 31 + 7 * n) % 500 + 1 for n in range(num_tokens)]


def test_what_is_hot_or_in_use_stays_and_the_rest_goes() -> None:
    loop = SteppedLoop(storage_step=16)
    hot, once, running = prompt(1), prompt(2), prompt(3)
    loop.serve(request("once", once, 1))
    for n in range(3):
        loop.serve(request(f"hot{n}", hot, 1))
    loop.submit(request("runs", running, 50))
    loop.step()
    freed = loop.runner.num_freed
    loop.obey(Pressure(True))
    assert loop.cache.match(once).num_tokens == 0
    assert loop.cache.match(hot).num_tokens >= 304
    assert loop.cache.match(running).num_tokens == 256, "as far as it was computed"
    assert loop.cache.used_bytes <= (320 + 256 + 32) * BYTES_PER_TOKEN
    snapshot = loop.loop.snapshot
    assert snapshot.notice == SHRUNK
    assert {each.reason for each in snapshot.evictions} == {"memory pressure"}
    assert sum(each.num_bytes for each in snapshot.evictions) == snapshot.totals.evicted_bytes > 0
    assert loop.runner.num_freed == freed + 1, "memory goes back to the machine, not into a pool"
    loop.finish_all()
    assert loop.tokens("runs") == answer_to(running, 50)
    loop.obey(Pressure(False))
    assert loop.loop.snapshot.notice == ""


def test_the_watchdog_hears_of_it() -> None:
    short = [False]
    with running_engine(memory_is_short=lambda: short[0]) as (engine, _, _):
        for now, notice in ((True, SHRUNK), (False, "")):
            short[0] = now
            wait_until(lambda notice=notice: engine.snapshot.notice == notice)  # type: ignore[misc]


def test_what_is_hot_stays_before_what_is_worth_more() -> None:
    """A template that nobody has used for an hour outranks it where room is made for others."""
    loop = SteppedLoop(storage_step=16, eviction=Eviction.WORTH)
    template, hot = prompt(1, 640), prompt(2)
    loop.pin("policy", template, keep=False)
    loop.finish_all()
    loop.clock.now += 3600
    for n in range(3):
        loop.serve(request(f"hot{n}", hot, 1))
    assert loop.cache.hot_bytes(loop.clock()) == 320 // 16 * 16 * BYTES_PER_TOKEN
    loop.obey(Pressure(True))
    assert loop.cache.match(hot).num_tokens >= 304
    assert loop.cache.match(template).num_tokens < 640


def test_states_of_what_is_hot_stay_with_it() -> None:
    """Recurrent layers: without its state, what is hot could not be taken up."""
    loop = SteppedLoop(storage_step=16, recurrent=True, eviction=Eviction.WORTH)
    hot = prompt(1)
    for n in range(6):
        loop.serve(request(f"once{n}", prompt(10 + n), 1))
    for n in range(3):
        loop.serve(request(f"hot{n}", hot, 1))
    found = loop.cache.match(hot, 319).num_tokens
    assert found >= 304
    state = loop.cache.cost.end_bytes(found)
    assert state > 0
    assert loop.cache.hot_bytes(loop.clock()) >= 304 * BYTES_PER_TOKEN + state
    before = loop.cache.used_bytes
    loop.obey(Pressure(True))
    assert loop.cache.used_bytes < before
    assert loop.cache.match(hot, 319).num_tokens == found
