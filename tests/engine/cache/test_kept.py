"""Who used what: standing, owner and the last hits."""

from __future__ import annotations

import math

import pytest

from engine.cache.kept import HALF_LIFE_S, Kept, Use
from engine.cache.standing import Standing


@pytest.fixture
def page() -> Kept:
    made = Kept()
    made.begin(Use(1, 10.0, "desk"))
    return made


def test_what_was_computed_belongs_to_whoever_computed_it(page: Kept) -> None:
    assert (page.owner, page.standing, page.last_used) == ("desk", Standing.ORDINARY, 1)
    assert (page.hits, page.hit_at, page.hit_before) == (0, -math.inf, -math.inf)
    assert page.heat == 10.0 / HALF_LIFE_S


def test_the_last_two_hits_are_known(page: Kept) -> None:
    for number, at_s in enumerate((20.0, 30.0, 40.0), 2):
        page.record(Use(number, at_s, hit=True))
    assert (page.hits, page.hit_before, page.hit_at) == (3, 30.0, 40.0)
    page.record(Use(5, 50.0))
    assert (page.hits, page.hit_at, page.last_used) == (3, 40.0, 5), "a use of its own is no hit"


def test_the_highest_standing_of_those_who_used_it_counts(page: Kept) -> None:
    standings = []
    for used_by in (Standing.SESSION, Standing.ORDINARY, Standing.TEMPLATE, Standing.SESSION):
        page.record(Use(2, 20.0, standing=used_by, hit=True))
        standings.append(page.standing)
    assert standings == [Standing.SESSION, Standing.SESSION, Standing.TEMPLATE, Standing.TEMPLATE]


def test_background_work_adds_nothing_to_what_others_use(page: Kept) -> None:
    heat = page.heat
    page.record(Use(2, 5_000.0, standing=Standing.BACKGROUND, hit=True))
    assert (page.heat, page.hits, page.standing) == (heat, 0, Standing.ORDINARY)
    assert page.last_used == 2, "the control knows no classes"


def test_background_work_refreshes_its_own() -> None:
    page = Kept()
    page.begin(Use(1, 0.0, standing=Standing.BACKGROUND))
    page.record(Use(2, 5_000.0, standing=Standing.BACKGROUND, hit=True))
    assert (page.hits, page.standing) == (1, Standing.BACKGROUND)
    assert page.heat > 5_000.0 / HALF_LIFE_S
    page.record(Use(3, 5_000.0, hit=True))
    assert page.standing is Standing.ORDINARY, "somebody else uses it too"
    assert (page.hits, page.hit_before, page.heat) == (1, -math.inf, 5_000.0 / HALF_LIFE_S)


def test_the_beginning_of_a_page_is_known_like_the_page(page: Kept) -> None:
    page.record(Use(2, 20.0, "agent", Standing.SESSION, hit=True))
    page.shared = True
    start = Kept()
    start.inherit(page)
    for name in Kept.__slots__:
        assert getattr(start, name) == getattr(page, name)


def test_a_use_adds_up_the_same_for_pages_with_another_history() -> None:
    use = Use(3, HALF_LIFE_S, hit=True)
    sums = [use.added_to(heat) for heat in (0.0, 1.0, 0.0, -math.inf)]
    assert sums == pytest.approx([math.log2(3), 2.0, math.log2(3), 1.0])
