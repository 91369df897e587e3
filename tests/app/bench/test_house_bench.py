"""In what order the sides are asked, and what is read from them. The servers are scripted."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from typing import Any

import pytest

import app.bench.house_bench
from app.bench.client import Answer, Client, Messages, Tools
from app.bench.errors import BenchError, EmptyAnswer
from app.bench.house import OFF, ON, Plan
from app.bench.house_bench import HouseBench
from app.bench.server_metrics import Reading

PLAN = Plan(clients=(1, 2), pairs=2, seconds=0.0, kv_budget_bytes=1)


class Scripted(Client):
    """Counts its requests as a server would: 100 tokens each, 60 found."""

    def __init__(self, name: str, diary: list[str], silent: bool = False) -> None:
        super().__init__("127.0.0.1", 1)
        self.name, self.diary, self.silent = name, diary, silent
        self.num_asked = 0
        self._lock = threading.Lock()

    def ask(
        self,
        messages: Messages,
        *,
        max_tokens: int,
        salt: str,
        tools: Tools = (),
        name: str = "",
    ) -> Answer:
        with self._lock:
            self.num_asked += 1
            self.diary.append(f"{self.name} {salt}")
        if self.silent:
            raise EmptyAnswer("The model answered without a word.")
        return Answer(0.5, 100, 60, max_tokens, "Warm.")

    def metrics(self) -> str:
        return str(self.num_asked)


@pytest.fixture(autouse=True)
def _counted(monkeypatch: pytest.MonkeyPatch) -> None:
    def read(text: str) -> Reading:
        number = int(text)
        return Reading(100 * number, 60 * number, 0.5 * number, kv_bytes=1_000 * number)

    monkeypatch.setattr(app.bench.house_bench, "read", read)


def test_sides_take_turns_and_every_household_is_new() -> None:
    diary: list[str] = []
    said: list[str] = []
    HouseBench({ON: Scripted("on", diary), OFF: Scripted("off", diary)}, said.append).run(PLAN)
    assert diary == [
        *("on warm-up", "off warm-up"),
        *("on house-1-0", "off house-1-0", "off house-1-1", "on house-1-1"),
        *("on house-2-0", "on house-2-0", "off house-2-0", "off house-2-0"),
        *("off house-2-1", "off house-2-1", "on house-2-1", "on house-2-1"),
    ]
    assert said[0] == (
        "1 client, pair 1 of 2: mean first token of 1 questions 0.50 s on, 0.50 s off"
    )
    assert len(said) == 4


def test_what_a_segment_holds() -> None:
    servers = {ON: Scripted("on", []), OFF: Scripted("off", [])}
    _, two = HouseBench(servers, lambda line: None).run(PLAN)
    assert two.clients == 2
    segment = two.pairs[0].on
    assert [turn.key for turn in segment.turns] == [(0, 0), (1, 0)]
    assert (segment.before.prompt_tokens, segment.after.prompt_tokens) == (300, 500)
    assert segment.most_kv_bytes == 5_000
    assert segment.seconds > 0
    assert two.figures(ON).hit_rate == 0.6
    assert two.computed_ratio.median == 1.0


def test_a_model_without_a_word_is_told() -> None:
    servers = {ON: Scripted("on", []), OFF: Scripted("off", [], silent=True)}
    with pytest.raises(BenchError, match="had a word for no question"):
        HouseBench(servers, lambda line: None).run(PLAN)


class Failing(Scripted):
    """The second one asks in vain."""

    def ask(self, messages: Messages, *, name: str = "", **options: Any) -> Answer:
        if name == "house-1":
            raise BenchError("It is gone.")
        return super().ask(messages, name=name, **options)


def test_where_one_client_fails_the_others_do_not_go_on_to_the_end() -> None:
    diary: list[str] = []
    clients = {ON: Failing("on", diary), OFF: Failing("off", diary)}
    began = time.monotonic()
    with pytest.raises(BenchError, match=r"It is gone\."):
        HouseBench(clients, lambda line: None).run(replace(PLAN, clients=(2,), seconds=600.0))
    assert time.monotonic() - began < 60
