"""`ondol bench house`: the measuring itself. The sides take turns; one of them computes at a
time."""

from __future__ import annotations

import contextlib
import random
import time
from collections.abc import Callable, Mapping
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from threading import Event

from app.bench.client import Client
from app.bench.errors import BenchError, EmptyAnswer
from app.bench.flights import Side
from app.bench.house import OFF, ON, CaseResult, Pair, Plan, Segment, named
from app.bench.house_clients import Inhabitant
from app.bench.house_errands import Chat
from app.bench.server_metrics import read

_LOOK_S = 1.0


class HouseBench:
    """Lets the same household live with both sides in turn, in another order each time. `say` gets
    lines of progress."""

    def __init__(self, clients: Mapping[Side, Client], say: Callable[[str], None]) -> None:
        self._clients = clients
        self._say = say

    def run(self, plan: Plan) -> tuple[CaseResult, ...]:
        """Raises BenchError when a side fails."""
        for client in self._clients.values():
            self._warm_up(client)
        return tuple(
            CaseResult(number, tuple(self._pair(number, at, plan) for at in range(plan.pairs)))
            for number in plan.clients
        )

    def _warm_up(self, client: Client) -> None:
        question = Chat(random.Random(1)).ask()
        with contextlib.suppress(EmptyAnswer):  # it has computed all the same
            client.ask(question.messages, max_tokens=question.max_tokens, salt="warm-up")

    def _pair(self, number: int, at: int, plan: Plan) -> Pair:
        # With a salt of its own a household asks what neither side has heard, in a cache in which
        # others have left theirs.
        salt = f"house-{number}-{at}"
        segments = {
            side: self._segment(self._clients[side], number, salt, plan.seconds)
            for side in ((ON, OFF) if at % 2 == 0 else (OFF, ON))
        }
        pair = Pair(segments[ON], segments[OFF])
        if not pair.common:
            raise BenchError("The model had a word for no question of the household's.")
        self._say(f"{named(number)}, pair {at + 1} of {plan.pairs}: {_told(pair)}")
        return pair

    def _segment(self, client: Client, number: int, salt: str, seconds: float) -> Segment:
        before = read(client.metrics())
        people = [Inhabitant(each, client, salt) for each in range(number)]
        most_kv_bytes = before.kv_bytes
        began, stopped = time.perf_counter(), Event()
        with ThreadPoolExecutor(number) as threads:
            lives = [threads.submit(person.live, began + seconds, stopped) for person in people]
            try:
                while wait(lives, _LOOK_S, FIRST_EXCEPTION).not_done:
                    most_kv_bytes = max(most_kv_bytes, read(client.metrics()).kv_bytes)
                    if any(life.done() and life.exception() for life in lives):
                        break
            finally:
                stopped.set()  # else an interrupted bench would wait for the end of the segment
            turns = tuple(turn for life in lives for turn in life.result())
        took_s = time.perf_counter() - began
        after = read(client.metrics())
        return Segment(turns, took_s, before, after, max(most_kv_bytes, after.kv_bytes))


def _told(pair: Pair) -> str:
    on, off = (sum(turn.ttft_s for turn in turns) for turns in zip(*pair.common, strict=True))
    count = len(pair.common)
    return f"mean first token of {count} questions {on / count:.2f} s on, {off / count:.2f} s off"
