"""What admission promised of sliding windows holds, and a hit is never dearer than a miss."""

from __future__ import annotations

import pytest

from engine.request import Segment
from tests.support import tiny_models
from tests.support.gate import Gate, check
from tests.support.tiny_models import VOCABULARY

TEXT = [(7 * n * n + 3 * n + 5) % VOCABULARY for n in range(1400)]
OTHER = [(11 * n * n + n + 9) % VOCABULARY for n in range(1400)]


def make_gate(monkeypatch: pytest.MonkeyPatch, window: int, *, chunk: int, num_tokens: int) -> Gate:
    """A model of that window, with the budget that one request of so many tokens is priced at."""
    config = {**tiny_models.CONFIGS["gemma3_text"], "sliding_window": window}
    monkeypatch.setitem(tiny_models.CONFIGS, "gemma3_text", config)
    cost = Gate("gemma3_text", chunk=chunk).cache.cost
    return Gate("gemma3_text", chunk=chunk, budget=cost.append_bytes(num_tokens + 256))


@pytest.mark.parametrize(
    ("size", "chunk", "ends"),
    [
        (512, 128, (760, 1010)),
        (400, 256, (640, 900)),
        (1024, 256, (1270, 1380)),
        (100, 64, (300, 330)),
        (300, 64, (100, 900)),
    ],
)
def test_one_request_of_the_whole_budget_stays_within_it(
    monkeypatch: pytest.MonkeyPatch, size: int, chunk: int, ends: tuple[int, int]
) -> None:
    """The gate looks after every step; checkpoints on the way leave windows in several parts."""
    tokens, answer = TEXT[: ends[1] + 10], 12
    gate = make_gate(monkeypatch, size, chunk=chunk, num_tokens=len(tokens) + answer)
    segments = (Segment("system", 0, ends[0]), Segment("messages", ends[0], ends[1]))
    gate.run("only", tokens, answer, segments)
    check(gate, "only", tokens)


def test_a_request_that_fits_cold_starts_warm(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a budget of exactly its price, behind a system segment of two windows."""
    system, tokens = TEXT[:600], [*TEXT[:600], *OTHER[:601]]
    gate = make_gate(monkeypatch, 300, chunk=128, num_tokens=len(tokens) + 4)
    gate.run("first", [*system, *OTHER[700:740]], 4, (Segment("system", 0, 600),))
    assert gate.run("second", tokens, 4, (Segment("system", 0, 600),))[1] == 600
    check(gate, "second", tokens)
