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

from engine.cache.cost import KVCost, WindowCost
from engine.cache.part import Storage, View
from engine.cache.row import Row
from engine.request import SamplingParams

BYTES_PER_TOKEN = 10
WINDOW_BYTES = 3
STATE_BYTES = 50
WINDOW_SLACK = 4
MOST_CHUNK = 256
LAYERS = 5
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


@dataclass(frozen=True, slots=True)
class FakeLayers:
    """What kinds of layers the pretended model has: full attention always, sliding windows, and
    recurrent ones."""

    windows: tuple[int, ...] = ()
    recurrent: bool = False
    step: int = STEP_TOKENS

    @property
    def cost(self) -> KVCost:
        return KVCost(
            BYTES_PER_TOKEN,
            tuple(
                WindowCost(window, WINDOW_BYTES, 3 * window + 2 * WINDOW_SLACK + MOST_CHUNK)
                for window in self.windows
            ),
            STATE_BYTES if self.recurrent else 0,
        )

    def new_storage(self) -> FakeStorage:
        return FakeStorage(self.step, layers=self)


@dataclass(slots=True, eq=False)
class FakeStorage:
    """`kv[i]` is the state after the token at position base + i. Allocated in steps, like the real
    one.

    `held` counts the last tokens that each window group has, `state` is the recurrent state at the
    end (None where it was dropped).
    """

    step: int = STEP_TOKENS
    kv: list[int] = field(default_factory=list)
    sealed: bool = False
    capacity: int = 0
    layers: FakeLayers = FakeLayers()
    held: list[int] = field(default_factory=list)
    state: int | None = 0

    def __post_init__(self) -> None:
        self.held = [0] * len(self.layers.windows)

    @property
    def num_tokens(self) -> int:
        return len(self.kv)

    @property
    def num_bytes(self) -> int:
        windows = sum(self.window_bytes(group) for group in range(len(self.held)))
        return self.capacity * BYTES_PER_TOKEN + windows + self.state_bytes

    @property
    def state_bytes(self) -> int:
        has = self.layers.recurrent and self.state is not None and self.kv
        return STATE_BYTES if has else 0

    def window_tokens(self, group: int) -> int:
        return self.held[group]

    def window_bytes(self, group: int) -> int:
        return self.held[group] * WINDOW_BYTES

    def growth_bytes(self, num_tokens: int) -> int:
        full = (self._capacity_for(num_tokens) - self.capacity) * BYTES_PER_TOKEN
        state = STATE_BYTES if self.layers.recurrent and not self.kv else 0
        return full + num_tokens * WINDOW_BYTES * len(self.held) + state

    def append(self, states: Sequence[int]) -> None:
        assert not self.sealed, "a sealed storage never changes"
        self.capacity = self._capacity_for(len(states))
        self.kv.extend(states)
        for group, window in enumerate(self.layers.windows):
            held = self.held[group] + len(states)
            self.held[group] = window - 1 if held > window - 1 + WINDOW_SLACK else held
        self.state = states[-1]

    def seal(self) -> None:
        self.sealed = True

    def successor(self) -> FakeStorage:
        assert self.sealed
        after = FakeStorage(self.step, layers=self.layers)
        if self.layers.recurrent:
            assert self.state is not None, "a state was dropped that is needed"
        after.state = self.state
        return after

    def truncate(self, num_tokens: int) -> None:
        assert self.sealed
        assert 0 < num_tokens <= len(self.kv)
        cut = len(self.kv) - num_tokens
        self.held = [max(0, held - cut) for held in self.held]
        if cut:
            self.state = None
        del self.kv[num_tokens:]
        self.capacity = num_tokens

    def absorb_bytes(self, other: Storage) -> int:
        return (self.num_tokens + other.num_tokens) * BYTES_PER_TOKEN // LAYERS

    def absorb(self, other: Storage) -> None:
        assert isinstance(other, FakeStorage)
        assert self.sealed
        self.sealed = other.sealed
        self.held = [
            more + (mine if more == len(other.kv) else 0)
            for mine, more in zip(self.held, other.held, strict=True)
        ]
        self.kv += other.kv
        self.capacity = len(self.kv)
        self.state = other.state
        other.kv = []  # whoever still reads there reads nothing

    def drop_state(self) -> None:
        assert self.sealed
        self.state = None

    def drop_window(self, group: int) -> None:
        assert self.sealed
        self.held[group] = 0

    def _capacity_for(self, num_tokens: int) -> int:
        if len(self.kv) + num_tokens <= self.capacity:
            return self.capacity
        return len(self.kv) + -(-num_tokens // self.step) * self.step


def check_restorable(row: Row) -> None:
    """What a row needs of every kind of layer is there: windows without a gap, the state at its own
    position."""
    storage = row.tail.storage
    assert isinstance(storage, FakeStorage)
    parts = [(view.part, view.end) for view in row.hold.views] + [(row.tail, row.tail.end)]
    for group, window in enumerate(storage.layers.windows):
        there: set[int] = set()
        for part, end in parts:
            there.update(range(part.end - part.storage.window_tokens(group), end))
        missing = set(range(max(0, row.num_computed - window + 1), row.num_computed)) - there
        assert not missing, f"window {window} at {row.num_computed} lacks {sorted(missing)}"
    if storage.layers.recurrent:
        states = states_of(row.hold.views) + storage.kv
        assert storage.state == (states[-1] if states else 0), "a state of another position"


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

    def __init__(self, step: int = STEP_TOKENS, layers: FakeLayers | None = None) -> None:
        self.before_step: Callable[[], None] = lambda: None
        self.num_computed = 0
        self.num_forwards = 0
        self.num_freed = 0
        self.thread: threading.Thread | None = None
        self._layers = layers or FakeLayers(step=step)

    def new_storage(self) -> FakeStorage:
        return self._layers.new_storage()

    def new_sampler(self, params: SamplingParams) -> SamplingParams:
        return params

    def prefill(self, row: Row, num_tokens: int) -> None:
        self._compute(row, num_tokens)

    def batches(self, rows: Sequence[Row]) -> list[list[Row]]:
        return [list(rows)]

    def next_tokens(
        self, rows: Sequence[Row], samplers: Sequence[SamplingParams], spare_bytes: int = 0
    ) -> list[int]:
        assert len(rows) == len(samplers)
        return [100 + self._compute(row, row.num_uncomputed) % (VOCABULARY - 100) for row in rows]

    def free_unused(self) -> None:
        self.num_freed += 1

    def _compute(self, row: Row, num_tokens: int) -> int:
        self.before_step()
        self.thread = threading.current_thread()
        self.num_forwards += 1
        self.num_computed += num_tokens
        check_restorable(row)
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
