"""Digests: everything that makes KV incompatible is in the name, and nothing else."""

from __future__ import annotations

import dataclasses

import pytest

from engine.cache.identity import ModelIdentity, page_digest, root_digest
from tests.support.cache import IDENTITY as CACHE_IDENTITY
from tests.support.cache import make_cache, run

IDENTITY = ModelIdentity(weights="w", tokenizer="t")
FIELDS = [field.name for field in dataclasses.fields(ModelIdentity)]


def test_the_root_digest_is_the_same_in_every_process() -> None:
    """Pages on a disk carry it: another value needs another version in it."""
    assert root_digest(IDENTITY).hex() == (
        "e8acc07b129a2c8559b4fd6ddfd46ae9b4f4cf9721ad65f61f791a55c3dedda0"
    )
    assert len(root_digest(IDENTITY)) == 32


@pytest.mark.parametrize("field", FIELDS)
def test_every_field_of_the_identity_counts(field: str) -> None:
    other = dataclasses.replace(IDENTITY, **{field: "other"})
    assert root_digest(other) != root_digest(IDENTITY)


def test_text_that_moves_from_one_field_to_the_next_makes_another_digest() -> None:
    ways = [("ab", "c"), ("a", "bc"), ("abc", ""), ("", "abc")]
    digests = {root_digest(ModelIdentity(weights=a, tokenizer=b)) for a, b in ways}
    assert len(digests) == 4


def test_adapter_and_salt_of_the_same_name_differ_B7() -> None:
    adapter = dataclasses.replace(IDENTITY, adapter="foo")
    assert len({root_digest(adapter), root_digest(IDENTITY, "foo"), root_digest(IDENTITY)}) == 3


def test_a_salt_enters_the_root_and_every_page_through_its_parent_B6() -> None:
    cache = make_cache(page_tokens=4, match_unit=4)
    run(cache, [1, 2, 3, 4] * 3, salt="salt")
    (root,) = cache.roots.values()
    digest, page = root_digest(CACHE_IDENTITY, "salt"), root
    assert root.digest == digest != root_digest(CACHE_IDENTITY)
    for _ in range(3):
        (page,) = page.children.values()
        digest = page_digest(digest, page.key)
        assert page.digest == digest


def test_the_same_tokens_below_another_parent_are_another_page_I1() -> None:
    root = root_digest(IDENTITY)
    assert page_digest(page_digest(root, b"a"), b"x") != page_digest(page_digest(root, b"b"), b"x")


def test_equal_tokens_in_two_pages_get_two_digests_in_a_chain_G6() -> None:
    cache = make_cache(page_tokens=4, match_unit=4)
    run(cache, [1, 2, 3, 4, 1, 2, 3, 4])
    (root,) = cache.roots.values()
    (first,) = root.children.values()
    (second,) = first.children.values()
    assert first.key == second.key
    assert root.digest is not None
    assert first.digest is not None
    assert first.digest == page_digest(root.digest, first.key)
    assert second.digest == page_digest(first.digest, second.key) != first.digest
    assert second.parent is first
