"""B_max, what is known of the traffic, and the mode it needs."""

from __future__ import annotations

import pytest

from engine.config import AdmissionMode
from engine.schedule.capacity import ModeChoice, Traffic, most_running

GIB = 1 << 30
LLAMA_3_8B = 131_072  # bytes of KV a token (S3-1)


@pytest.mark.parametrize(("mean_tokens", "rows"), [(2048, 188), (8192, 47)])
def test_the_articles_example_S3_5(mean_tokens: int, rows: int) -> None:
    """47 GiB are free beside the reserve. 188 at 2,048 tokens; the article's 47 needs 8,192."""
    assert most_running(56 * GIB, 9 * GIB, mean_tokens, LLAMA_3_8B) == rows


def test_where_nothing_is_known_or_nothing_is_left() -> None:
    assert most_running(GIB, 0, 0.0, LLAMA_3_8B) == 0
    assert most_running(GIB, 2 * GIB, 100, LLAMA_3_8B) == 0


def traffic(hit_share: float, prompt_tokens: int = 1000, num: int = 64) -> Traffic:
    found = Traffic()
    for _ in range(num):
        found.started(prompt_tokens, round(hit_share * prompt_tokens))
        found.ended(100)
    return found


def test_hits_are_credited_to_what_a_request_needs_S0_14() -> None:
    found = traffic(0.9)
    assert found.mean_own_tokens == pytest.approx(100 + 100)
    assert (found.hit_share, found.long_answer) == (pytest.approx(0.9), 125)


@pytest.mark.parametrize(
    ("hit_share", "prompt_tokens", "mode"),
    [
        (0.7, 1000, AdmissionMode.PROTECT_CACHE),
        (0.9, 1000, AdmissionMode.PROTECT_CACHE),
        (0.1, 1000, AdmissionMode.MAX_THROUGHPUT),
        (0.5, 1000, AdmissionMode.BALANCED),
        (0.5, 6000, AdmissionMode.PROTECT_CACHE),
    ],
)
def test_auto_goes_by_the_traffic_S3_9(
    hit_share: float, prompt_tokens: int, mode: AdmissionMode
) -> None:
    choice = ModeChoice(AdmissionMode.AUTO)
    choice.update(traffic(hit_share, prompt_tokens))
    assert choice.mode is mode


def test_auto_waits_until_it_knows_enough() -> None:
    choice = ModeChoice(AdmissionMode.AUTO)
    choice.update(traffic(0.0, num=7))
    assert choice.mode is AdmissionMode.PROTECT_CACHE
    choice.update(traffic(0.0, num=8))
    assert choice.mode is AdmissionMode.MAX_THROUGHPUT


def test_traffic_at_a_border_does_not_move_the_mode_to_and_fro() -> None:
    for start in (0.8, 0.4):
        choice = ModeChoice(AdmissionMode.AUTO)
        choice.update(traffic(start))
        settled = choice.mode
        for share in (0.58, 0.62, 0.56, 0.64):
            choice.update(traffic(share))
            assert choice.mode is settled


def test_a_mode_that_was_asked_for_stays() -> None:
    choice = ModeChoice(AdmissionMode.BALANCED)
    choice.update(traffic(0.9))
    assert choice.mode is AdmissionMode.BALANCED
