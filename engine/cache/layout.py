"""What kind of state each layer of a model keeps, and what that allows."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass


class LayerKind(enum.Enum):
    """How a layer remembers its past, and with it what a hit of n tokens needs of it: all n, the
    last window of them, or its state at exactly n (algorithms §2.4)."""

    FULL = "full attention"
    SLIDING = "sliding window"
    RECURRENT = "recurrent"
    COMPOSITE = "composite"
    OTHER = "other"


_RESTORABLE = frozenset({LayerKind.FULL, LayerKind.SLIDING, LayerKind.RECURRENT})


@dataclass(frozen=True, slots=True)
class Layer:
    """One layer's cache: its kind and the name of its class.

    `window` counts the tokens that a sliding layer sees, the present one included. `inner` are the
    caches that a composite layer is made of.
    """

    kind: LayerKind
    name: str
    window: int = 0
    inner: tuple[Layer, ...] = ()

    def leaves(self) -> Iterator[Layer]:
        """The layer itself, or what it is made of."""
        if self.kind is not LayerKind.COMPOSITE:
            yield self
        for layer in self.inner:
            yield from layer.leaves()

    def identity(self) -> str:
        """For digests."""
        inside = ",".join(layer.identity() for layer in self.inner)
        return f"{self.name}{self.window or ''}" + (f"({inside})" if inside else "")


@dataclass(frozen=True, slots=True)
class Layout:
    """The layers of a model in order."""

    layers: tuple[Layer, ...]

    @property
    def leaves(self) -> tuple[Layer, ...]:
        """Every cache of the model in order, composites taken apart."""
        return tuple(leaf for layer in self.layers for leaf in layer.leaves())

    @property
    def windows(self) -> tuple[int, ...]:
        """The window of each group of sliding layers, smallest first."""
        return tuple(sorted({leaf.window for leaf in self.leaves if leaf.window}))

    @property
    def recurrent(self) -> bool:
        """Whether any layer keeps a state that is right at one position only."""
        return any(leaf.kind is LayerKind.RECURRENT for leaf in self.leaves)

    @property
    def reusable(self) -> bool:
        """Whether a prefix can be restored exactly."""
        return bool(self.leaves) and not self.obstacle

    @property
    def obstacle(self) -> str:
        """What stands against reuse, for people; empty if nothing does."""
        names = {leaf.name for leaf in self.leaves if leaf.kind not in _RESTORABLE}
        if not names:
            return ""
        return f"its layers keep their past in {', '.join(sorted(names))}"

    def describe(self) -> str:
        """For people: "30 full attention", "5 full attention, 25 sliding window"."""
        counts: dict[str, int] = {}
        for layer in self.layers:
            kinds = dict.fromkeys(leaf.kind.value for leaf in layer.leaves())
            name = " with ".join(kinds) or layer.kind.value
            counts[name] = counts.get(name, 0) + 1
        return ", ".join(f"{n} {name}" for name, n in counts.items())

    def identity(self) -> str:
        """For digests: the cache classes in order, with their windows."""
        return ",".join(layer.identity() for layer in self.layers)
