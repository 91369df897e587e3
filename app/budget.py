"""How much memory KV may take: what is chosen where nobody chose, and the most that makes sense."""

from __future__ import annotations

from dataclasses import dataclass

from engine.config import GIB, MIB
from engine.model import device

LEAST_BYTES = 256 * MIB

_SYSTEM_BYTES = 2 * GIB


@dataclass(frozen=True, slots=True)
class KvLimits:
    """Bytes. `automatic` is what the engine chooses; above `most` the rest of the machine would
    run short."""

    automatic: int
    least: int
    most: int


def kv_limits(weights_bytes: int) -> KvLimits:
    """For a model of this size. Imports MLX, which takes a moment the first time."""
    automatic = device.default_kv_budget(weights_bytes)
    beside_all_else = device.total_memory_bytes() - weights_bytes - _SYSTEM_BYTES
    return KvLimits(automatic, LEAST_BYTES, max(automatic, beside_all_else))
