"""What kind of state each layer of a model keeps, and what that allows."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class LayerKind(enum.Enum):
    """How a layer remembers its past."""

    FULL = "full attention"
    SLIDING = "sliding window"
    RECURRENT = "recurrent"
    COMPOSITE = "composite"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Layout:
    """The layers of a model in order, each with the name of its cache class."""

    layers: tuple[tuple[LayerKind, str], ...]

    @property
    def reusable(self) -> bool:
        """Whether a prefix of any length can be restored exactly: full attention in every layer."""
        return bool(self.layers) and all(kind is LayerKind.FULL for kind, _ in self.layers)

    def describe(self) -> str:
        """For people: "30 full attention", "5 full attention, 25 sliding window"."""
        counts: dict[str, int] = {}
        for kind, _ in self.layers:
            counts[kind.value] = counts.get(kind.value, 0) + 1
        return ", ".join(f"{n} {name}" for name, n in counts.items())

    def identity(self) -> str:
        """For digests: the cache classes in order."""
        return ",".join(name for _, name in self.layers)
