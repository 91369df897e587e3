"""The errands of a household: what each asks next, given what was answered before."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

from app.bench import house_texts as texts
from app.bench.client import Messages, Tools

# A conversation that has become so long is over, and another one begins.
_MOST_WORDS = 800
_DOCUMENT_SENTENCES = 20
_FILE_LINES = 4


@dataclass(frozen=True, slots=True)
class Question:
    """What a client sends."""

    messages: Messages
    max_tokens: int
    tools: Tools = ()


class Errand(ABC):
    """One thing that a person does with the server. `ask` and `hear` are called in turn."""

    name: str

    @abstractmethod
    def ask(self) -> Question:
        """The next question."""

    @abstractmethod
    def hear(self, answer: str) -> None:
        """The answer to it."""


class Chat(Errand):
    """A conversation that grows."""

    name = "chat"

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._turns: list[Mapping[str, str]] = []

    def ask(self) -> Question:
        if _num_words(self._turns) > _MOST_WORDS:
            self._turns.clear()
        self._turns.append(_said("user", texts.question(self._chance)))
        return Question((_said("system", texts.HOUSE_RULES), *self._turns), max_tokens=24)

    def hear(self, answer: str) -> None:
        self._turns.append(_said("assistant", answer))


class Home(Errand):
    """Short commands to a home assistant, each on its own, under the same policy and tools."""

    name = "home"

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance

    def ask(self) -> Question:
        system = _said("system", f"{texts.HOUSE_RULES}\n\n{texts.HOME_POLICY}")
        command = _said("user", texts.command(self._chance))
        return Question((system, command), max_tokens=16, tools=texts.HOME_TOOLS)

    def hear(self, answer: str) -> None:
        """Forgotten: the next command stands on its own."""


class Agent(Errand):
    """A coding agent: every answer is followed by what a tool gave back."""

    name = "agent"

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._turns: list[Mapping[str, str]] = []

    def ask(self) -> Question:
        if not self._turns or _num_words(self._turns) > _MOST_WORDS:
            self._turns = [_said("user", f"Change this: {texts.command(self._chance)}")]
        else:
            self._turns.append(_said("tool", texts.source_lines(self._chance, _FILE_LINES)))
        system = _said("system", f"{texts.HOUSE_RULES}\n\n{texts.AGENT_POLICY}")
        return Question((system, *self._turns), max_tokens=24)

    def hear(self, answer: str) -> None:
        self._turns.append(_said("assistant", answer))


class Document(Errand):
    """Changing questions on one document, which everybody in the house asks about."""

    name = "document"

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._document = texts.document(random.Random(0), _DOCUMENT_SENTENCES)

    def ask(self) -> Question:
        system = _said("system", f"{texts.HOUSE_RULES}\n\n{self._document}")
        return Question((system, _said("user", texts.question(self._chance))), max_tokens=16)

    def hear(self, answer: str) -> None:
        """Forgotten: the next question stands on its own."""


ERRANDS: tuple[type[Chat | Home | Agent | Document], ...] = (Chat, Home, Agent, Document)


def _said(role: str, content: str) -> Mapping[str, str]:
    return {"role": role, "content": content}


def _num_words(turns: list[Mapping[str, str]]) -> int:
    return sum(len(turn["content"].split()) for turn in turns)
