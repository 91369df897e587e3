"""Whether what was evicted is asked for again."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from engine.cache.ghosts import Ghosts
from engine.cache.identity import Digest


def name(number: int) -> Digest:
    return Digest(number.to_bytes(32, "big"))


def names(*numbers: int) -> list[Digest]:
    return [name(number) for number in numbers]


def test_new_pages_alone_never_thrash() -> None:
    ghosts = Ghosts()
    for number in range(10_000):
        ghosts.asked(names(number), 1)
        ghosts.went(name(number), 100)
    assert not ghosts.thrashes


@pytest.mark.parametrize(("num_pages", "thrashes"), [(9, False), (10, True), (60, True)])
def test_evicted_pages_that_come_back_thrash(num_pages: int, thrashes: bool) -> None:
    """Each page fades by a 32nd: ten that return are a quarter."""
    ghosts = Ghosts()
    for number in range(60):
        ghosts.went(name(number), 100)
    ghosts.asked(names(*range(num_pages)), num_pages)
    assert ghosts.thrashes == thrashes


def test_it_is_over_when_enough_new_ones_have_come() -> None:
    ghosts = Ghosts()
    for number in range(60):
        ghosts.went(name(number), 100)
    ghosts.asked(names(*range(60)), 60)
    seen = []
    for number in range(1_000, 1_050):
        ghosts.asked(names(number), 1)
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

    ghosts.asked(made(), 50)
    assert not ghosts.thrashes


def test_a_page_returns_once() -> None:
    ghosts = Ghosts()
    ghosts.went(name(1), 100)
    for _ in range(1_000):
        ghosts.asked(names(1), 1)
    assert not ghosts.thrashes


def test_no_more_names_than_pages_are_kept_and_the_latest() -> None:
    ghosts = Ghosts()
    for number in range(1_000):
        ghosts.went(name(number), 300)
    ghosts.asked(names(699), 1)
    ghosts.asked(names(*range(700, 710)), 10)
    assert ghosts.thrashes
    forgotten = Ghosts()
    for number in range(1_000):
        forgotten.went(name(number), 300)
    forgotten.asked(names(*range(690, 700)), 10)
    assert not forgotten.thrashes
