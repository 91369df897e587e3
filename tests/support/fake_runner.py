"""A runner whose KV is a function of the token prefix: page contents can be checked, and nothing
takes time.

The next token after some tokens is a function of all of them, so a wrong page, a wrong chain or a
wrong order changes the answer.
"""

from __future__ import annotations

import threading
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from engine.cache.part import View
from engine.cache.row import Row
from engine.request import SamplingParams

BYTES_PER_TOKEN = 10
STEP_TOKENS = 256
VOCABULARY = 1000


def fold(state: int, token: int) -> int:
    """State after one more token."""
    return zlib.crc32(token.to_bytes(4, "little", signed=True), state)


def next_token(tokens: Sequence[int]) -> int:
    """The token that follows these, for ever the same."""
    state = 0
    for token in tokens:
        state = fold(state, token)
    return 100 + state % (VOCABULARY - 100)


def expected_answer(prompt: Sequence[int], num_tokens: int) -> list[int]:
    """What a greedy run of `num_tokens` from `prompt` gives."""
    tokens = list(prompt)
    for _ in range(num_tokens):
        tokens.append(next_token(tokens))
    return tokens[len(prompt) :]


@dataclass(slots=True, eq=False)
class FakeStorage:
    """`kv[i]` is the state after the token at position base + i. Allocated in steps, like the real
    one."""

    step: int = STEP_TOKENS
    kv: list[int] = field(default_factory=list)
    sealed: bool = False
    capacity: int = 0

    @property
    def num_tokens(self) -> int:
        return len(self.kv)

    @property
    def num_bytes(self) -> int:
        return self.capacity * BYTES_PER_TOKEN

    def growth_bytes(self, num_tokens: int) -> int:
        return (self._capacity_for(num_tokens) - self.capacity) * BYTES_PER_TOKEN

    def append(self, states: Sequence[int]) -> None:
        assert not self.sealed, "a sealed storage never changes"
        self.capacity = self._capacity_for(len(states))
        self.kv.extend(states)

    def seal(self) -> None:
        self.sealed = True

    def truncate(self, num_tokens: int) -> None:
        assert self.sealed
        assert 0 < num_tokens <= len(self.kv)
        del self.kv[num_tokens:]
        self.capacity = num_tokens

    def _capacity_for(self, num_tokens: int) -> int:
        if len(self.kv) + num_tokens <= self.capacity:
            return self.capacity
        return len(self.kv) + -(-num_tokens // self.step) * self.step


def states_of(views: Sequence[View]) -> list[int]:
    """The KV that a chain of views gives, in order."""
    states: list[int] = []
    for view in views:
        assert isinstance(view.part.storage, FakeStorage)
        assert view.part.base == len(states), "views follow each other"
        states.extend(view.part.storage.kv[: view.num_tokens])
    return states


def check_states(views: Sequence[View], tokens: Sequence[int]) -> None:
    """The views hold exactly the KV of these tokens."""
    states = states_of(views)
    assert len(states) == len(tokens)
    state = 0
    for have, token in zip(states, tokens, strict=True):
        state = fold(state, token)
        assert have == state


class FakeRunner:
    """Satisfies `engine.loop.StepRunner`. `before_step` runs before every forward and may raise or
    block."""

    def __init__(self, step: int = STEP_TOKENS) -> None:
        self.before_step: Callable[[], None] = lambda: None
        self.num_computed = 0
        self.num_forwards = 0
        self.thread: threading.Thread | None = None
        self._step = step

    def new_storage(self) -> FakeStorage:
        return FakeStorage(self._step)

    def new_sampler(self, params: SamplingParams) -> SamplingParams:
        return params

    def prefill(self, row: Row, num_tokens: int) -> None:
        self._compute(row, num_tokens)

    def next_tokens(self, rows: Sequence[Row], samplers: Sequence[SamplingParams]) -> list[int]:
        assert len(rows) == len(samplers)
        assert len(rows) == 1 or all(row.num_uncomputed == 1 for row in rows)
        return [100 + self._compute(row, row.num_uncomputed) % (VOCABULARY - 100) for row in rows]

    def _compute(self, row: Row, num_tokens: int) -> int:
        self.before_step()
        self.thread = threading.current_thread()
        self.num_forwards += 1
        self.num_computed += num_tokens
        before = states_of(row.hold.views)
        assert isinstance(row.tail.storage, FakeStorage)
        assert row.tail.base == len(before)
        before.extend(row.tail.storage.kv)
        state = before[-1] if before else 0
        states = []
        for token in row.tokens[row.num_computed : row.num_computed + num_tokens]:
            state = fold(state, token)
            states.append(state)
        assert len(states) == num_tokens
        row.tail.storage.append(states)
        return state
