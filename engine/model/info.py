"""What is known of a loaded model: plain data that any thread may read."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class AttentionMode(enum.Enum):
    """How requests of a model share KV; established by a probe at load."""

    SHARED = "shared parts"  # rows in one batch, parts read in place (design D10)
    COPIES = "copies"  # one row at a time, parts copied together at every step
    PRIVATE = "no reuse"  # one row at a time with a state of its own


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """A loaded model.

    `bytes_per_token` is the KV of one token over all layers; `context_window` counts tokens;
    `created` is Unix seconds; `layers` tells the kinds of layers for people; `attention_reason`
    says why `attention` is not SHARED.
    """

    id: str
    architecture: str
    context_window: int
    vocab_size: int
    num_layers: int
    layers: str
    bytes_per_token: int
    weights_bytes: int
    dtype: str
    quantization: str
    fingerprint: str
    created: int
    attention: AttentionMode
    attention_reason: str = ""
