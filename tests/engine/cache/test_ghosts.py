"""Whether what was evicted is asked for again."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pytest

from engine.cache.ghosts import Ghosts
from engine.cache.identity import Digest
from engine.cache.kept import COLD_HALF_LIVES, HALF_LIFE_S


def name(number: int) -> Digest:
    return Digest(number.to_bytes(32, "big"))


def names(*numbers: int) -> list[Digest]:
    return [name(number) for number in numbers]


def test_new_pages_alone_never_thrash() -> None:
    ghosts = Ghosts()
    for number in range(10_000):
        ghosts.asked(names(number), 1, 0.0)
        ghosts.went(name(number), 100)
    assert not ghosts.thrashes


@pytest.mark.parametrize(("num_pages", "thrashes"), [(9, False), (10, True), (60, True)])
def test_evicted_pages_that_come_back_thrash(num_pages: int, thrashes: bool) -> None:
    """Each page fades by a 32nd: ten that return are a quarter."""
    ghosts = Ghosts()
    for number in range(60):
        ghosts.went(name(number), 100)
    ghosts.asked(names(*range(num_pages)), num_pages, 0.0)
    assert ghosts.thrashes == thrashes


def test_it_is_over_when_enough_new_ones_have_come() -> None:
    ghosts = Ghosts()
    for number in range(60):
        ghosts.went(name(number), 100)
    ghosts.asked(names(*range(60)), 60, 0.0)
    seen = []
    for number in range(1_000, 1_050):
        ghosts.asked(names(number), 1, 0.0)
        seen.append(ghosts.thrashes)
    assert seen == [True] * 38 + [False] * 12


def test_what_follows_a_new_page_is_not_looked_at() -> None:
    """Its name has not even to be made."""
    ghosts = Ghosts()
    for number in range(60):
        ghosts.went(name(number), 100)

    def made() -> Iterator[Digest]:
        yield from names(0, 1, 99)
        raise AssertionError

    ghosts.asked(made(), 50, 0.0)
    assert not ghosts.thrashes


def test_a_page_returns_once() -> None:
    ghosts = Ghosts()
    ghosts.went(name(1), 100)
    for _ in range(1_000):
        ghosts.asked(names(1), 1, 0.0)
    assert not ghosts.thrashes


def test_no_more_names_than_pages_are_kept_and_the_latest() -> None:
    ghosts = Ghosts()
    for number in range(1_000):
        ghosts.went(name(number), 300)
    ghosts.asked(names(699), 1, 0.0)
    ghosts.asked(names(*range(700, 710)), 10, 0.0)
    assert ghosts.thrashes
    forgotten = Ghosts()
    for number in range(1_000):
        forgotten.went(name(number), 300)
    forgotten.asked(names(*range(690, 700)), 10, 0.0)
    assert not forgotten.thrashes


def test_every_return_is_remembered_as_a_cold_use() -> None:
    ghosts = Ghosts()
    for _ in range(4):
        assert ghosts.heat_of(name(2)) == -math.inf
        ghosts.went(name(1), 100)
        ghosts.asked(names(1), 1, HALF_LIFE_S)
    assert ghosts.heat_of(name(1)) == pytest.approx(1 + math.log2(4) - COLD_HALF_LIVES)


def test_of_what_came_back_the_ends_are_forgotten_before_beginnings() -> None:
    ghosts = Ghosts()
    for number in range(300):
        ghosts.went(name(number), 300)
    ghosts.asked(names(*range(300)), 300, 0.0)
    ghosts.went(name(1_000), 256)
    remembered = [number for number in range(300) if ghosts.heat_of(name(number)) > -math.inf]
    assert remembered == [*range(256)]
