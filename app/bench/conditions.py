"""Where and how a run was made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Where and when a run was made; a bench adds what it was made with."""

    started_at: str
    cores: int
    load_before: float
    versions: Mapping[str, str]
    platform: str


@dataclass(frozen=True, slots=True)
class Conditions(Surroundings):
    """Where and how a run was made. `device` is `engine.model.device.describe()`."""

    model: str
    dtype: str
    device: Mapping[str, Any]
    threads: int
    prefill_chunk: int
    max_tokens: int
    rounds: int
    repeats: int
