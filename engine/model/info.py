"""What is known of a loaded model: plain data that any thread may read."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from engine.cache.cost import KVCost


class AttentionMode(enum.Enum):
    """How requests of a model share KV; established by a probe at load."""

    SHARED = "shared parts"  # rows in one batch, parts read in place (design D10)
    COPIES = "copies"  # one row at a time, parts copied together at every step
    PRIVATE = "no reuse"  # one row at a time with a state of its own


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """A loaded model.

    `cost` prices its KV; `context_window` counts tokens; `created` is Unix seconds; `layers` tells
    the kinds of layers for people; `attention_reason` says why `attention` is not SHARED.
    """

    id: str
    architecture: str
    context_window: int
    vocab_size: int
    num_layers: int
    layers: str
    cost: KVCost
    weights_bytes: int
    dtype: str
    quantization: str
    fingerprint: str
    created: int
    attention: AttentionMode
    attention_reason: str = ""

    @property
    def bytes_per_token(self) -> int:
        """KV of one token over all layers, as long as every window sees it."""
        return self.cost.bytes_per_token + sum(
            window.bytes_per_token for window in self.cost.windows
        )

    @property
    def reuses(self) -> bool:
        """Whether what one request computed serves others."""
        return self.attention is not AttentionMode.PRIVATE
