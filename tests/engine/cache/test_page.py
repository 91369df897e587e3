"""Pages: places in the tree, and how far two keys agree."""

from __future__ import annotations

from array import array

import hypothesis.strategies as st
import pytest
from hypothesis import given

from engine.cache.page import Page, common_tokens
from engine.cache.part import Part
from tests.support.effort import effort
from tests.support.fake_runner import FakeStorage

INT32 = st.integers(0, 2**31 - 1)
FEW = st.integers(0, 2) | st.sampled_from([256, 257, 65536])  # tokens that differ in one byte only


def key(*tokens: int) -> bytes:
    return array("i", tokens).tobytes()


@pytest.mark.parametrize(
    ("a", "b", "common"),
    [
        ((1, 2, 3, 4, 5), (1, 2, 3, 4, 5), 5),
        ((1, 2, 3), (4, 5, 6), 0),
        ((1, 2, 3, 4, 5), (1, 2, 3, 7, 8), 3),
        ((1, 2), (), 0),
        ((1, 2), (1, 2, 3), 2),
        ((7, 1), (7, 257), 1),
        ((7, 1), (7, 65537), 1),
        ((7, 256), (7, 512), 1),
    ],
)
def test_common_tokens(a: tuple[int, ...], b: tuple[int, ...], common: int) -> None:
    assert common_tokens(key(*a), key(*b)) == common_tokens(key(*b), key(*a)) == common


@given(
    st.lists(FEW | INT32, max_size=6), st.lists(FEW | INT32, max_size=6), st.lists(FEW, max_size=9)
)
@effort(100)
def test_common_tokens_counts_whole_tokens(a: list[int], b: list[int], start: list[int]) -> None:
    a, b = start + a, start + b
    same = [x == y for x, y in zip(a, b, strict=False)]
    expected = same.index(False) if False in same else len(same)
    assert common_tokens(key(*a), key(*b)) == expected


def test_a_page_begins_where_its_parent_ends() -> None:
    root = Page(None, b"", None, None)
    first = Page(root, key(1, 2, 3, 4), None, None)
    partial = Page(first, key(5, 6, 7), None, None)
    assert [(page.start, page.end) for page in (root, first, partial)] == [(0, 0), (0, 4), (4, 7)]


def test_a_page_is_attached_while_it_lies_in_a_part_and_a_root_always() -> None:
    root = Page(None, b"", None, None)
    page = Page(root, key(1), Part(0, None, FakeStorage()), None)
    assert root.attached
    assert page.attached
    page.part = None
    assert not page.attached
