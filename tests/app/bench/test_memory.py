"""What processes took of memory, beside what they may."""

from __future__ import annotations

from dataclasses import replace

from app.bench import memory
from app.bench.memory import Peak
from engine.config import GIB, MIB
from engine.model import machine

WITHIN = Peak("ondol serve", 1_500 * MIB, 256 * MIB, 500 * MIB, GIB)
BEYOND = replace(WITHIN, peak_bytes=2_000 * MIB)


def test_a_process_may_take_budget_weights_and_workspace() -> None:
    assert WITHIN.allowed_bytes == BEYOND.allowed_bytes == (256 + 500 + 1_024) * MIB
    assert WITHIN.met
    assert replace(WITHIN, peak_bytes=WITHIN.allowed_bytes).met
    assert not replace(WITHIN, peak_bytes=WITHIN.allowed_bytes + 1).met
    assert not BEYOND.met


def test_it_is_told_part_by_part() -> None:
    told = list(memory.lines((WITHIN, BEYOND)))
    assert told == [
        "Peak memory / KV budget + weights + workspace",
        "  met     ondol serve: 1.5 GiB / 256.0 MiB + 500.0 MiB + 1.0 GiB = 0.843 (bar ≤ 1)",
        "  MISSED  ondol serve: 2.0 GiB / 256.0 MiB + 500.0 MiB + 1.0 GiB = 1.124 (bar ≤ 1)",
    ]
    assert [(each["peak_bytes"], each["met"]) for each in memory.to_json((WITHIN, BEYOND))] == [
        (1_500 * MIB, True),
        (2_000 * MIB, False),
    ]


def test_this_process_is_measured() -> None:
    size = machine.peak_process_bytes() + 16 * MIB
    held = bytearray(size)
    held[::4096] = b"x" * len(held[::4096])  # touched, so that it is there
    peak = Peak.here("it", MIB, 2 * MIB)
    assert peak.peak_bytes >= size
    assert peak.allowed_bytes == 3 * MIB + peak.workspace_bytes
    assert peak.workspace_bytes >= GIB
