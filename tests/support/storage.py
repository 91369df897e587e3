"""What the storage's tests share: a clock, request records, a look at files."""

from __future__ import annotations

from pathlib import Path

from engine.request import FinishReason, Priority, RequestRecord, Timings, Usage

NOON = 1_800_000_000.0  # a whole minute


class Clock:
    """Unix seconds that pass only when told to."""

    def __init__(self, now: float = NOON) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def make_record(
    number: int,
    *,
    ended_at: float = NOON,
    prompt: int = 100,
    cached: int = 0,
    completion: int = 10,
    ttft_s: float = 0.5,
    reason: FinishReason = FinishReason.STOP,
) -> RequestRecord:
    return RequestRecord(
        id=f"chatcmpl-{number}",
        client="tests",
        model="tiny",
        priority=Priority.INTERACTIVE,
        reason=reason,
        usage=Usage(prompt, cached, completion),
        timings=Timings(
            queue_s=0.125, prefill_s=0.25, decode_s=1.5, ttft_s=ttft_s, total_s=ttft_s + 1.5
        ),
        ended_at=ended_at,
    )


def state_of(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Every file with its bytes and the moment of its last change."""
    return {file.name: (file.read_bytes(), file.stat().st_mtime_ns) for file in folder.iterdir()}
