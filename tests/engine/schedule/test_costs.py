"""The price of prefill is learned from what prefill took."""

from __future__ import annotations

import random

import pytest

from engine.schedule.costs import PrefillCost


def test_before_anything_was_measured() -> None:
    assert PrefillCost().seconds(0, 200) == pytest.approx(1.0)
    assert PrefillCost().seconds(300, 300) == PrefillCost().seconds(300, 200) == 0.0


def test_it_finds_both_coefficients() -> None:
    cost = PrefillCost()
    a, b = 4e-3, 2e-6
    for start in range(0, 8192, 256):
        cost.observe(start, 256, a * 256 + b * 256 * (start + 128))
    assert cost.coefficients == pytest.approx((a, b), rel=1e-6)
    assert cost.seconds(1000, 3000) == pytest.approx(a * 2000 + b * 2000 * 2000)
    parts = sum(cost.seconds(at, at + 500) for at in range(0, 5000, 500))
    assert parts == pytest.approx(cost.seconds(0, 5000))


def test_noise_and_a_change_of_speed_are_lived_with() -> None:
    cost, chance = PrefillCost(), random.Random(3)
    for scale in (1.0, 3.0):  # another program takes half the machine
        for n in range(300):
            start = 256 * (n % 16)
            took = scale * (4e-3 * 256 + 1e-6 * 256 * (start + 128))
            cost.observe(start, 256, took * chance.uniform(0.8, 1.2))
        expected = scale * (4e-3 * 1000 + 1e-6 * 1000 * 500)
        assert cost.seconds(0, 1000) == pytest.approx(expected, rel=0.1)


def test_one_length_at_one_depth_still_gives_a_price() -> None:
    cost = PrefillCost()
    for _ in range(5):
        cost.observe(0, 100, 0.5)
    assert cost.coefficients == pytest.approx((5e-3, 0.0))


def test_small_chunks_and_odd_times_tell_nothing() -> None:
    cost = PrefillCost()
    cost.observe(0, 3, 9.0)
    cost.observe(0, 100, 0.0)
    assert cost.seconds(0, 200) == pytest.approx(1.0)


def test_a_constant_for_each_pass_is_no_cost_of_depth() -> None:
    """Short chunks come last, deep in a prompt: read as a cost of depth, what they take would make
    deep pages worth more than the beginnings they stand on."""
    cost = PrefillCost()
    constant, a, b = 0.05, 4e-3, 1e-7
    for n in range(40):
        for start, length in ((0, 256), (256, 256), (512, 256), (768, 40 + 5 * (n % 9))):
            cost.observe(start, length, constant + a * length + b * length * (start + length / 2))
    assert cost.coefficients == pytest.approx((a + constant / 256, b), rel=1e-6)


@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_the_fit_is_never_negative(noise: float) -> None:
    chance = random.Random(5)
    cost = PrefillCost()
    for _ in range(300):
        start, length = chance.randrange(0, 8192, 64), chance.choice([64, 128, 256, 256, 256])
        took = 0.02 + 3e-3 * length + 5e-7 * length * (start + length / 2)
        cost.observe(start, length, took * chance.uniform(1 - noise, 1 + noise))
        assert min(cost.coefficients) >= 0
        assert cost.seconds(0, 100) > 0
    expected = (3e-3 + 0.02 / 256, 5e-7)
    assert cost.coefficients == pytest.approx(expected, rel=0.02 if not noise else 0.3)
