"""Whether what was evicted is asked for again."""

from __future__ import annotations

from engine.cache.ghosts import Ghosts
from engine.cache.identity import Digest


def name(number: int) -> Digest:
    return Digest(number.to_bytes(32, "big"))


def test_new_pages_alone_never_thrash() -> None:
    ghosts = Ghosts()
    for number in range(10_000):
        ghosts.came(name(number))
        ghosts.went(name(number), 100)
    assert not ghosts.thrashes


def test_evicted_pages_that_come_back_thrash_until_enough_new_ones_have_come() -> None:
    """Each page fades by a 32nd: ten that return are a quarter, new ones bring it down again."""
    ghosts = Ghosts()
    for number in range(60):
        ghosts.went(name(number), 100)
    seen = []
    for number in range(60):
        ghosts.came(name(number))
        seen.append(ghosts.thrashes)
    assert seen == [False] * 9 + [True] * 51
    for number in range(1_000, 1_060):
        ghosts.came(name(number))
    assert not ghosts.thrashes


def test_a_page_returns_once() -> None:
    ghosts = Ghosts()
    ghosts.went(name(1), 100)
    for _ in range(1_000):
        ghosts.came(name(1))
    assert not ghosts.thrashes


def test_no_more_names_than_pages_are_kept_and_the_latest() -> None:
    ghosts = Ghosts()
    for number in range(1_000):
        ghosts.went(name(number), 300)
    for number in range(700):
        ghosts.came(name(number))
    assert not ghosts.thrashes, "forgotten"
    for number in range(700, 760):
        ghosts.came(name(number))
    assert ghosts.thrashes
