"""The latest chat that a client sent, in memory only, so that a person can pin it."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from engine.prompt.chat import Message


@dataclass(frozen=True, slots=True)
class Chat:
    """Messages and tools as they were sent; `at` is Unix seconds."""

    messages: tuple[Message, ...]
    tools: tuple[Mapping[str, object], ...]
    at: float


class LastChat:
    """One slot: written by the server, read by whoever pins. An assignment needs no lock."""

    def __init__(self) -> None:
        self._chat: Chat | None = None

    def put(self, messages: Sequence[Message], tools: Sequence[Mapping[str, object]]) -> None:
        self._chat = Chat(tuple(messages), tuple(tools), time.time())

    def clear(self) -> None:
        self._chat = None

    def get(self) -> Chat | None:
        return self._chat
