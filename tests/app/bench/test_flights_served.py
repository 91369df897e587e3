"""Bursts over HTTP: who is asked what, and in which order. The servers are scripted."""

from __future__ import annotations

import threading

import pytest

from app.bench.client import Answer, Messages
from app.bench.errors import BenchError, EmptyAnswer
from app.bench.flights import Kind, Server
from app.bench.flights_served import ServedBench, ServedCase
from app.bench.workload import Encode

BURST = ServedCase(Kind.IDENTICAL, 4, 80, 6)
DOCUMENT = ServedCase(Kind.DOCUMENT, 3, 80, 6)


class Scripted:
    """First token after `seconds`; the first `empty` requests get no word."""

    def __init__(self, seconds: float, prompt_tokens: int = 80, empty: int = 0) -> None:
        self.seconds, self.prompt_tokens, self.empty = seconds, prompt_tokens, empty
        self.asked: list[tuple[Messages, int, str]] = []
        self._lock = threading.Lock()

    def ask(self, messages: Messages, *, max_tokens: int, salt: str) -> Answer:
        with self._lock:
            self.asked.append((messages, max_tokens, salt))
            if self.empty:
                self.empty -= 1
                raise EmptyAnswer("The model answered without a word.")
        return Answer(self.seconds, self.prompt_tokens, 20, max_tokens)


def served(
    encode: Encode, ours: Scripted, theirs: Scripted, *cases: ServedCase, rounds: int = 1
) -> tuple[ServedBench, list[str]]:
    said: list[str] = []
    return ServedBench({Server.ONDOL: ours, Server.MLX_LM: theirs}, encode, said.append), said


def test_both_are_asked_the_same(encode: Encode) -> None:
    ours, theirs = Scripted(1.0), Scripted(5.0)
    bench, said = served(encode, ours, theirs)
    (found,) = bench.run([BURST], rounds=1)
    assert found.kind is Kind.IDENTICAL
    one, other = found.measured[Server.ONDOL], found.measured[Server.MLX_LM]
    assert (one.ttft_s, other.ttft_s) == ((1.0,) * 4, (5.0,) * 4)
    assert one.computed_tokens == 4 * 60
    assert min(one.total_s) >= 0
    asked = ours.asked[1:]  # the first one warms it up
    assert asked == theirs.asked[1:]
    assert len(asked) == 4
    assert asked[0] == asked[1] == asked[2] == asked[3]
    assert asked[0][1] == 6
    assert said == [
        "round 1 of 1, identical x 4 over HTTP: "
        "first tokens after ondol serve 1.00 s, mlx_lm.server 5.00 s"
    ]


def test_questions_on_a_document_differ_and_bursts_share_no_salt(encode: Encode) -> None:
    ours = Scripted(1.0)
    bench, _ = served(encode, ours, Scripted(5.0))
    bench.run([DOCUMENT], rounds=2)
    first, second = ours.asked[1:4], ours.asked[4:7]
    for burst in (first, second):
        documents = {messages[0]["content"] for messages, _, _ in burst}
        questions = {messages[1]["content"] for messages, _, _ in burst}
        assert (len(documents), len(questions)) == (1, 3)
        assert len({salt for _, _, salt in burst}) == 1
    assert first[0][2] != second[0][2]
    assert first[0][0][0] != second[0][0][0]


def test_the_order_turns_from_round_to_round(encode: Encode) -> None:
    order: list[str] = []

    class Noting(Scripted):
        def ask(self, messages: Messages, *, max_tokens: int, salt: str) -> Answer:
            order.append(f"{self.seconds:g}")
            return super().ask(messages, max_tokens=max_tokens, salt=salt)

    bench, _ = served(encode, Noting(1.0), Noting(5.0))
    bench.run([ServedCase(Kind.IDENTICAL, 1, 80, 6)], rounds=2)
    assert order == ["1", "5", "1", "5", "5", "1"]


def test_other_prompts_where_the_model_has_no_word(encode: Encode) -> None:
    ours = Scripted(1.0, empty=2)  # the warm-up and one of the burst
    bench, _ = served(encode, ours, Scripted(5.0))
    (found,) = bench.run([BURST], rounds=1)
    assert len(found.measured[Server.ONDOL].ttft_s) == 4
    assert len({messages[0]["content"] for messages, _, _ in ours.asked[1:]}) == 2


def test_a_model_that_never_has_a_word_is_told(encode: Encode) -> None:
    bench, _ = served(encode, Scripted(1.0, empty=100), Scripted(5.0))
    with pytest.raises(BenchError, match="5 prompts of 80 tokens without a word"):
        bench.run([BURST], rounds=1)


def test_prompts_of_unlike_lengths_are_told(encode: Encode) -> None:
    bench, _ = served(encode, Scripted(1.0), Scripted(5.0, prompt_tokens=81))
    with pytest.raises(BenchError, match=r"made 80 tokens of a prompt, `mlx_lm.server` 81"):
        bench.run([BURST], rounds=1)
