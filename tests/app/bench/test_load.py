"""Several requests at once to a scripted server, and chats that the model answers."""

from __future__ import annotations

import threading
from typing import cast

import pytest

from app.bench.client import Answer, Client, Messages
from app.bench.errors import BenchError, EmptyAnswer
from app.bench.load import LoadResult, choose_chats, run_load
from app.bench.workload import Chat


class People:
    """A server that answers nobody before everybody has asked."""

    def __init__(self, count: int) -> None:
        self.barrier = threading.Barrier(count, timeout=10)
        self.salts: list[str] = []

    def ask(self, messages: Messages, *, max_tokens: int, salt: str) -> Answer:
        self.salts.append(salt)
        self.barrier.wait()
        return Answer(0.1, prompt_tokens=100, cached_tokens=16, completion_tokens=max_tokens)


class Silent:
    """A model without a word for every other prompt."""

    def __init__(self, has_words_for: int = 2) -> None:
        self.every = has_words_for
        self.num_asked = 0

    def ask(self, messages: Messages, *, max_tokens: int, salt: str) -> Answer:
        self.num_asked += 1
        if self.num_asked % self.every:
            raise EmptyAnswer("no word")
        return Answer(0.1, 100, 0, 1)


def test_all_ask_at_once_and_only_computed_tokens_count() -> None:
    people = People(4)
    chats = [Chat("", f"Hello {number}") for number in range(4)]
    result = run_load(cast(Client, people), chats, max_tokens=8, salt="one")
    assert result.tokens == 4 * (100 - 16 + 8)
    assert result.seconds > 0
    assert people.salts == ["one"] * 4


def test_tokens_per_second() -> None:
    assert LoadResult(tokens=90, seconds=3.0).tokens_per_second == 30


def test_chats_are_different_and_of_the_wanted_length() -> None:
    chats = choose_chats(cast(Client, Silent()), count=8, num_words=120, max_tokens=4)
    assert len(set(chats)) == 8
    for chat in chats:
        assert 100 <= len(f"{chat.document} {chat.question}".split()) <= 130


def test_a_model_that_hardly_ever_answers_is_told() -> None:
    with pytest.raises(BenchError, match="only 4 of 40"):
        choose_chats(cast(Client, Silent(10)), count=8, num_words=120, max_tokens=4)
