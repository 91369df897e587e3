"""The books over what each client alone keeps."""

from __future__ import annotations

import pytest

from engine.cache.cost import KVCost
from engine.cache.kept import Use
from engine.cache.page import Page
from engine.cache.shares import Shares

COST = KVCost(10)


def page(client: str, num_tokens: int = 16) -> Page:
    made = Page(None, bytes(4 * num_tokens), None, None)
    made.begin(Use(1, 0.0, client))
    return made


def test_pages_are_charged_until_they_go_or_somebody_else_uses_them() -> None:
    shares = Shares(COST)
    mine, short, theirs = page("desk"), page("desk", 5), page("agent")
    for each in (mine, short, theirs):
        shares.charge(each)
    assert shares.bytes_of == {"desk": 210, "agent": 160}
    shares.share(mine)
    assert mine.shared
    assert shares.bytes_of == {"desk": 50, "agent": 160}
    for each in (mine, short):
        shares.release(each)
    assert shares.bytes_of == {"agent": 160}, "who keeps nothing is forgotten"


@pytest.mark.parametrize(("most_bytes", "over"), [(None, False), (160, False), (159, True)])
def test_who_is_over_the_share(most_bytes: int | None, over: bool) -> None:
    shares = Shares(COST, most_bytes)
    for client in ("desk", "agent"):
        shares.charge(page(client))
    assert shares.is_over("desk") == over
    assert not shares.is_over("guest")


def test_who_is_alone_may_have_everything() -> None:
    shares = Shares(COST, 100)
    shares.charge(page("desk"))
    assert not shares.is_over("desk")
    guests = page("guest", 1)
    shares.charge(guests)
    assert shares.is_over("desk")
    shares.release(guests)
    assert not shares.is_over("desk")
