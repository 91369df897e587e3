"""Rows that the bench lets run: by the engine's own steps, on one prefix, with the right logits."""

from __future__ import annotations

import pytest

from app.bench.errors import BenchError
from app.bench.shared_rows import SharedRows
from engine.assembly import Assembly
from engine.loop import LoopParts
from tests.support.engine import word_codec
from tests.support.gate import Gate, check
from tests.support.tiny_models import VOCABULARY

PREFIX = [(7 * n * n + 3 * n + 5) % VOCABULARY for n in range(300)]
SUFFIXES = [[(11 * n + 9 * row + 1) % VOCABULARY for n in range(5)] for row in range(8)]


def on(gate: Gate, most_tokens: int = 40) -> SharedRows:
    parts = LoopParts(
        gate.runner,
        gate.cache,
        gate.admission,
        gate.scheduler,
        word_codec(),
        frozenset(range(VOCABULARY)),  # no token may end an answer all the same
        "tiny",
    )
    rows = SharedRows(Assembly(gate.runner.info, parts, None, {}, gate.runner.close), most_tokens)
    rows.keep(PREFIX)
    return rows


def test_rows_share_the_prefix_and_answer_their_own_prompts() -> None:
    gate = Gate("llama", chunk=256)
    rows = on(gate)
    prefix_bytes = gate.cache.used_bytes
    ttft_s = rows.start(SUFFIXES[:7])
    assert len(ttft_s) == 7
    assert min(ttft_s) > 0
    assert rows.steps(3) > 0
    joined = rows.join(SUFFIXES[7])
    assert (joined.steps_before, joined.steps_after) == (1, 1)
    assert 0 < joined.first_s < joined.total_s
    own_bytes = gate.cache.used_bytes - prefix_bytes
    assert 8 * 8 <= own_bytes / gate.cache.cost.bytes_per_token <= 8 * 32
    assert rows.leave() > 0
    assert len(gate.scheduler.running) == 7
    gate.cache.check_integrity()
    by_suffix = {tuple(suffix): 0 for suffix in SUFFIXES}
    for number, suffix in enumerate(SUFFIXES, start=2):  # the first request was the prefix
        name = f"bench-{number}"
        check(gate, name, [*PREFIX, *suffix])
        by_suffix[tuple(suffix)] = len(gate.answer(name))
    assert list(by_suffix.values()) == [1 + 3 + 2 + 1] * 7 + [2]


def test_rows_that_stop_leave_only_the_prefix() -> None:
    gate = Gate("llama", chunk=256)
    rows = on(gate)
    kept = gate.cache.used_bytes
    for _ in range(2):
        rows.start(SUFFIXES)
        rows.stop()
        assert gate.cache.used_bytes == kept
        gate.cache.check_integrity()
    assert gate.cache.match([*PREFIX, *SUFFIXES[0]]).num_tokens == len(PREFIX)
    rows.keep(PREFIX[:40])
    assert gate.cache.match([*PREFIX, *SUFFIXES[0]]).num_tokens == 40
    rows.forget()
    assert gate.cache.used_bytes == 0


def test_rows_that_cannot_run_at_once_are_told() -> None:
    cost = Gate("llama").cache.cost.bytes_per_token
    gate = Gate("llama", chunk=256, budget=512 * cost)
    rows = on(gate)
    with pytest.raises(BenchError, match=r"8 rows on a prefix of 300 tokens cannot run at once"):
        rows.start(SUFFIXES)


def test_a_prefix_that_does_not_fit_is_told() -> None:
    cost = Gate("llama").cache.cost.bytes_per_token
    with pytest.raises(BenchError, match=r"could not complete a request: .*KV budget"):
        on(Gate("llama", chunk=256, budget=200 * cost))
