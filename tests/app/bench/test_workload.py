"""Prompts have the length that was asked for, and share nothing but the template."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pytest

from app.bench.workload import Chat, Encode, Workload

HEAD = 2  # the template's mark and the line break after it
TAIL = 4  # mark and line break of the question's end, then of the answer's beginning


def common(left: Sequence[int], right: Sequence[int]) -> int:
    pairs = zip(left, right, strict=False)
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))


@pytest.mark.parametrize("size", [40, 100, 241, 250, 459, 500, 681, 904, 1000, 2000])
def test_a_prompt_has_about_as_many_tokens_as_asked_for(encode: Encode, size: int) -> None:
    chat = Workload(encode).chat(size)
    assert len(encode(chat.messages)) == pytest.approx(size, rel=0.02, abs=2)
    assert chat.document


def test_a_greeting_is_a_question_alone(encode: Encode) -> None:
    workload = Workload(encode)
    chat = workload.chat(14)
    assert chat.document == ""
    assert len(encode(chat.messages)) == pytest.approx(14, abs=2)
    least = len(encode(Chat("", "Tree").messages))
    assert len(encode(workload.chat(1).messages)) <= least + 3


@pytest.mark.parametrize("size", [14, 120])
def test_prompts_share_nothing_but_the_template(encode: Encode, size: int) -> None:
    workload = Workload(encode)
    prompts = [encode(workload.chat(size).messages) for _ in range(12)]
    head = common(encode(Chat("a", "0").messages), encode(Chat("0", "a").messages))
    assert head == HEAD
    if size == 14:  # the empty document and the question's mark stand before its first word
        head = common(encode(Chat("", "a").messages), encode(Chat("", "0").messages))
    shared = {common(left, right) for left, right in itertools.combinations(prompts, 2)}
    assert shared == {head}


def test_another_question_keeps_the_document_and_no_more(encode: Encode) -> None:
    workload = Workload(encode)
    chat = workload.chat(250)
    tokens = encode(chat.messages)
    document_end = common(encode(Chat(chat.document, "0").messages), tokens)
    for other in (workload.another_question(chat) for _ in range(10)):
        assert other.document == chat.document
        changed = encode(other.messages)
        assert common(tokens, changed) == pytest.approx(document_end, abs=1)
        assert 10 <= len(changed) - common(tokens, changed) <= 24


def test_another_greeting_is_as_long(encode: Encode) -> None:
    workload = Workload(encode)
    chat = workload.chat(14)
    other = workload.another_question(chat)
    assert other != chat
    assert len(other.question.split()) == len(chat.question.split())


def test_the_same_seed_makes_the_same_prompts(encode: Encode) -> None:
    first, again, different = Workload(encode), Workload(encode), Workload(encode, seed=2)
    assert [first.chat(100) for _ in range(3)] == [again.chat(100) for _ in range(3)]
    assert first.chat(100) != different.chat(100)


def test_openings_begin_again_when_all_were_used() -> None:
    """A tokenizer that tells only 26 words apart by their first token."""

    def letters(messages: Sequence[object]) -> list[int]:
        return [ord(letter) for message in messages for letter in str(message)]

    workload = Workload(letters)
    openings = [workload.chat(1).question for _ in range(60)]
    assert len({opening[0] for opening in openings[:15]}) == 15
    assert len(openings) == 60
