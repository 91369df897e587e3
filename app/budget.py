"""How much memory KV may take: what is chosen where nobody chose, and the most that makes sense."""

from __future__ import annotations

from dataclasses import dataclass

from app.settings import format_size
from engine.config import GIB, MIB
from engine.errors import ConfigError
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


class KvBudgetTooLarge(ConfigError):
    """Bytes: the budget that was asked for, and the memory that is there."""

    def __init__(self, budget: int, memory: int) -> None:
        super().__init__(
            f"A KV budget of {format_size(budget)} is more than the {format_size(memory)} of memory"
            " that this machine has. Choose less, or leave the choice to Ondol."
        )
        self.budget = budget
        self.memory = memory


def check_kv_budget(budget: int | None) -> None:
    """Raises KvBudgetTooLarge for a budget that cannot be meant. None is Ondol's own choice."""
    if budget is None or budget <= device.total_memory_bytes():
        return
    # A GPU may have more of its own; asking it imports MLX.
    memory = max(device.total_memory_bytes(), device.describe().memory_bytes)
    if budget > memory:
        raise KvBudgetTooLarge(budget, memory)


def kv_limits(weights_bytes: int) -> KvLimits:
    """For a model of this size. Imports MLX, which takes a moment the first time."""
    automatic = device.default_kv_budget(weights_bytes)
    beside_all_else = device.total_memory_bytes() - weights_bytes - _SYSTEM_BYTES
    return KvLimits(automatic, LEAST_BYTES, max(automatic, beside_all_else))
