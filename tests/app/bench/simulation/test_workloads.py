"""Who shares what with whom in each workload."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pytest

from app.bench.simulation.runner import answer
from app.bench.simulation.workloads import (
    Chat,
    Turns,
    burst,
    chat,
    cyclic,
    document,
    overlap,
    sweep_beside_conversation,
)
from engine.request import Priority, Request


def common(left: Sequence[int], right: Sequence[int]) -> int:
    pairs = zip(left, right, strict=False)
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))


def tokens(request: Request) -> tuple[int, ...]:
    return request.prompt.tokens


def test_chats_share_their_beginning_and_go_on_from_their_own_answers() -> None:
    plan = Chat(100, 0.8, Turns(3, 10, 5), conversations=2, start_within_s=4.0)
    clients = chat(plan, 3).clients
    asked = [list(client.requests) for client in clients]
    assert [len(requests) for requests in asked] == [6, 6, 6]
    assert all(0 <= client.starts_at_s <= 4 for client in clients)
    for one, other in itertools.combinations([each[0] for each in asked], 2):
        assert common(tokens(one), tokens(other)) == 80
    first, of_another, second = asked[0][:3]
    assert common(tokens(first), tokens(of_another)) == 80, "conversations take turns"
    assert len(tokens(first)) == 110
    assert tokens(second)[:115] == tokens(first) + answer(5)
    assert len(tokens(second)) == 125
    assert len({request.id for requests in asked for request in requests}) == 18


def test_bursts_are_identical_or_distinct() -> None:
    assert len({tokens(arrival.request) for arrival in burst(5, 50, 1).arrivals}) == 1
    distinct = [tokens(arrival.request) for arrival in burst(5, 50, 1, distinct=True).arrivals]
    assert max(common(*pair) for pair in itertools.combinations(distinct, 2)) == 0


def test_questions_follow_one_document() -> None:
    asked = [tokens(arrival.request) for arrival in document(4, 90, 10, 1).arrivals]
    assert {len(each) for each in asked} == {100}
    assert {common(*pair) for pair in itertools.combinations(asked, 2)} == {90}


def test_cycles_repeat_their_prompts() -> None:
    (client,) = cyclic(3, 40, cycles=2).clients
    asked = [tokens(request) for request in client.requests]
    assert asked[:3] == asked[3:]
    assert len(set(asked)) == 3


@pytest.mark.parametrize(("share", "num_shared"), [(0.0, 0), (0.25, 50), (0.95, 190), (1.0, 200)])
def test_overlaps_share_exactly_so_much(share: float, num_shared: int) -> None:
    first, second = overlap(share, 0.5, 200).arrivals
    assert (first.at_s, second.at_s) == (0.0, 0.5)
    assert common(tokens(first.request), tokens(second.request)) == num_shared
    assert len(tokens(second.request)) == 200


def test_the_sweep_runs_in_the_background() -> None:
    talk, sweep = sweep_beside_conversation(
        Turns(2, 5, 5), opening_tokens=20, num_swept=4, swept_tokens=30, think_s=1.0
    ).clients
    assert talk.think_s == 1.0
    assert [request.priority for request in talk.requests] == [Priority.INTERACTIVE] * 2
    swept = list(sweep.requests)
    assert {request.priority for request in swept} == {Priority.BACKGROUND}
    assert len({tokens(request) for request in swept}) == 4


def test_the_seed_decides() -> None:
    assert burst(2, 30, 1, seed=3) == burst(2, 30, 1, seed=3)
    assert burst(2, 30, 1, seed=3) != burst(2, 30, 1, seed=4)


@pytest.mark.parametrize("num_tokens", [0, 1, 4])
def test_answers_are_known_beforehand(num_tokens: int) -> None:
    assert len(answer(num_tokens)) == num_tokens
    assert not set(answer(num_tokens)) & set(tokens(burst(1, 5_000, 1).arrivals[0].request))
