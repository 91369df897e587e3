"""Tails of some rows in one array a layer.

A step costs a row some ten operations a layer for its own tail, whatever that holds; on a short
prefix this is more than reading it once for all saves. So rows that stand on the same parts and
have tails of about the same length have them in common: they are appended to, read and weighed at
once for all.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import mlx.core as mx
import numpy as np

from engine.cache.row import Row
from engine.config import MIB
from engine.model.tail import TailKV

if TYPE_CHECKING:
    from engine.model.kv import PartStorage


MOST_ROWS = 16
MOST_TOKENS = 1024  # longer tails are work enough to be read one by one
MOST_PADDING = 16
ROOM_TOGETHER = 32  # tokens of all rows for which short ones are allocated ahead
# Of one, without its room: it exists twice while somebody comes or leaves, which must be little
# beside what is kept for a forward pass. In one pass half of it is put together anew.
MOST_BYTES = 128 * MIB


class CommonTail:
    """The open storages of some rows, in one `TailKV` for each full layer of the model, [members,
    kv_heads, tokens, head_dim]. They end together: before the first token of a shorter one there is
    `padding`, of `MOST_PADDING` tokens at most.

    While a storage is a member, its own caches of these layers are empty. It becomes one when the
    first step of all is `settle`d; before that, nothing has changed. `rows` are the members'
    indices in the present pass; the members come in that order.
    """

    __slots__ = ("_before", "_layers", "_members", "num_tokens", "padding", "rows", "settled")

    def __init__(self, sources: Sequence[CommonTail | PartStorage]) -> None:
        self._layers: dict[int, TailKV] = {}
        self._before = tuple(sources)
        self._members: list[weakref.ref[PartStorage]] = []
        self.num_tokens: int = max(source.num_tokens for source in sources)
        self.padding: list[int] = []
        self.rows: tuple[int, ...] = ()
        self.settled = False
        for source in sources:
            ahead = self.num_tokens - source.num_tokens
            if isinstance(source, CommonTail):
                self._members += source._members
                self.padding += [ahead + own for own in source.padding]
            else:
                self._members.append(weakref.ref(source))
                self.padding.append(ahead)

    @property
    def members(self) -> list[PartStorage]:
        """Those that are still there."""
        return [storage for storage in self._present() if storage is not None]

    @property
    def allocated_tokens(self) -> int:
        """Tokens of each member for which memory is allocated."""
        return next(iter(self._layers.values())).allocated_tokens

    @property
    def new_tokens(self) -> int:
        """Tokens of each member for which the next step allocates."""
        return next(iter(self._layers.values())).new_tokens(1)

    def append(self, layer: int, keys: mx.array, values: mx.array) -> tuple[mx.array, mx.array]:
        """Append one token of each member, [members, kv_heads, 1, head_dim] each, and return all
        tokens, [members, kv_heads, tokens, head_dim] each."""
        kv = self._layers.get(layer)
        if kv is None:
            kv = self._layers[layer] = self._joined(layer)
        return kv.update_and_fetch(keys, values)

    def bias(self, dtype: mx.Dtype) -> mx.array | None:
        """What is added to the members' scores over all tokens after `append`, [members, 1, 1,
        tokens]: -inf over padding. None if there is none."""
        if not any(self.padding):
            return None
        places = np.arange(self.num_tokens + 1) >= np.array(self.padding)[:, None]
        bias = np.where(places, np.float32(0), np.float32(-np.inf))
        return mx.array(bias[:, None, None]).astype(dtype)

    def settle(self) -> None:
        """A step has appended and has been evaluated."""
        self.num_tokens += 1
        for layer, kv in self._layers.items():
            assert kv.offset == self.num_tokens, f"layer {layer} stands at {kv.offset}"
            kv.short_room = ROOM_TOGETHER // len(self.padding)  # from now on it is said before
        if self.settled:
            return
        for storage in self.members:
            for layer in self._layers:
                storage.leaves[layer].go_back(0)
            storage.common = self
        self._before = ()
        self.settled = True

    def go_back(self) -> None:
        """Undo a step that failed; one that was to come together with it is not used again."""
        if not self.settled:
            self._layers.clear()  # whoever holds the error must not hold these
            self._before = ()
            return
        for kv in self._layers.values():
            kv.go_back(self.num_tokens)
        mx.eval(self.arrays())

    def arrays(self) -> list[object]:
        """What is evaluated after a step."""
        return [(kv.keys, kv.values) for kv in self._layers.values()]

    def leave(self, leaving: Sequence[PartStorage] = ()) -> None:
        """Give these members what is their own, and forget those that are no longer there; the last
        one that would stay leaves too. Where that fails, nothing has changed."""
        slots = {storage: slot for slot, storage in enumerate(self._present()) if storage}
        own = [storage for storage in slots if storage in leaving]
        staying = [slots[storage] for storage in slots if storage not in own]
        if len(staying) < 2:
            own, staying = [*slots], []
        padding = [self.padding[slot] for slot in staying]
        unused = min(padding, default=0)
        apart = [[self._own(kv, slots[of]) for kv in self._layers.values()] for of in own]
        rest = [
            [
                mx.take(array[:, :, unused:], mx.array(staying), axis=0)
                for array in (kv.keys, kv.values)
            ]
            for kv in self._layers.values()
            if staying
        ]
        mx.eval(apart, rest)
        for of, of_layers in zip(own, apart, strict=True):
            for layer, (keys, values) in zip(self._layers, of_layers, strict=True):
                kv = of.leaves[layer]
                kv.keys, kv.values, kv.offset = keys, values, of.num_tokens
            of.common = None
        self.num_tokens -= unused
        for kv, (keys, values) in zip(self._layers.values(), rest, strict=bool(staying)):
            kv.keys, kv.values, kv.offset = keys, values, self.num_tokens
            kv.short_room = 0  # nobody has said that of so many for the next step
        self._members = [self._members[slot] for slot in staying]
        self.padding = [tokens - unused for tokens in padding]

    def leave_but(self, storages: Sequence[PartStorage]) -> None:
        """Whoever is no longer there or is not one of these leaves."""
        if not all(storage in storages for storage in self._present()):
            self.leave([storage for storage in self.members if storage not in storages])

    def _present(self) -> list[PartStorage | None]:
        return [member() for member in self._members]

    def _own(self, kv: TailKV, slot: int) -> list[mx.array]:
        own = mx.array([slot])
        return [mx.take(held[:, :, self.padding[slot] :], own, axis=0) for held in kv.held]

    def _joined(self, layer: int) -> TailKV:
        held = [
            (source._layers[layer] if isinstance(source, CommonTail) else source.leaves[layer]).held
            for source in self._before
        ]
        kv = TailKV()
        kv.keys = mx.concatenate([self._filled(keys) for keys, _ in held])
        kv.values = mx.concatenate([self._filled(values) for _, values in held])
        kv.offset = self.num_tokens
        return kv

    def _filled(self, held: mx.array) -> mx.array:
        ahead = self.num_tokens - held.shape[2]
        return mx.pad(held, [(0, 0), (0, 0), (ahead, 0), (0, 0)]) if ahead else held


def common_tails(rows: Sequence[Row], counts: Sequence[int], spare_bytes: int) -> list[CommonTail]:
    """What rows have in common in a pass in which each computes so many tokens. Who has to leave
    one for it gets its own back; whoever comes to one stays alone until it is settled. All of them
    allocate no more than `spare_bytes` more than they have said."""
    storages: list[Any] = [row.tail.storage for row in rows]
    bytes_per_token = storages[0].shape.cost.bytes_per_token
    if not bytes_per_token:
        return []
    most_tokens = MOST_BYTES // bytes_per_token
    left = _Left(spare_bytes // bytes_per_token, most_tokens // 2)
    alike: dict[object, list[PartStorage]] = {}
    for row, storage, count in zip(rows, storages, counts, strict=True):
        if _may_join(row, storage, count):
            chain = tuple((view.part.serial, view.end) for view in row.hold.views)
            alike.setdefault(chain, []).append(storage)
    for storage in storages:
        if (common := storage.common) is not None:
            chains = (of_chain for of_chain in alike.values() if storage in of_chain)
            too_many = len(common.padding) * (common.num_tokens + 1) > most_tokens
            common.leave_but(() if too_many else next(chains, ()))
    places = {id(storage): i for i, storage in enumerate(storages)}
    commons: list[CommonTail] = []
    for of_chain in alike.values():
        sources = {id(storage.common or storage): storage.common or storage for storage in of_chain}
        for of in _brought_together(list(sources.values()), left):
            if len(of) > 1:  # in the order of the batch, as far as they can be: it is read faster
                of.sort(key=lambda source: places[id(_members(source)[0])])
                commons.append(CommonTail(of))
            elif isinstance(of[0], CommonTail):
                commons.append(of[0])
    for common in commons:
        common.rows = tuple(places[id(storage)] for storage in common.members)
    return commons


def _may_join(row: Row, storage: PartStorage, count: int) -> bool:
    return (
        count == 1
        and 0 < storage.num_tokens < MOST_TOKENS
        and bool(row.hold.views)
        and not any(view.shift for view in row.hold.views)
        and storage.has_full_layers
    )


@dataclass(slots=True)
class _Left:
    """What a pass may do yet, in tokens of one row: allocate more than was said, and build anew."""

    spare_tokens: int
    new_tokens: int


def _brought_together(
    sources: Sequence[CommonTail | PartStorage], left: _Left
) -> list[list[CommonTail | PartStorage]]:
    """These in as few as there may be, longest first, with what is `left` for it."""
    together: list[list[CommonTail | PartStorage]] = []
    for source in sorted(sources, key=lambda source: source.num_tokens, reverse=True):
        if together:
            last = together[-1]
            num_tokens = last[0].num_tokens
            joining = [source] if len(last) > 1 else [*last, source]
            more = sum(_more_tokens(of, num_tokens) for of in joining)
            new = sum(len(_padding(of)) for of in joining) * num_tokens
            if (
                sum(len(_padding(of)) for of in (*last, source)) <= MOST_ROWS
                and num_tokens - source.num_tokens + max(_padding(source)) <= MOST_PADDING
                and more <= left.spare_tokens
                and new <= left.new_tokens
            ):
                left.spare_tokens -= more
                left.new_tokens -= new
                last.append(source)
                continue
        together.append([source])
    return together


def _more_tokens(source: CommonTail | PartStorage, num_tokens: int) -> int:
    """How many more than it has said it allocates in the next step, for all members, if it comes to
    those who have `num_tokens`."""
    allocated = TailKV.allocated_from(num_tokens, 1)
    return sum(allocated - of.allocated_tokens - of.most_new_tokens(1) for of in _members(source))


def _members(source: CommonTail | PartStorage) -> list[PartStorage]:
    return source.members if isinstance(source, CommonTail) else [source]


def _padding(source: CommonTail | PartStorage) -> list[int]:
    """Of each member."""
    return source.padding if isinstance(source, CommonTail) else [0]
