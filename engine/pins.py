"""Pins: named prefixes that stay resident (words: design §3). What a pin is, not how it is kept."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from engine.prompt.chat import Message


@dataclass(frozen=True, slots=True)
class PinSpec:
    """A prefix to keep warm, as messages and tools: its tokens depend on the model and are rendered
    for each anew."""

    name: str
    messages: tuple[Message, ...]
    tools: tuple[Mapping[str, object], ...] = ()


def distinct_tokens(prefixes: Iterable[Sequence[int]]) -> int:
    """Tokens that these prefixes need in KV together: shared beginnings count once."""
    total = 0
    before: Sequence[int] = ()
    for tokens in sorted(tuple(prefix) for prefix in prefixes):
        total += len(tokens) - _common_prefix(before, tokens)
        before = tokens
    return total


def _common_prefix(a: Sequence[int], b: Sequence[int]) -> int:
    for n, (x, y) in enumerate(zip(a, b, strict=False)):
        if x != y:
            return n
    return min(len(a), len(b))
