"""Which bars apply, and when one is met."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from app.bench.stats import Estimate
from app.bench.verdict import Verdict
from app.bench.warm_results import SizeResult
from app.bench.warm_verdicts import verdicts

MakeSize = Callable[..., SizeResult]


def judged(*sizes: SizeResult) -> dict[tuple[str, int], Verdict]:
    return {(verdict.what, verdict.prompt_tokens): verdict for verdict in verdicts(sizes)}


def test_the_bars_of_a_long_prompt(make_size: MakeSize) -> None:
    found = judged(make_size(2000, cold_s=10.4, plain_s=10.0, warm_s=0.6, limit_s=0.4))
    assert set(found) == {
        (what, 2000)
        for what in (
            "cold / plain mlx-lm",
            "warm / cold",
            "warm, tokens not cached",
            "warm / limit",
            "warm - 1.25 x limit",
            "next question / limit",
            "next question - 1.25 x limit",
        )
    }
    assert found["cold / plain mlx-lm", 2000].value.median == pytest.approx(1.04)
    assert found["cold / plain mlx-lm", 2000].met
    assert found["warm / cold", 2000].value.median == pytest.approx(0.6 / 10.4)
    assert not found["warm / cold", 2000].met
    assert found["warm, tokens not cached", 2000].value.median == 1
    assert found["warm, tokens not cached", 2000].met
    assert not found["warm / limit", 2000].met
    beyond = found["warm - 1.25 x limit", 2000]
    assert beyond.value.median == pytest.approx(100.0)
    assert (beyond.bar, beyond.unit) == (15.0, "ms")
    assert not beyond.met


def test_too_little_in_the_cache_is_a_miss(make_size: MakeSize) -> None:
    assert judged(make_size(1000, cached=983))["warm, tokens not cached", 1000].met
    missed = judged(make_size(1000, cached=982))["warm, tokens not cached", 1000]
    assert not missed.met
    assert not missed.unsure


def test_a_greeting_must_not_be_slower_than_without_the_cache(make_size: MakeSize) -> None:
    assert judged(make_size(10, cold_s=0.1, warm_s=0.1))["greeting, warm / cold", 10].met
    assert not judged(make_size(10, cold_s=0.1, warm_s=0.11))["greeting, warm / cold", 10].met
    assert ("greeting, warm / cold", 100) not in judged(make_size(100))


@pytest.mark.parametrize(("size", "percent"), [(241, 77.0), (459, 91.3), (681, 94.6), (904, 96.2)])
def test_the_source_s_savings(make_size: MakeSize, size: int, percent: float) -> None:
    """S0-2."""
    beaten = judged(make_size(size, cold_s=1.0, warm_s=1 - percent / 100 - 0.001))
    verdict = beaten["saving, the source's", size]
    assert verdict.bar == pytest.approx(percent)
    assert verdict.value.median == pytest.approx(percent + 0.1)
    assert verdict.met
    behind = judged(make_size(size, cold_s=1.0, warm_s=1 - percent / 100 + 0.001))
    assert not behind["saving, the source's", size].met


def test_bars_come_together_and_sizes_in_their_order(make_size: MakeSize) -> None:
    found = verdicts((make_size(100), make_size(250)))
    assert [(verdict.what, verdict.prompt_tokens) for verdict in found[:4]] == [
        ("cold / plain mlx-lm", 100),
        ("cold / plain mlx-lm", 250),
        ("warm / limit", 100),
        ("warm / limit", 250),
    ]


@pytest.mark.parametrize(
    ("value", "met", "unsure"),
    [
        (Estimate(1.04, 1.02, 1.08, 3), True, True),
        (Estimate(1.06, 1.02, 1.08, 3), False, True),
        (Estimate(1.06, 1.02, 1.08, 15), True, False),
        (Estimate(1.09, 1.06, 1.12, 15), False, False),
        (Estimate(0.80, 0.70, 0.90, 3), True, False),
        (Estimate(1.30, 1.01, 1.60, 3), False, True),
        (Estimate(1.30, 1.20, 1.60, 3), False, False),
        (Estimate(1.30, 1.30, 1.30, 1), False, True),
    ],
)
def test_few_pairs_judge_by_the_median_many_by_the_interval(
    value: Estimate, met: bool, unsure: bool
) -> None:
    verdict = Verdict("cold / plain mlx-lm", 500, value, 1.05)
    assert (verdict.met, verdict.unsure) == (met, unsure)


def saving(value: Estimate) -> Verdict:
    return Verdict("saving", 459, value, 90.0, "%", at_least=True)


def test_a_saving_looks_at_the_other_end_of_the_interval() -> None:
    assert not saving(Estimate(89.5, 88.0, 90.5, 3)).met
    assert saving(Estimate(89.5, 88.0, 90.5, 15)).met


@pytest.mark.parametrize(
    ("percent", "unsure"), [(88.9, False), (89.1, True), (90.9, True), (91.1, False)]
)
def test_a_saving_is_near_by_what_it_leaves(percent: float, unsure: bool) -> None:
    assert saving(Estimate(percent, percent, percent, 3)).unsure is unsure
