"""What a run of `ondol bench lookup` says, from known figures."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from app.bench.lookup import Found, Lookup, LookupSize, Tree, TreeResult
from app.bench.lookup_report import LookupConditions, render, to_json, verdicts

CONDITIONS = LookupConditions(
    started_at="2026-01-01T00:00:00+00:00",
    cores=2,
    load_before=0.1,
    versions={"ondol": "0.0", "Python": "3"},
    platform="Test OS",
    page_tokens=16,
    repeats=15,
)

Make = Callable[..., LookupSize]


@pytest.fixture
def make() -> Make:
    """A size whose look-ups all take 2 ms; those of the same half beside many take `slow_s`."""

    def make(prompt_tokens: int, slow_s: float = 0.003) -> LookupSize:
        def result(tree: Tree, num_others: int, half_s: float) -> TreeResult:
            found = {
                Lookup.AGAIN: Found(prompt_tokens - 1, (0.002,) * 15),
                Lookup.NEAR_MISS: Found(prompt_tokens - 8, (0.002,) * 15),
                Lookup.HALF: Found(prompt_tokens // 2, (half_s,) * 15),
            }
            return TreeResult(tree, num_others, prompt_tokens // 16, found)

        trees = (
            result(Tree.ALONE, 0, 0.002),
            result(Tree.SHARED_HALF, 1_000, slow_s),
            result(Tree.SHARED_PAGE, 64, 0.002),
        )
        return LookupSize(prompt_tokens, 40 * prompt_tokens, {tree.tree: tree for tree in trees})

    return make


def test_the_table_is_aligned_and_has_a_line_for_each_tree(make: Make) -> None:
    lines = render([make(1_000), make(100_000)], CONDITIONS).splitlines()
    at = next(i for i, line in enumerate(lines) if "prompt  " in line)
    groups, names, *rows = lines[at : at + 8]
    assert len({len(line) for line in (groups, names, *rows)}) == 1
    assert len(names) <= 120
    assert names.split() == [
        *("tokens", "MB", "B/token", "in", "the", "index"),
        *("found", "ms") * 3,
    ]
    assert [row.split() for row in rows[3:]] == [
        ["100,000", "4.00", "40.0", "none", "99,999", "2.00", "99,992", "2.00", "50,000", "2.00"],
        [
            *("100,000", "1,000", "with", "the", "same", "half"),
            *("99,999", "2.00", "99,992", "2.00", "50,000", "3.00"),
        ],
        [
            *("100,000", "64", "up", "to", "its", "last", "page"),
            *("99,999", "2.00", "99,992", "2.00", "50,000", "2.00"),
        ],
    ]


def test_the_slowest_look_up_of_100k_tokens_is_judged(make: Make) -> None:
    sizes = [make(1_000, slow_s=1.0), make(100_000, slow_s=0.019)]
    (judged,) = verdicts(sizes)
    assert judged.met
    assert (judged.prompt_tokens, judged.bar, judged.unit) == (100_000, 20.0, "ms")
    assert judged.value.median == pytest.approx(19.0)
    assert (
        "  met     100,000 tokens  slowest look-up (same half, others: 1,000 with the same half) "
        "19.0 ms (bar ≤ 20 ms)"
    ) in render(sizes, CONDITIONS)


def test_a_missed_bar_is_told(make: Make) -> None:
    text = render([make(100_000, slow_s=0.0201)], CONDITIONS)
    assert "  MISSED  100,000 tokens  slowest look-up (same half" in text
    assert "20.1 ms (bar ≤ 20 ms)" in text


def test_without_that_size_there_is_no_verdict(make: Make) -> None:
    assert verdicts([make(1_000)]) == ()
    assert "0 of 0 bars met, 0 missed." in render([make(1_000)], CONDITIONS)
    assert to_json([make(1_000)], CONDITIONS)["verdicts"] == []


def test_the_json_has_every_sample(make: Make) -> None:
    data = json.loads(json.dumps(to_json([make(100_000)], CONDITIONS)))
    assert (data["schema"], data["schema_version"]) == ("ondol-bench-lookup", 1)
    assert data["conditions"]["page_tokens"] == 16
    (size,) = data["sizes"]
    assert (size["index_bytes"], size["bytes_per_token"]) == (4_000_000, 40.0)
    assert list(size["trees"]) == ["alone", "shared_half", "shared_page"]
    wide = size["trees"]["shared_half"]
    assert (wide["num_others"], wide["num_pages"]) == (1_000, 6_250)
    assert wide["lookups"]["half"]["found_tokens"] == 50_000
    assert wide["lookups"]["half"]["seconds"] == [0.003] * 15
    assert wide["lookups"]["half"]["time_s"]["n"] == 15
    assert [each["met"] for each in data["verdicts"]] == [True]
