"""Several people asking at the same moment: as much as the engine can do."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from app.bench.client import Answer, Client, Messages
from app.bench.errors import BenchError, EmptyAnswer
from app.bench.workload import Chat, Workload

_MAX_CANDIDATES = 40


@dataclass(frozen=True, slots=True)
class LoadResult:
    """What one round of simultaneous requests came to: tokens that had to be computed, prompt and
    answer together, and the seconds until the last answer ended."""

    tokens: int
    seconds: float

    @property
    def tokens_per_second(self) -> float:
        return self.tokens / self.seconds


def run_load(client: Client, chats: Sequence[Chat], max_tokens: int, salt: str) -> LoadResult:
    """Ask everything at once and wait for all answers. Raises BenchError."""

    def ask(chat: Chat) -> Answer:
        return client.ask(chat.messages, max_tokens=max_tokens, salt=salt)

    started = time.perf_counter()
    with ThreadPoolExecutor(len(chats)) as people:
        answers = list(people.map(ask, chats))
    seconds = time.perf_counter() - started
    tokens = sum(
        answer.prompt_tokens - answer.cached_tokens + answer.completion_tokens for answer in answers
    )
    return LoadResult(tokens, seconds)


def choose_chats(client: Client, count: int, num_words: int, max_tokens: int) -> tuple[Chat, ...]:
    """Chats of about `num_words` words that the model has an answer to. Raises BenchError."""
    workload = Workload(_WordNumbers())
    found: list[Chat] = []
    for number in range(_MAX_CANDIDATES):
        chat = workload.chat(num_words)
        try:
            client.ask(chat.messages, max_tokens=max_tokens, salt=f"choosing-{number}")
        except EmptyAnswer:
            continue
        found.append(chat)
        if len(found) == count:
            return tuple(found)
    raise BenchError(f"The model has a word for only {len(found)} of {_MAX_CANDIDATES} prompts.")


class _WordNumbers:
    """Stands in for a tokenizer where lengths need not be exact: a number for every word."""

    def __init__(self) -> None:
        self._number_of: dict[str, int] = {}

    def __call__(self, messages: Messages) -> list[int]:
        return [self._number_of.setdefault(word, len(self._number_of)) for word in _words(messages)]


def _words(messages: Messages) -> Iterator[str]:
    for message in messages:
        yield f"<{message['role']}>"
        yield from message["content"].split()
