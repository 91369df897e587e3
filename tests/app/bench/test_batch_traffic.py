"""Requests of a chat service: what they share and what they do not."""

from __future__ import annotations

from collections import Counter

from app.bench.batch_traffic import Requests, Traffic

WORDS = range(1_000)
TRAFFIC = Traffic(4, 100, (5, 9), one_off_share=0.25)


def test_four_fifths_of_a_prompt_are_its_assistants() -> None:
    asked = [request.prompt.tokens for request in Requests(TRAFFIC, WORDS).mixed(400)]
    assert {len(tokens) for tokens in asked} == {100}
    beginnings = Counter(tokens[:80] for tokens in asked)
    shared = [count for count in beginnings.values() if count > 1]
    assert len(shared) == 4
    assert sum(shared) == 300
    assert len({tokens[80:] for tokens in asked}) == 400, "the rest is each request's own"


def test_those_that_share_nothing_come_evenly() -> None:
    requests = Requests(TRAFFIC, WORDS)
    systems = {request.prompt.tokens[:80] for request in requests.warm_up()}
    alone = [request.prompt.tokens[:80] not in systems for request in requests.mixed(40)]
    assert alone == [False, False, False, True] * 10


def test_everybody_may_have_nothing_in_common() -> None:
    distinct = Traffic(4, 100, (5, 9), one_off_share=1.0)
    asked = [request.prompt.tokens for request in Requests(distinct, WORDS).mixed(50)]
    assert len({tokens[:5] for tokens in asked}) == 50


def test_answers_have_all_lengths_that_are_asked_for() -> None:
    requests = Requests(TRAFFIC, WORDS).mixed(200)
    assert {request.max_tokens for request in requests} == {5, 6, 7, 8, 9}


def test_every_assistant_is_warmed_three_times_without_an_answer() -> None:
    warm = list(Requests(TRAFFIC, WORDS).warm_up())
    assert {request.max_tokens for request in warm} == {0}
    beginnings = Counter(request.prompt.tokens[:80] for request in warm)
    assert list(beginnings.values()) == [3] * 4


def test_the_same_seed_gives_the_same_requests_each_of_a_client_of_its_own() -> None:
    one, other = (list(Requests(TRAFFIC, WORDS, seed=3).mixed(20)) for _ in range(2))
    assert one == other
    assert one != list(Requests(TRAFFIC, WORDS, seed=4).mixed(20))
    assert len({request.client for request in one}) == 20
