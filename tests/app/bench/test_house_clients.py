"""What a household asks, and in which order. The server is scripted."""

from __future__ import annotations

import random
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pytest

import app.bench.house_clients
from app.bench import house_texts as texts
from app.bench.client import Answer, Client, Messages, Tools
from app.bench.errors import BenchError, EmptyAnswer
from app.bench.house import Turn
from app.bench.house_clients import TURNS_A_VISIT, Inhabitant
from app.bench.house_errands import ERRANDS, Agent, Chat, Document, Home


@dataclass(frozen=True)
class Asked:
    messages: Messages
    salt: str
    tools: Tools
    name: str


class Scripted(Client):
    """Answers each question with its number; has no word for those in `empty`."""

    def __init__(self, empty: Sequence[int] = (), broken_at: int | None = None) -> None:
        super().__init__("127.0.0.1", 1)
        self.empty, self.broken_at = empty, broken_at
        self.asked: list[Asked] = []

    def ask(
        self,
        messages: Messages,
        *,
        max_tokens: int,
        salt: str,
        tools: Tools = (),
        name: str = "",
    ) -> Answer:
        number = len(self.asked)
        self.asked.append(Asked(messages, salt, tools, name))
        if number == self.broken_at:
            raise BenchError("The engine stopped.")
        if number in self.empty:
            raise EmptyAnswer("The model answered without a word.")
        return Answer(0.5, 100, 60, 4, f"Answer {number}.")


class Clock:
    """Each thought takes a second; the questions take no time."""

    now = 0.0

    def perf_counter(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        assert seconds > 0
        self.now += 1.0


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(app.bench.house_clients, "time", clock)
    return clock


class Moments(threading.Event):
    """Nobody waits in real time."""

    def wait(self, timeout: float | None = None) -> bool:
        assert timeout is not None
        app.bench.house_clients.time.sleep(timeout)
        return self.is_set()


def lived(number: int, server: Client, num_questions: int) -> list[Turn]:
    until = app.bench.house_clients.time.perf_counter() + num_questions
    return Inhabitant(number, server, "salt").live(until, Moments())


def roles(messages: Messages) -> list[str]:
    return [message["role"] for message in messages]


def test_a_chat_grows_by_question_and_answer() -> None:
    chat = Chat(random.Random(1))
    first = chat.ask().messages
    chat.hear("It is warm.")
    second = chat.ask().messages
    assert roles(second) == ["system", "user", "assistant", "user"]
    assert list(second[:2]) == list(first)
    assert second[2]["content"] == "It is warm."
    assert second[3] != second[1]


@pytest.mark.parametrize("make", [Chat, Agent])
def test_a_conversation_that_is_too_long_is_over(make: type[Chat | Agent]) -> None:
    errand = make(random.Random(1))
    errand.ask()
    errand.hear("word " * 900)
    assert roles(errand.ask().messages) == ["system", "user"]


def test_a_command_stands_on_its_own_under_the_same_policy_and_tools() -> None:
    home = Home(random.Random(1))
    first = home.ask()
    home.hear("Done.")
    second = home.ask()
    assert first.tools == second.tools == texts.HOME_TOOLS
    assert first.messages[0] == second.messages[0]
    assert roles(second.messages) == ["system", "user"]
    assert first.messages[1] != second.messages[1]


def test_an_agent_gets_what_its_tools_gave_back() -> None:
    agent = Agent(random.Random(1))
    agent.ask()
    agent.hear("I read the file.")
    messages = agent.ask().messages
    assert roles(messages) == ["system", "user", "assistant", "tool"]
    assert messages[3]["content"].count("def ") == 4


def test_everybody_asks_about_the_same_document() -> None:
    one, other = Document(random.Random(1)).ask(), Document(random.Random(2)).ask()
    assert one.messages[0] == other.messages[0]
    assert one.messages[1] != other.messages[1]


def test_all_begin_with_the_rules_of_the_house() -> None:
    for make in ERRANDS:
        system = make(random.Random(1)).ask().messages[0]
        assert system["content"].startswith(texts.HOUSE_RULES)


def test_errands_follow_each_other_and_each_client_begins_with_another() -> None:
    names: list[Sequence[str]] = []
    for number in range(4):
        turns = lived(number, Scripted(), 4 * TURNS_A_VISIT)
        errands = [turn.errand for turn in turns]
        assert errands == [name for name in errands[::TURNS_A_VISIT] for _ in range(TURNS_A_VISIT)]
        names.append(errands[::TURNS_A_VISIT])
    assert names == [
        ["chat", "home", "agent", "document"],
        ["home", "agent", "document", "chat"],
        ["agent", "document", "chat", "home"],
        ["document", "chat", "home", "agent"],
    ]


def test_a_client_comes_back_to_its_conversation() -> None:
    server = Scripted()
    lived(0, server, 4 * TURNS_A_VISIT + 1)
    before, after = server.asked[TURNS_A_VISIT - 1], server.asked[4 * TURNS_A_VISIT]
    assert list(after.messages[: len(before.messages)]) == list(before.messages)


def test_what_was_measured_and_how_it_was_asked() -> None:
    server = Scripted()
    first, second = lived(3, server, 2)
    assert (first.key, second.key) == ((3, 0), (3, 1))
    assert (first.prompt_tokens, first.cached_tokens, first.ttft_s) == (100, 60, 0.5)
    assert {(asked.salt, asked.name) for asked in server.asked} == {("salt", "house-3")}


def test_both_sides_are_asked_the_same() -> None:
    one, other = Scripted(), Scripted()
    for server in (one, other):
        lived(2, server, 20)
    assert one.asked == other.asked


def test_it_asks_at_least_once() -> None:
    assert len(lived(0, Scripted(), 0)) == 1


def test_a_question_without_an_answer_is_left_out_and_the_chat_goes_on() -> None:
    server = Scripted(empty=[0])
    turns = lived(0, server, 2)
    assert [turn.number for turn in turns] == [1]
    said: Mapping[str, str] = server.asked[1].messages[2]
    assert said == {"role": "assistant", "content": "I do not know."}


def test_a_server_that_fails_ends_the_bench() -> None:
    with pytest.raises(BenchError, match=r"The engine stopped\."):
        lived(0, Scripted(broken_at=1), 9)
