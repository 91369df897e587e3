"""The integrity check sees what it is there to see: each rule is broken once by hand."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from engine.cache.page import Page
from engine.cache.part import Hold, Part, View
from engine.cache.prefix_cache import PrefixCache
from engine.cache.row import Row
from engine.errors import IntegrityError
from tests.support.cache import compute, make_cache
from tests.support.fake_runner import FakeStorage

PROMPT = list(range(1, 41))


class House:
    """A leader of 40 tokens, a follower on its first 20, and a pin on its first 10."""

    def __init__(self) -> None:
        self.cache: PrefixCache = make_cache()
        self.leader: Row = self.cache.open_row(PROMPT)
        compute(self.cache, self.leader)
        self.last: Page = self.cache.publish_partial(self.leader)
        self.follower: Row = self.cache.open_row([*PROMPT[:20], 900, 901])
        compute(self.cache, self.follower)
        self.pin: Hold = self.cache.hold(self.cache.match(PROMPT[:10]), "pin")
        self.trunk: Part = self.follower.hold.views[0].part
        assert self.last.parent is not None
        self.second: Page = self.last.parent
        self.cache.check_integrity()


def move_below_another(house: House) -> None:
    house.second.parent = house.last


def move_end(house: House) -> None:
    house.second.end += 1


def kill_part(house: House) -> None:
    house.cache.parts.discard(house.trunk)


def forget_page(house: House) -> None:
    del house.trunk.pages[house.second.end]


def shorten_storage(house: House) -> None:
    assert isinstance(house.trunk.storage, FakeStorage)
    del house.trunk.storage.kv[36:]


def wrong_digest(house: House) -> None:
    assert house.last.parent is not None
    house.second.digest = house.last.parent.parent.digest  # type: ignore[union-attr]


def digest_of_a_broken_page(house: House) -> None:
    house.last.digest = house.second.digest


def miscount(house: House) -> None:
    house.cache._index.num_pages += 1


def list_a_stranger(house: House) -> None:
    house.trunk.pages[99] = Page(house.second, b"1234", house.trunk, None)


def disown(house: House) -> None:
    del house.cache.rows[house.follower.tail]


def leave_a_dead_part(house: House) -> None:
    part = Part(0, None, FakeStorage())
    part.open = False
    house.cache.parts.add(part)


def cut_the_ground(house: House) -> None:
    house.follower.tail.parent = None


def forget_a_child(house: House) -> None:
    house.trunk.children.discard(house.follower.tail)


def lose_a_parent(house: House) -> None:
    stranger = Part(0, None, FakeStorage(1, list(range(30))))
    stranger.open = False
    stranger.children.add(house.follower.tail)
    house.follower.tail.parent = stranger


def stand_on_an_open_part(house: House) -> None:
    house.follower.tail.parent = house.leader.tail
    house.leader.tail.children.add(house.follower.tail)
    house.follower.tail.base = 40


def hold_too_much(house: House) -> None:
    house.trunk.holds[house.pin] = 41
    house.trunk.changed()


def hold_unnoticed(house: House) -> None:
    assert house.trunk.held_end == 40
    house.trunk.holds[house.pin] = 41


def hold_without_a_view(house: House) -> None:
    house.pin.views.clear()


def break_the_chain(house: House) -> None:
    house.follower.hold.views[0] = View(house.trunk, 19)
    house.trunk.holds[house.follower.hold] = 19


def swap_tails(house: House) -> None:
    rows = house.cache.rows
    a, b = house.leader.tail, house.follower.tail
    rows[a], rows[b] = rows[b], rows[a]


def lose_tokens(house: House) -> None:
    del house.follower.tokens[21:]


def overcharge(house: House) -> None:
    house.cache._index.shares.bytes_of["guest"] = 16


@pytest.mark.parametrize(
    ("breaks", "message"),
    [
        (move_below_another, "a page is not its parent's child"),
        (move_end, "page end 33 is off"),
        (kill_part, "has no living part"),
        (forget_page, "page at 32 is unknown to its part"),
        (shorten_storage, r"page at 40 lies outside part \[0, 36\)"),
        (wrong_digest, "digest of page at 32 is wrong"),
        (digest_of_a_broken_page, "a partly filled page has a digest, children or checkpoints"),
        (miscount, "3 pages found, 4 counted"),
        (list_a_stranger, "parts list 4 pages, not 3"),
        (disown, "open without an owner"),
        (leave_a_dead_part, "nobody uses or finds it, yet it lives"),
        (cut_the_ground, "stands on nothing"),
        (forget_a_child, "unknown to its parent"),
        (lose_a_parent, "its parent is gone"),
        (stand_on_an_open_part, "stands on an open part"),
        (hold_too_much, "41 tokens are needed of it"),
        (hold_unnoticed, "held to 41, known to 40"),
        (hold_without_a_view, "unknown hold"),
        (break_the_chain, "a row's chain ends at 19, its tail begins at 20"),
        (swap_tails, "a row does not own its tail"),
        (overcharge, r"clients keep {'': 400}, not {'': 400, 'guest': 16}"),
        (lose_tokens, "a row stands on tokens it does not have"),
    ],
)
def test_a_broken_rule_is_named(breaks: Callable[[House], None], message: str) -> None:
    house = House()
    breaks(house)
    with pytest.raises(IntegrityError, match=message):
        house.cache.check_integrity()
