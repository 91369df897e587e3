"""What the processes of a bench took of memory, beside what they may (design D6)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from app.settings import format_size
from engine.model import device


@dataclass(frozen=True, slots=True)
class Peak:
    """The most memory that a process ever had, and what it may have: its KV budget, its weights,
    and what Ondol keeps beside them for a forward pass. In bytes."""

    process: str
    peak_bytes: int
    budget_bytes: int
    weights_bytes: int
    workspace_bytes: int

    @staticmethod
    def here(process: str, budget_bytes: int, weights_bytes: int) -> Peak:
        """Of this process, so far."""
        return Peak(
            process,
            device.peak_memory_bytes(),
            budget_bytes,
            weights_bytes,
            device.workspace_bytes(),
        )

    @property
    def allowed_bytes(self) -> int:
        return self.budget_bytes + self.weights_bytes + self.workspace_bytes

    @property
    def met(self) -> bool:
        return self.peak_bytes <= self.allowed_bytes


def lines(peaks: Sequence[Peak]) -> Iterator[str]:
    """For people."""
    yield "Peak memory / KV budget + weights + workspace"
    for peak in peaks:
        parts = (peak.budget_bytes, peak.weights_bytes, peak.workspace_bytes)
        yield (
            f"  {'met   ' if peak.met else 'MISSED'}  {peak.process}: "
            f"{format_size(peak.peak_bytes)} / {' + '.join(map(format_size, parts))} = "
            f"{peak.peak_bytes / peak.allowed_bytes:.3f} (bar ≤ 1)"
        )


def to_json(peaks: Sequence[Peak]) -> list[dict[str, Any]]:
    """In bytes."""
    return [asdict(peak) | {"met": peak.met} for peak in peaks]
