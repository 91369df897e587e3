"""Where the state of a prefix really lies: storages of parts, made of mlx-lm's own cache
objects."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import mlx.core as mx
from mlx_lm.models.cache import ArraysCache

from engine.cache.cost import KVCost
from engine.cache.layout import LayerKind, Layout
from engine.cache.part import Storage
from engine.model.common_tail import CommonTail
from engine.model.tail import TailKV
from engine.model.window import KeysAndValues, WindowKV


@dataclass(frozen=True, slots=True)
class Leaf:
    """One cache of a model: its kind, its group of sliding layers, and the number of arrays of a
    recurrent state. `group` and `num_arrays` are 0 for other kinds."""

    kind: LayerKind
    window: int = 0
    group: int = 0
    num_arrays: int = 0

    def new(self) -> Any:
        """An empty cache."""
        match self.kind:
            case LayerKind.FULL:
                return TailKV()
            case LayerKind.SLIDING:
                return WindowKV(self.window)
            case LayerKind.RECURRENT:
                return ArraysCache(self.num_arrays)
            case _:
                raise TypeError(f"{self.kind.value} cannot be stored in parts")


@dataclass(frozen=True, slots=True)
class Shape:
    """All caches of a model in order, and what they cost."""

    leaves: tuple[Leaf, ...]
    cost: KVCost

    def of(self, kind: LayerKind) -> Iterator[int]:
        """Indices of the leaves of a kind."""
        return (i for i, leaf in enumerate(self.leaves) if leaf.kind is kind)

    def of_group(self, group: int) -> Iterator[int]:
        """Indices of the sliding leaves of a group."""
        return (i for i in self.of(LayerKind.SLIDING) if self.leaves[i].group == group)


@dataclass(frozen=True, slots=True)
class Mark:
    """What a storage held of its own before a step, to go back to if the step fails."""

    offsets: tuple[int, ...]
    states: tuple[tuple[mx.array | None, ...], ...]


class PartStorage:
    """State of one part: a cache for every leaf of the model.

    Full attention: a `TailKV` of all tokens, [1, kv_heads, tokens, head_dim] each; empty while it
    has them in `common` with others. Sliding windows: a `WindowKV` of the last ones. Recurrent: an
    `ArraysCache`, right at the end only. Open, they grow; sealed, their arrays do not change while
    anybody reads them, which is done through slices.
    """

    __slots__ = (
        "__weakref__",
        "_inherited",
        "_sealed_bytes",
        "common",
        "leaves",
        "num_tokens",
        "shape",
    )

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self.leaves: list[Any] = [leaf.new() for leaf in shape.leaves]
        self.num_tokens = 0
        self.common: CommonTail | None = None  # where its tokens in full layers are meanwhile
        self._inherited = False  # the recurrent state is another part's until the first step
        self._sealed_bytes: int | None = None

    @property
    def num_bytes(self) -> int:
        if self._sealed_bytes is not None:
            return self._sealed_bytes
        cost = self.shape.cost
        total = 0 if self._inherited else self.state_bytes
        # Asked for in every step: layers of a kind are allocated alike.
        total += self.allocated_tokens * cost.bytes_per_token
        for group, window in enumerate(cost.windows):
            leaf = self.leaves[next(self.shape.of_group(group))]
            total += leaf.kv.allocated_tokens * window.bytes_per_token
        return total

    @property
    def allocated_tokens(self) -> int:
        """Tokens for which memory is allocated in full layers."""
        if self.common is not None:
            return self.common.allocated_tokens
        first = next(self.shape.of(LayerKind.FULL), None)
        return 0 if first is None else int(self.leaves[first].allocated_tokens)

    def most_new_tokens(self, num_tokens: int) -> int:
        """Tokens for which full layers allocate at most to append `num_tokens`."""
        first = next(self.shape.of(LayerKind.FULL), None)
        if first is None:
            return 0
        if self.common is None:
            return int(self.leaves[first].new_tokens(num_tokens))
        alone = TailKV.allocated_from(self.num_tokens, num_tokens)  # it may have to leave
        return max(self.common.new_tokens, alone - self.num_tokens)

    @property
    def state_bytes(self) -> int:
        return sum(int(self.leaves[i].nbytes) for i in self.shape.of(LayerKind.RECURRENT))

    def window_tokens(self, group: int) -> int:
        return int(self.leaves[next(self.shape.of_group(group))].num_tokens)

    def window_bytes(self, group: int) -> int:
        return sum(int(self.leaves[i].nbytes) for i in self.shape.of_group(group))

    def growth_bytes(self, num_tokens: int) -> int:
        cost = self.shape.cost
        total = self.most_new_tokens(num_tokens) * cost.bytes_per_token
        for group, window in enumerate(cost.windows):
            leaf = self.leaves[next(self.shape.of_group(group))]
            total += leaf.kv.new_tokens(num_tokens) * window.bytes_per_token
        if cost.recurrent and (self._inherited or not self.num_tokens):
            total += cost.state_bytes
        return total

    def advance(self, num_tokens: int) -> None:
        """A step has appended tokens and has been evaluated. Raises AssertionError where the layers
        do not stand at one position (algorithms §2.15, 10)."""
        self.num_tokens += num_tokens
        self._inherited = False
        for i in self.shape.of(LayerKind.FULL) if self.common is None else ():
            offset = self.leaves[i].offset
            assert offset == self.num_tokens, f"layer {i} stands at {offset}, not {self.num_tokens}"
        for i in self.shape.of(LayerKind.SLIDING):
            self.leaves[i].shed()

    def mark(self) -> Mark:
        """What `go_back` needs to undo a step that fails."""
        return Mark(
            tuple(leaf.offset for leaf in self._grown()),
            tuple(tuple(leaf.cache) for leaf in self._states()),
        )

    def go_back(self, mark: Mark) -> None:
        """Undo what a failed step has appended. Raises whatever MLX does if the arrays are lost."""
        for leaf, offset in zip(self._grown(), mark.offsets, strict=True):
            leaf.go_back(offset)
        for leaf, arrays in zip(self._states(), mark.states, strict=True):
            leaf.cache = list(arrays)
        mx.eval(self.arrays())

    def arrays(self) -> list[Any]:
        """Everything that has to be evaluated after a step."""
        grown = [(kv.keys, kv.values) for kv in self._grown() if kv.keys is not None]
        return grown + [leaf.state for leaf in self._states()]

    def seal(self) -> None:
        self._leave_company()
        # A row that ran in a batch holds slices of the batch's states: they get arrays of their own
        for leaf in self._states():
            leaf.cache = [None if own is None else mx.contiguous(own) for own in leaf.cache]
        mx.eval([leaf.state for leaf in self._states()])
        self._inherited = False
        self._measure()

    def successor(self) -> PartStorage:
        after = PartStorage(self.shape)
        for mine, of in zip(after._states(), self._states(), strict=True):
            if of.empty():
                raise ValueError("a recurrent state cannot be taken up where none is kept")
            mine.cache = list(of.cache)
            after._inherited = True
        return after

    def truncate(self, num_tokens: int) -> None:
        if not 0 < num_tokens <= self.num_tokens:
            raise ValueError(f"cannot keep {num_tokens} of {self.num_tokens} tokens")
        cut = self.num_tokens - num_tokens
        # Evaluated one by one, so that only one layer exists twice at a time.
        for i in self.shape.of(LayerKind.FULL):
            leaf = self.leaves[i]
            keys = mx.contiguous(leaf.keys[..., :num_tokens, :])
            values = mx.contiguous(leaf.values[..., :num_tokens, :])
            mx.eval(keys, values)
            leaf.keys, leaf.values, leaf.offset = keys, values, num_tokens
        for i in self.shape.of(LayerKind.SLIDING):
            self.leaves[i].keep(0, self.leaves[i].num_tokens - cut)
        if cut:
            self._forget_states()
        self.num_tokens = num_tokens
        self._measure()

    def absorb_bytes(self, other: Storage) -> int:
        layers = max(1, len(self.leaves))
        joined = (self.num_tokens + other.num_tokens) * self.shape.cost.bytes_per_token
        windows = sum(
            group.most_tokens * group.bytes_per_token for group in self.shape.cost.windows
        )
        return -(-(joined + windows) // layers)

    def absorb(self, other: Storage) -> None:
        assert isinstance(other, PartStorage)
        other._leave_company()
        is_open = other._sealed_bytes is None
        before = list(self.leaves)
        joined: list[tuple[TailKV, int, TailKV, int]] = []
        try:
            for i, of in enumerate(self.shape.leaves):
                mine, more = self.leaves[i], other.leaves[i]
                if of.kind is LayerKind.SLIDING:
                    # What lies before a window may have been shed.
                    joins = more.num_tokens == other.num_tokens and mine.num_tokens
                    mine, more = (mine.kv, more.kv) if joins else (mine, more)
                if isinstance(mine, TailKV):
                    pieces = (mine, mine.offset, more, more.offset)
                    _append(mine, more)
                    joined.append(pieces)
                else:
                    self.leaves[i] = more
        except Exception:
            self.leaves = before
            for pieces in joined:
                _apart(*pieces)
            raise
        self.num_tokens += other.num_tokens
        self._measure()
        if is_open:
            self._sealed_bytes = None

    def drop_state(self) -> None:
        self._forget_states()
        self._measure()

    def drop_window(self, group: int) -> None:
        for i in self.shape.of_group(group):
            self.leaves[i].keep(0, 0)
        self._measure()

    @property
    def has_full_layers(self) -> bool:
        return next(self.shape.of(LayerKind.FULL), None) is not None

    def read(self, leaf: int, start: int, end: int) -> KeysAndValues:
        """Keys and values of the part's tokens [start, end) in a full or sliding layer, [1,
        kv_heads, end - start, head_dim] each, without a copy."""
        cache = self.leaves[leaf]
        if isinstance(cache, WindowKV):
            shed = self.num_tokens - cache.num_tokens
            assert start >= shed, f"tokens before {shed} have been shed"
            return cache.read(start - shed, end - shed)
        keys, values = cache.keys, cache.values
        if start or end < keys.shape[2]:
            return keys[..., start:end, :], values[..., start:end, :]
        return keys, values

    def _leave_company(self) -> None:
        if self.common is not None:
            self.common.leave([self])

    def _grown(self) -> Iterator[TailKV]:
        """The KV caches of full and sliding layers."""
        for leaf in self.leaves:
            if isinstance(leaf, WindowKV):
                yield leaf.kv
            elif isinstance(leaf, TailKV):
                yield leaf

    def _states(self) -> Iterator[Any]:
        return (self.leaves[i] for i in self.shape.of(LayerKind.RECURRENT))

    def _forget_states(self) -> None:
        for leaf in self._states():
            leaf.cache = [None] * len(leaf.cache)

    def _measure(self) -> None:
        self._sealed_bytes = sum(leaf.nbytes for leaf in self.leaves)


class PrivateStorage:
    """The whole state of one request of a model whose prefixes cannot be reused: whatever caches
    the model makes."""

    __slots__ = ("_bytes_per_token", "leaves", "num_tokens")

    state_bytes = 0
    common = None

    def __init__(self, layers: Sequence[Any], bytes_per_token: int) -> None:
        self._bytes_per_token = bytes_per_token
        self.leaves = list(layers)
        self.num_tokens = 0

    @property
    def num_bytes(self) -> int:
        return sum(layer.nbytes for layer in self.leaves if not layer.empty())

    def window_tokens(self, group: int) -> int:
        return 0

    def window_bytes(self, group: int) -> int:
        return 0

    def growth_bytes(self, num_tokens: int) -> int:
        return num_tokens * self._bytes_per_token

    def advance(self, num_tokens: int) -> None:
        self.num_tokens += num_tokens

    def mark(self) -> None:
        """There is no way back: the request that fails takes its state along."""

    def go_back(self, mark: None) -> None:
        raise ValueError("a private state cannot go back")

    def arrays(self) -> list[Any]:
        return [layer.state for layer in self.leaves]

    def seal(self) -> None:
        self.leaves.clear()  # nobody can continue from here

    def successor(self) -> PrivateStorage:
        raise ValueError("a private state cannot be continued by another")

    def truncate(self, num_tokens: int) -> None:
        raise ValueError("a private state cannot be cut")

    def absorb_bytes(self, other: Storage) -> int:
        raise ValueError("a private state cannot be joined")

    def absorb(self, other: Storage) -> None:
        raise ValueError("a private state cannot be joined")

    def drop_state(self) -> None:
        raise ValueError("a private state cannot be taken apart")

    def drop_window(self, group: int) -> None:
        raise ValueError("a private state cannot be taken apart")


def shape_of(layout: Layout, caches: Sequence[Any], cost: KVCost) -> Shape:
    """The shape of a model's storages from its layout and the leaf caches that it made."""
    groups = {window: group for group, window in enumerate(layout.windows)}
    return Shape(
        tuple(
            Leaf(
                leaf.kind,
                leaf.window,
                groups.get(leaf.window, 0),
                len(cache.cache) if leaf.kind is LayerKind.RECURRENT else 0,
            )
            for leaf, cache in zip(layout.leaves, caches, strict=True)
        ),
        cost,
    )


def _append(kv: TailKV, more: TailKV) -> None:
    """Give a `TailKV` all tokens of another behind its own, and no room beyond. The other is
    emptied at once, so that little exists twice."""
    (keys, values), (more_keys, more_values) = kv.held, more.held
    keys = mx.concatenate([keys, more_keys], axis=2)
    values = mx.concatenate([values, more_values], axis=2)
    mx.eval(keys, values)
    kv.keys, kv.values, kv.offset = keys, values, kv.offset + more.offset
    more.keys = more.values = None
    more.offset = 0


def _apart(kv: TailKV, num_tokens: int, more: TailKV, num_more: int) -> None:
    """The reverse of `_append`, which allocates nothing: both are views of what they became."""
    more.keys, more.values = kv.keys[..., num_tokens:, :], kv.values[..., num_tokens:, :]
    more.offset = num_more
    kv.keys, kv.values = kv.keys[..., :num_tokens, :], kv.values[..., :num_tokens, :]
    kv.offset = num_tokens
