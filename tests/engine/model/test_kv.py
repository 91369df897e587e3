"""Storages of parts: what they allocate, and what sealing, cutting and joining take for a while."""

from __future__ import annotations

import random

import mlx.core as mx
import pytest

from engine.cache.cost import KVCost, WindowCost
from engine.cache.layout import LayerKind
from engine.model import kv
from engine.model.kv import Leaf, PartStorage, Shape
from engine.model.tail import TailKV

NUM_LAYERS, HEADS, DIM = 16, 4, 64
TOKEN = HEADS * DIM * 4 * 2  # bytes of keys and values of one token in one layer
FULL = Leaf(LayerKind.FULL)
WINDOW = Leaf(LayerKind.SLIDING, window=100)
STATE = Leaf(LayerKind.RECURRENT, num_arrays=2)


def shape_of(*leaves: Leaf) -> Shape:
    count = [sum(leaf.kind is kind for leaf in leaves) for kind in LayerKind]
    windows = (WindowCost(100, count[1] * TOKEN, 1000),) if count[1] else ()
    return Shape(leaves, KVCost(count[0] * TOKEN, windows, count[2] * 4000 * 4))


def filled(shape: Shape, num_tokens: int, after: PartStorage | None = None) -> PartStorage:
    """A storage to which so many random tokens have been appended in chunks."""
    storage = after.successor() if after else PartStorage(shape)
    while num_tokens:
        chunk = min(num_tokens, 64)
        for leaf, of in zip(storage.leaves, shape.leaves, strict=True):
            if of.kind is LayerKind.RECURRENT:
                leaf.cache = [mx.random.normal((1, 3000)), mx.random.normal((1, 1000))]
            else:
                leaf.update_and_fetch(*mx.random.normal((2, 1, HEADS, chunk, DIM)))
        mx.eval(storage.arrays())
        storage.advance(chunk)
        num_tokens -= chunk
    return storage


def keys_of(storage: PartStorage, leaf: int, start: int, end: int) -> mx.array:
    return mx.array(storage.read(leaf, start, end)[0])


def peak_above(before: int) -> int:
    return int(mx.get_peak_memory()) - before


@pytest.mark.parametrize(
    "leaves", [(FULL,), (FULL, WINDOW), (STATE, FULL), (STATE, WINDOW), (STATE,)]
)
def test_growth_is_foretold_to_the_byte(leaves: tuple[Leaf, ...]) -> None:
    shape = shape_of(*leaves)
    storage = PartStorage(shape)
    chance = random.Random(5)
    for chunk in (
        1,
        1,
        3,
        20,
        1,
        64,
        200,
        3,
        300,
        1,
        1,
        *(chance.choice((1, 1, 3, 32, 64)) for _ in range(200)),
    ):
        before, foretold = storage.num_bytes, storage.growth_bytes(chunk)
        for leaf, of in zip(storage.leaves, shape.leaves, strict=True):
            if of.kind is LayerKind.RECURRENT:
                leaf.cache = [mx.zeros((1, 3000)), mx.zeros((1, 1000))]
            else:
                leaf.update_and_fetch(*mx.zeros((2, 1, HEADS, chunk, DIM)))
        assert storage.num_bytes - before == foretold
        mx.eval(storage.arrays())
        storage.advance(chunk)


def test_short_tails_have_no_room_and_long_ones_a_sixteenth() -> None:
    storage = PartStorage(shape_of(FULL))
    room = []
    for _ in range(5000):
        storage.leaves[0].update_and_fetch(*mx.zeros((2, 1, HEADS, 1, DIM)))
        storage.advance(1)
        room.append(storage.num_bytes // TOKEN - storage.num_tokens)
    assert max(room[:64]) == 0
    # It has one token less than it grew by. A step that would keep unused room is one longer.
    assert 8 <= max(room[:128]) <= 16
    assert max(room[:256]) <= 16
    assert all(spare <= held // 8 for held, spare in enumerate(room[:256], start=1))
    assert all(spare <= max(16, held // 16) for held, spare in enumerate(room, start=1))
    assert 240 <= max(room) <= 256


def test_a_short_tail_keeps_every_token_when_it_is_appended_to() -> None:
    storage = PartStorage(shape_of(FULL))
    chunks = [mx.random.normal((2, 1, HEADS, n, DIM)) for n in (9, 1, 1, 20, 1, 31, 1, 1, 64, 1)]
    for chunk in chunks:
        held, _ = storage.leaves[0].update_and_fetch(chunk[0], chunk[1])
        storage.advance(chunk.shape[3])
        assert held.shape[2] == storage.num_tokens
    keys, values = storage.read(0, 0, storage.num_tokens)
    keys, values = keys[..., : storage.num_tokens, :], values[..., : storage.num_tokens, :]
    assert mx.array_equal(keys, mx.concatenate([chunk[0] for chunk in chunks], axis=2))
    assert mx.array_equal(values, mx.concatenate([chunk[1] for chunk in chunks], axis=2))


def test_sealing_copies_nothing_and_a_cut_copies_a_layer_at_a_time() -> None:
    storage = filled(shape_of(*[FULL] * NUM_LAYERS), 2048)
    mx.reset_peak_memory()
    before = mx.get_active_memory()
    storage.seal()
    assert peak_above(before) <= 4096
    assert storage.num_bytes == NUM_LAYERS * 2048 * TOKEN
    kept = keys_of(storage, 3, 0, 1500)
    mx.reset_peak_memory()
    before = mx.get_active_memory()
    storage.truncate(1500)
    assert peak_above(before) <= 1.1 * 1500 * TOKEN
    assert storage.num_bytes == NUM_LAYERS * 1500 * TOKEN
    assert mx.array_equal(storage.read(3, 0, 1500)[0], kept)


def test_joining_takes_one_layer_for_a_moment_and_keeps_every_token() -> None:
    shape = shape_of(*[FULL] * NUM_LAYERS)
    below = filled(shape, 1000)
    below.seal()
    above = filled(shape, 500, below)
    above.seal()
    wanted = [
        mx.concatenate([keys_of(below, i, 0, 1000), keys_of(above, i, 0, 500)], axis=2)
        for i in (0, 9)
    ]
    mx.eval(wanted)
    foretold = below.absorb_bytes(above)
    assert foretold == 1500 * TOKEN
    mx.reset_peak_memory()
    before = mx.get_active_memory()
    below.absorb(above)
    assert peak_above(before) <= 1.1 * foretold
    assert (below.num_tokens, below.num_bytes) == (1500, NUM_LAYERS * 1500 * TOKEN)
    for i, keys in zip((0, 9), wanted, strict=True):
        assert mx.array_equal(below.read(i, 0, 1500)[0], keys)


def test_joining_windows_and_states() -> None:
    shape = shape_of(FULL, WINDOW, STATE)
    below = filled(shape, 60)
    below.seal()
    short, long = filled(shape, 30, below), filled(shape, 700, below)
    short.seal()
    long.seal()
    state = [mx.array(array) for array in short.leaves[2].cache]
    window = mx.concatenate([keys_of(below, 1, 0, 60), keys_of(short, 1, 0, 30)], axis=2)
    mx.eval(window, state)
    joined = filled(shape, 64)
    joined.seal()
    joined.absorb(long)
    assert (joined.num_tokens, joined.window_tokens(0)) == (764, long.window_tokens(0))
    below.absorb(short)
    assert (below.num_tokens, below.window_tokens(0)) == (90, 90)
    assert mx.array_equal(below.read(1, 0, 90)[0], window)
    for mine, was in zip(below.leaves[2].cache, state, strict=True):
        assert mx.array_equal(mine, was)


def test_a_state_that_ran_in_a_batch_does_not_keep_the_batch() -> None:
    shape = shape_of(STATE)
    storage = filled(shape, 5)
    batch = mx.random.normal((64, 3000))
    mx.eval(batch)
    storage.leaves[0].cache[0] = batch[3:4]
    del batch
    before = mx.get_active_memory()
    storage.seal()
    assert before - mx.get_active_memory() >= 62 * 3000 * 4


def test_a_state_is_taken_over_without_a_copy_and_counted_once() -> None:
    shape = shape_of(STATE, FULL)
    storage = filled(shape, 10)
    storage.seal()
    before = mx.get_active_memory()
    after = storage.successor()
    assert mx.get_active_memory() == before
    assert (storage.state_bytes, after.num_bytes) == (16_000, 0)
    assert after.growth_bytes(1) == 16_000 + TOKEN
    storage.drop_state()
    with pytest.raises(ValueError, match="where none is kept"):
        storage.successor()


@pytest.mark.parametrize("leaves", [(FULL,) * 4, (FULL, WINDOW, FULL, WINDOW)])
@pytest.mark.parametrize("is_open", [False, True])
def test_a_join_that_fails_changes_nothing_and_can_be_tried_again(
    leaves: tuple[Leaf, ...], is_open: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    shape = shape_of(*leaves)
    below = filled(shape, 40)
    below.seal()
    above = filled(shape, 30, after=below)
    if not is_open:
        above.seal()
    whole = [
        mx.concatenate([keys_of(below, i, 0, 40), keys_of(above, i, 0, 30)], axis=2)
        for i in range(len(leaves))
    ]
    sizes = below.num_bytes, above.num_bytes
    append, done = kv._append, 0

    def fails(*args: TailKV) -> None:
        nonlocal done
        done += 1
        if done == 3:
            raise RuntimeError("no memory")
        append(*args)

    monkeypatch.setattr(kv, "_append", fails)
    with pytest.raises(RuntimeError, match="no memory"):
        below.absorb(above)
    assert (below.num_tokens, above.num_tokens) == (40, 30)
    assert (below.num_bytes, above.num_bytes) == sizes
    for i, both in enumerate(whole):
        assert mx.array_equal(keys_of(below, i, 0, 40), both[..., :40, :])
        assert mx.array_equal(keys_of(above, i, 0, 30), both[..., 40:, :])
    below.absorb(above)
    assert below.num_tokens == 70
    for i, both in enumerate(whole):
        assert mx.array_equal(keys_of(below, i, 0, 70), both)
