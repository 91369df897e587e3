"""Why the hit rate fell: memory is told from prompts."""

from __future__ import annotations

import pytest

from app.hit_rate import Cause, Span, why_it_fell

WARM = Span(reused_tokens=9000, computed_tokens=1000)  # 90 %


def after(rate: float, tokens: int = 10_000, **losses: int) -> Span:
    reused = round(rate * tokens)
    span = Span(reused, tokens - reused, **losses)
    assert span.lost_tokens + span.new_tokens <= span.computed_tokens
    return span


@pytest.mark.parametrize(
    "lately",
    [
        after(0.95),
        after(0.81, preemptions=9, lost_tokens=1900),
        after(0.0, tokens=999, preemptions=1, lost_tokens=999),
        Span(),
    ],
    ids=["rose", "fell by less than a tenth", "too few tokens", "no request"],
)
def test_there_is_nothing_to_say(lately: Span) -> None:
    assert why_it_fell(WARM, lately) is Cause.NOTHING


def test_before_anything_is_known_there_is_nothing_to_say() -> None:
    assert why_it_fell(Span(), after(0.2, lost_tokens=8000)) is Cause.NOTHING


# From 90 % to 30 % of 10,000 tokens 6,000 were missed, a quarter of which is 1,500 tokens.


@pytest.mark.parametrize(
    ("lately", "cause"),
    [
        (after(0.3, new_tokens=1500), Cause.NEW_PROMPTS),
        (after(0.3, new_tokens=1499), Cause.NOTHING),
        (after(0.3, new_tokens=7000, starts=1), Cause.START),
        (after(0.3, lost_tokens=1500, new_tokens=1500), Cause.EVICTION),
        (after(0.3, lost_tokens=1499), Cause.NOTHING),
        (after(0.3, lost_tokens=1500, new_tokens=5500), Cause.NEW_PROMPTS),
        (after(0.3, lost_tokens=3500, new_tokens=3500, starts=1), Cause.EVICTION),
        (after(0.3, lost_tokens=1500, new_tokens=5500, starts=1), Cause.START),
        (after(0.3, preemptions=1, new_tokens=7000), Cause.NEW_PROMPTS),
        (after(0.3, preemptions=2, lost_tokens=1500), Cause.PREEMPTION),
        (after(0.3, preemptions=1, lost_tokens=1499), Cause.NOTHING),
        (after(0.3, preemptions=1), Cause.NOTHING),
    ],
)
def test_losses_are_the_reason_if_they_are_a_fair_share(lately: Span, cause: Cause) -> None:
    assert why_it_fell(WARM, lately) is cause


def test_a_sudden_fall_at_a_preemption_is_not_taken_for_diverse_prompts() -> None:
    """The shape of S3-7: 60 % before, 31 % in the window in which requests made way."""
    before = Span(reused_tokens=60_000, computed_tokens=40_000)
    lately = Span(
        reused_tokens=6200,
        computed_tokens=13_800,
        preemptions=12,
        lost_tokens=8800,
        new_tokens=5000,
    )
    assert why_it_fell(before, lately) is Cause.PREEMPTION
    quiet = Span(reused_tokens=6200, computed_tokens=13_800, new_tokens=13_800)
    assert why_it_fell(before, quiet) is Cause.NEW_PROMPTS
