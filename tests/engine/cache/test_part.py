"""Parts, views and holds: which tokens lie where, and who needs them."""

from __future__ import annotations

import pytest

from engine.cache.page import Page
from engine.cache.part import Hold, Part, View
from tests.support.fake_runner import FakeStorage


def part(base: int, end: int, parent: Part | None = None) -> Part:
    return Part(base, parent, FakeStorage(1, list(range(base, end))))


def spans(views: tuple[View, ...]) -> list[tuple[int, int]]:
    return [(view.part.base, view.end) for view in views]


@pytest.fixture
def tree() -> dict[str, Part]:
    """A: [0, 10); B stands on its first 6 tokens: [6, 9); C on B's first 8: [8, 20)."""
    a = part(0, 10)
    b = part(6, 9, a)
    return {"a": a, "b": b, "c": part(8, 20, b)}


@pytest.mark.parametrize(
    ("name", "end", "expected"),
    [
        ("a", 10, [(0, 10)]),
        ("a", 1, [(0, 1)]),
        ("b", 9, [(0, 6), (6, 9)]),
        ("b", 7, [(0, 6), (6, 7)]),
        ("b", 6, [(0, 6)]),
        ("b", 3, [(0, 3)]),
        ("c", 20, [(0, 6), (6, 8), (8, 20)]),
        ("c", 9, [(0, 6), (6, 8), (8, 9)]),
        ("c", 8, [(0, 6), (6, 8)]),
        ("c", 7, [(0, 6), (6, 7)]),
        ("c", 2, [(0, 2)]),
    ],
)
def test_a_chain_covers_the_tokens_before_its_end_once(
    tree: dict[str, Part], name: str, end: int, expected: list[tuple[int, int]]
) -> None:
    views = tree[name].chain(end)
    assert spans(views) == expected
    assert sum(view.num_tokens for view in views) == end


@pytest.mark.parametrize(
    ("position", "name"), [(0, "a"), (5, "a"), (6, "b"), (7, "b"), (8, "c"), (19, "c")]
)
def test_covering_finds_the_part_that_holds_a_token(
    tree: dict[str, Part], position: int, name: str
) -> None:
    assert tree["c"].covering(position) is tree[name]


def test_a_part_is_needed_up_to_its_holds_and_its_children(tree: dict[str, Part]) -> None:
    a, b, c = tree.values()
    assert (a.needed_end, b.needed_end, c.needed_end) == (6, 8, 8)
    short, long = Hold("short"), Hold("long")
    short.add(View(c, 11))
    long.add(View(c, 15))
    assert c.needed_end == 15
    assert list(long.release()) == [c]
    assert c.needed_end == 11
    assert list(short.release()) == [c]
    assert c.needed_end == c.base == 8


def test_a_hold_lets_go_of_the_last_part_first(tree: dict[str, Part]) -> None:
    a, b, c = tree.values()
    hold = Hold("row")
    for view in c.chain(20):
        hold.add(view)
    assert [part.holds[hold] for part in (a, b, c)] == [6, 8, 20]
    released = hold.release()
    assert next(released) is c
    assert (hold in c.holds, hold in b.holds) == (False, True), "one part at a time"
    assert list(released) == [b, a]
    assert (hold.views, a.holds, b.holds) == ([], {}, {})
    assert list(hold.release()) == [], "letting go twice is harmless"


def test_a_hold_that_names_a_part_twice_needs_the_larger_end() -> None:
    a = part(0, 10)
    hold = Hold("row")
    hold.add(View(a, 8))
    hold.add(View(a, 3))
    assert a.needed_end == 8


def test_a_part_is_dead_when_nobody_uses_it_and_nobody_finds_it() -> None:
    a = part(0, 4)
    assert not a.dead, "open"
    a.open = False
    assert a.dead
    page, hold = Page(None, b"", a, None), Hold("pin")
    a.pages[page.end] = page
    assert not a.dead
    a.pages.clear()
    hold.add(View(a, 2))
    assert not a.dead
    list(hold.release())
    child = part(4, 5, a)
    assert not a.dead
    a.children.discard(child)
    assert a.dead
