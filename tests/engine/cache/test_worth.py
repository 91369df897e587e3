"""What keeping something is worth: every factor, and its sign."""

from __future__ import annotations

import pytest

from engine.cache.checkpoint import Checkpoint
from engine.cache.cost import KVCost
from engine.cache.eviction import Group, LeastRecentlyUsed, Loss, Rank
from engine.cache.kept import COLD_HALF_LIVES, HALF_LIFE_S, Kept, Use
from engine.cache.standing import Standing
from engine.cache.worth import HEAD_START, STALE_HALF_LIVES, ByWorth

LOSS = Loss(0, 160, 160)


def kept(
    *uses_s: float, standing: Standing = Standing.ORDINARY, client: str = "", cold: bool = False
) -> Kept:
    """Something that was computed at the first of these times and hit at the others."""
    made = Kept()
    made.begin(Use(1, uses_s[0], client, standing, cold=cold))
    for number, at_s in enumerate(uses_s[1:], 2):
        made.record(Use(number, at_s, client, standing, hit=True))
    return made


def rank(of: Kept, policy: ByWorth, loss: Loss = LOSS, *, over_share: bool = False) -> Rank:
    return policy.rank(of, policy.price(loss), over_share=over_share)


def value(of: Kept, loss: Loss = LOSS, policy: ByWorth | None = None) -> float:
    return rank(of, policy or ByWorth(now=lambda: 0.0), loss).value


def test_what_was_used_later_is_worth_more_by_a_factor_of_two_each_half_life() -> None:
    assert value(kept(HALF_LIFE_S)) - value(kept(0.0)) == pytest.approx(1.0)
    assert value(kept(3 * HALF_LIFE_S)) - value(kept(0.0)) == pytest.approx(3.0)


def test_every_use_counts_and_old_ones_count_less() -> None:
    """Two uses at once are worth twice one; one of now and one a half-life ago, three halves."""
    once = kept(HALF_LIFE_S)
    assert 2 ** (value(kept(HALF_LIFE_S, HALF_LIFE_S)) - value(once)) == pytest.approx(2.0)
    assert 2 ** (value(kept(0.0, HALF_LIFE_S)) - value(once)) == pytest.approx(1.5)


def test_often_used_outweighs_recently_used_for_a_while() -> None:
    prefix = kept(*range(16))  # 16 uses are worth 4 half-lives
    assert value(kept(3.9 * HALF_LIFE_S)) < value(prefix) < value(kept(4.1 * HALF_LIFE_S))


def test_what_takes_longer_to_compute_is_worth_more() -> None:
    """The trap of algorithms §2.9: a price with the wrong sign evicts what is dearest first."""
    same, short, long = kept(0.0), Loss(0, 40, 160), Loss(0, 160, 160)
    assert value(same, long) - value(same, short) == pytest.approx(2.0)


def test_a_busy_machine_makes_nothing_dearer_than_it_was_in_quiet() -> None:
    """Parts are not priced at the same time."""
    busy = ByWorth(lambda start, end: 2.0 * (end - start), now=lambda: 0.0)
    quiet = ByWorth(lambda start, end: 0.5 * (end - start), now=lambda: 0.0)
    assert busy.price(LOSS) == quiet.price(LOSS)


def test_tokens_behind_many_others_are_worth_more_where_depth_costs() -> None:
    policy = ByWorth(
        lambda start, end: (end - start) * (0.001 + 1e-6 * (start + end) / 2), now=lambda: 0.0
    )
    shallow, deep = Loss(0, 100, 100), Loss(10_000, 10_100, 100)
    same = kept(0.0)
    assert value(same, shallow, policy) < value(same, deep, policy)


def test_what_takes_more_memory_is_worth_less() -> None:
    small, large = Loss(0, 160, 160), Loss(0, 160, 640)
    assert value(kept(0.0), small) - value(kept(0.0), large) == pytest.approx(2.0)


def test_classes_are_worth_half_lives() -> None:
    ordinary = value(kept(0.0))
    for standing in (Standing.SESSION, Standing.TEMPLATE):
        head_start = value(kept(0.0, standing=standing)) - ordinary
        assert head_start == pytest.approx(HEAD_START[standing])
    assert HEAD_START[Standing.ORDINARY] < HEAD_START[Standing.SESSION]
    assert HEAD_START[Standing.SESSION] < HEAD_START[Standing.TEMPLATE]


def test_the_groups_go_one_after_another() -> None:
    stale_s = STALE_HALF_LIVES * HALF_LIFE_S
    policy = ByWorth(now=lambda: stale_s + 1)
    background = kept(stale_s, standing=Standing.BACKGROUND)
    ranks = [
        rank(background, policy, over_share=True),
        rank(background, policy),
        rank(kept(0.0), policy),
        rank(kept(stale_s, standing=Standing.TEMPLATE), policy, over_share=True),
        rank(kept(2.0), policy),
    ]
    assert [each.group for each in ranks] == list(Group)
    assert ranks == sorted(ranks)


def test_a_share_protects_nothing_that_is_stale() -> None:
    """Who came yesterday must not narrow those who are here today for ever."""
    today_s = (STALE_HALF_LIVES + 1) * HALF_LIFE_S
    policy = ByWorth(now=lambda: today_s)
    mine = rank(kept(today_s), policy, over_share=True)
    assert rank(kept(0.0, client="guest"), policy) < mine


def test_what_saves_nothing_goes_first_of_its_group() -> None:
    policy = ByWorth(now=lambda: 0.0)
    for nothing in (Loss(16, 16, 160), Loss(0, 16, 0)):
        assert rank(kept(0.0), policy, nothing) < rank(kept(0.0), policy, Loss(0, 1, 10**9))


def test_a_cold_newcomer_is_worth_as_much_as_what_was_used_long_ago() -> None:
    now_s = COLD_HALF_LIVES * HALF_LIFE_S
    assert value(kept(now_s, cold=True)) == pytest.approx(value(kept(0.0)))


def test_a_cold_newcomer_that_is_hit_is_one_no_longer() -> None:
    newcomer = kept(0.0, cold=True)
    newcomer.record(Use(2, 0.0, hit=True))
    assert value(kept(0.0)) < value(newcomer)


def test_a_row_that_ends_counts_once_and_as_of_its_end() -> None:
    page = kept(0.0)
    page.record(Use(2, HALF_LIFE_S))
    assert value(page) == value(kept(HALF_LIFE_S))


def test_least_recently_used_heeds_nothing_else_G11() -> None:
    policy = LeastRecentlyUsed()
    old, young = Kept(), Kept()
    old.begin(Use(1, 9e9, standing=Standing.TEMPLATE))
    young.begin(Use(2, 0.0, standing=Standing.BACKGROUND))
    price = policy.price(LOSS)
    first = policy.rank(old, price, over_share=False)
    assert first < policy.rank(young, price, over_share=True)


def test_prices_of_checkpoints_are_what_only_a_hit_there_needs() -> None:
    class At(Checkpoint):
        end = 40  # type: ignore[assignment]

    cost = KVCost(10, state_bytes=500)
    checkpoint = At(None, b"", None, computed_by_prefill=True)  # type: ignore[arg-type]
    assert checkpoint.price(cost) == 500
