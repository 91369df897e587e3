"""Rows that stand on the same have tails of about one length in common: appended to and read
at once for all, and each gets the logits it would get alone."""

from __future__ import annotations

import gc
import random
from collections.abc import Sequence

import mlx.core as mx
import pytest

from engine.cache.prefix_cache import PrefixCache
from engine.cache.row import Row
from engine.memory_keeper import MemoryKeeper
from engine.model import common_tail
from engine.model.common_tail import CommonTail
from engine.model.runner import Runner
from engine.model.sampling import Sampler
from engine.model.tail import TailKV
from engine.request import Failed, SamplingParams
from tests.support.failing import Failing
from tests.support.gate import MAX_DIFFERENCE, Gate, check, largest
from tests.support.tiny_models import VOCABULARY, fresh_logits, make_runner

GREEDY = SamplingParams(temperature=0.0)
NAMES = ["llama", "llama_mha", "llama_mqa", "gemma3_text", "gpt_oss", "qwen3_next", "falcon_h1"]
PREFIX = [(7 * n * n + 3 * n + 5) % VOCABULARY for n in range(100)]
OTHER = [(11 * n * n + n + 9) % VOCABULARY for n in range(900)]


def prompts_of(lengths: Sequence[int]) -> dict[str, list[int]]:
    return {
        f"r{n}": [*PREFIX, *OTHER[n * 50 : n * 50 + length]] for n, length in enumerate(lengths)
    }


def serving(
    name: str, lengths: Sequence[int], *, budget: int = 1 << 30, answer: int = 30
) -> tuple[Gate, dict[str, list[int]]]:
    """Rows on one prefix, with endings of these lengths, that have made a few steps together."""
    gate = Gate(name, budget=budget)
    gate.run("first", [*PREFIX, 5], 1)
    prompts = prompts_of(lengths)
    for each, tokens in prompts.items():
        gate.submit(each, tokens, answer)
    while any(len(gate.answer(each)) < 4 for each in prompts):
        gate.step()
    return gate, prompts


def in_common(gate: Gate) -> list[list[str]]:
    """Who has a tail in common with whom."""
    rows: dict[CommonTail, list[str]] = {}
    for job in gate.scheduler.running:
        assert job.row is not None
        common = job.row.tail.storage.common  # type: ignore[attr-defined]
        if common is not None:
            rows.setdefault(common, []).append(job.request.id)
    return sorted(map(sorted, rows.values()))


def commons_of(gate: Gate) -> set[CommonTail]:
    storages = [job.row.tail.storage for job in gate.scheduler.running if job.row]
    return {storage.common for storage in storages if storage.common}  # type: ignore[attr-defined]


def check_all(gate: Gate, prompts: dict[str, list[int]]) -> None:
    for each, tokens in prompts.items():
        check(gate, each, tokens)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("lengths", [(9, 9), (5, 9, 21), (7,) * 5, (21, 5, 13, 30, 80)])
def test_all_kinds_are_exact(name: str, lengths: tuple[int, ...]) -> None:
    gate, prompts = serving(name, lengths)
    assert in_common(gate)
    gate.finish()
    check_all(gate, prompts)


def test_tails_of_about_one_length_come_together_and_are_paid_for() -> None:
    gate, prompts = serving("llama", (21, 5, 13, 40, 60, 300))
    assert in_common(gate) == [["r0", "r1", "r2"]]
    (common,) = commons_of(gate)
    lengths = [storage.num_tokens for storage in common.members]
    assert common.padding == [max(lengths) - length for length in lengths]
    assert 0 < max(common.padding) <= 16
    assert common.num_tokens == max(lengths)
    assert common.rows == (0, 1, 2)
    price = gate.cache.cost.bytes_per_token
    held = sum(array.nbytes for pair in common.arrays() for array in pair)  # type: ignore[attr-defined]
    assert held == sum(storage.num_bytes for storage in common.members)
    assert held == 3 * common.allocated_tokens * price
    gate.finish()
    check_all(gate, prompts)


def test_without_room_for_padding_only_equals_come_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(MemoryKeeper, "spare_bytes", 0)
    gate = Gate("llama")
    gate.run("first", [*PREFIX, 5], 1)
    prompts = prompts_of((9, 9, 12, 12, 20))
    for each, tokens in prompts.items():
        gate.submit(each, tokens, 30)
    while not in_common(gate):
        gate.step()
    assert ["r0", "r1"] in in_common(gate)
    for common in commons_of(gate):
        assert not any(common.padding)
        assert {storage.num_tokens for storage in common.members} == {common.num_tokens}
    gate.finish()
    check_all(gate, prompts)


@pytest.mark.parametrize("num_rows", [2, 5, 16])
def test_short_ones_are_allocated_a_few_tokens_ahead_which_are_said_before(num_rows: int) -> None:
    runner, cache = make_runner("llama")
    rows = rows_of(runner, cache, (9,) * num_rows)
    price = cache.cost.bytes_per_token
    seen = set()
    for number in range(30):
        said = sum(row.tail.storage.num_bytes + row.tail.storage.growth_bytes(1) for row in rows)
        step(runner, rows)
        (common,) = {row.tail.storage.common for row in rows}  # type: ignore[attr-defined]
        held = sum(array.nbytes for pair in common.arrays() for array in pair)
        assert held == num_rows * common.allocated_tokens * price <= said
        if number and common.num_tokens < 64:
            seen.add(num_rows * (common.allocated_tokens - common.num_tokens))
    assert 0 < max(seen) < 32
    assert min(seen) == 0  # all of it is used before there is more


@pytest.mark.parametrize("name", ["llama", "gemma3_text", "qwen3_next"])
def test_who_leaves_takes_its_own_along_and_who_stays_goes_on(name: str) -> None:
    gate, prompts = serving(name, (21, 5, 13, 13))
    together = in_common(gate)
    gate.cancel("r0")  # the longest: nobody needs as much padding as before
    gate.step()
    if name == "llama":
        assert together == [["r0", "r1", "r2", "r3"]]
        (common,) = commons_of(gate)
        lengths = [storage.num_tokens for storage in common.members]
        assert common.padding == [max(lengths) - length for length in lengths]
        assert common.num_tokens == max(lengths)
    said = gate.answer("r0")
    _, cached = gate.run("again", [*prompts["r0"], *said[:-1]], 3)
    if name == "llama":
        assert cached == len(prompts["r0"]) + len(said) - 2
    check(gate, "again", [*prompts["r0"], *said[:-1]])
    gate.finish()
    del prompts["r0"]
    check_all(gate, prompts)


def test_the_last_one_goes_on_alone() -> None:
    gate, prompts = serving("llama", (9, 9), answer=60)
    assert in_common(gate) == [["r0", "r1"]]
    gate.cancel("r1")
    gate.step()
    assert in_common(gate) == []
    gate.finish()
    check(gate, "r0", prompts["r0"])


def test_who_comes_later_joins_those_who_are_together() -> None:
    gate, prompts = serving("llama", (9, 9))
    (before,) = commons_of(gate)
    later = [*PREFIX, *OTHER[400:405]]
    gate.submit("later", later, 20)
    while len(gate.answer("later")) < 3:
        gate.step()
    assert in_common(gate) == [["later", "r0", "r1"]]
    (common,) = commons_of(gate)
    assert common is not before
    gate.finish()
    check_all(gate, prompts | {"later": later})


def test_long_tails_are_read_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(common_tail, "MOST_TOKENS", 20)
    gate, prompts = serving("llama", (12, 12), answer=20)
    assert in_common(gate) == [["r0", "r1"]]
    while len(gate.answer("r0")) < 12:
        gate.step()
    assert in_common(gate) == []
    gate.finish()
    check_all(gate, prompts)


def test_more_rows_than_may_be_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(common_tail, "MOST_ROWS", 3)
    gate, prompts = serving("llama", (9,) * 7)
    assert sorted(map(len, in_common(gate))) == [3, 3]
    gate.finish()
    check_all(gate, prompts)


@pytest.mark.parametrize("name", ["llama", "gemma3_text", "qwen3_next"])
@pytest.mark.parametrize("steps", [0, 1, 5])
def test_a_step_that_fails_leaves_them_as_they_were(name: str, steps: int) -> None:
    """`steps` after the first token of all: 0 is the step in which they come together."""
    gate = Gate(name)
    gate.run("first", [*PREFIX, 5], 1)
    failing = Failing(gate)
    prompts = prompts_of((9, 5, 12))
    for each, tokens in prompts.items():
        gate.submit(each, tokens, 20)
    while any(len(gate.answer(each)) < 1 + steps for each in prompts):
        gate.step()
    failing.fails = lambda rows, tokens: rows > 1
    gate.step()  # one by one
    failing.fails = lambda rows, tokens: False
    gate.finish()
    for each in prompts:
        assert not any(isinstance(event, Failed) for event in gate.events[each])
        assert len(gate.answer(each)) == 20
    check_all(gate, prompts)


def rows_of(runner: Runner, cache: PrefixCache, lengths: Sequence[int]) -> list[Row]:
    first = cache.open_row(PREFIX)
    runner.logits(first)
    cache.close_row(first)
    rows = []
    for tokens in prompts_of(lengths).values():
        row = cache.open_row(tokens, limit=len(tokens) - 1)
        runner.logits(row)
        rows.append(row)
    return rows


def step(runner: Runner, rows: Sequence[Row], more: int = 0) -> None:
    """One more token of each, and `more` of the last one."""
    for row in (*rows, *[rows[-1]] * more):
        row.tokens.append((7 * row.tokens[-1] + 3) % VOCABULARY)
    logits = runner.rows_logits(rows)
    for row, own in zip(rows, logits, strict=True):
        assert largest(own - fresh_logits(runner, list(row.tokens))[-1]) <= MAX_DIFFERENCE


def test_rows_may_come_in_another_order_or_not_at_all() -> None:
    runner, cache = make_runner("llama")
    rows = rows_of(runner, cache, (9, 9, 9, 9))
    for order in ((0, 1, 2, 3), (3, 1, 0, 2), (2, 0), (0, 1, 2, 3), (1,), (3, 2, 1, 0)):
        step(runner, [rows[i] for i in order])
        step(runner, [rows[i] for i in order])
    (common,) = {row.tail.storage.common for row in rows}  # type: ignore[attr-defined]
    assert common is not None


def test_other_rows_of_the_batch_keep_their_places() -> None:
    """One on the beginning of the prefix, one on nothing, among those who are together."""
    runner, cache = make_runner("llama")
    rows = rows_of(runner, cache, (9, 9, 9))
    for tokens in (PREFIX[:40] + OTHER[600:609], OTHER[700:720]):
        rows.append(cache.open_row(tokens, limit=len(tokens) - 1))
        runner.logits(rows[-1])
    for order in ((3, 0, 4, 1, 2), (0, 1, 2, 3, 4), (2, 4, 1, 3, 0)):
        for _ in range(2):
            step(runner, [rows[i] for i in order])
        assert len({row.tail.storage.common for row in rows[:3]}) == 1  # type: ignore[attr-defined]
        assert rows[0].tail.storage.common is not None  # type: ignore[attr-defined]


def test_who_is_no_longer_there_is_forgotten() -> None:
    runner, cache = make_runner("llama")
    rows = rows_of(runner, cache, (9, 9, 9))
    step(runner, rows)
    (common,) = {row.tail.storage.common for row in rows}  # type: ignore[attr-defined]
    rows[0].tail.storage = runner.new_storage()
    gc.collect()
    assert len(common.members) == 2
    step(runner, rows[1:])
    (kept,) = {row.tail.storage.common for row in rows[1:]}  # type: ignore[attr-defined]
    assert kept is common
    assert [keys.shape[0] for keys, _ in common.arrays()] == [2, 2, 2]


def test_memory_that_fails_while_one_leaves_changes_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    runner, cache = make_runner("llama")
    rows = rows_of(runner, cache, (9, 9, 9))
    step(runner, rows)
    storages = [row.tail.storage for row in rows]
    (common,) = {storage.common for storage in storages}  # type: ignore[attr-defined]
    with monkeypatch.context() as patch:

        def short(*_: object) -> None:
            raise MemoryError

        patch.setattr(mx, "eval", short)
        with pytest.raises(MemoryError):
            common.leave(storages[:1])
    assert common.members == storages
    step(runner, rows)


@pytest.mark.parametrize("spare", [0, 10, 40, 1000])
@pytest.mark.parametrize("lengths", [(9, 9, 9), (9, 12, 20, 25), (60, 63, 64, 70), (150, 140)])
def test_a_step_allocates_what_was_said_and_what_is_spare(
    lengths: tuple[int, ...], spare: int
) -> None:
    """Also when one has left, or another comes, or they outgrow the length up to which tails have
    no room."""
    runner, cache = make_runner("llama")
    rows = rows_of(runner, cache, lengths)
    price = cache.cost.bytes_per_token
    out: list[Row] = []
    for at in range(24):
        if at % 6 == 5:  # one stays out for some steps
            out = [rows[at % len(rows)]] if not out else []
        running = [row for row in rows if row not in out]
        for row in running:
            row.tokens.append((7 * row.tokens[-1] + 3) % VOCABULARY)
        storages = [row.tail.storage for row in running]
        said = sum(storage.num_bytes + storage.growth_bytes(1) for storage in storages)
        runner.next_tokens(running, [Sampler(GREEDY) for _ in running], spare * price)
        held = sum(storage.num_bytes for storage in storages)
        assert held <= said + spare * price
        own = {storage for storage in storages if not storage.common}  # type: ignore[attr-defined]
        arrays = [of.arrays() for of in (*own, *{of.common for of in storages if of not in own})]  # type: ignore[attr-defined]
        assert held == sum(array.nbytes for of in arrays for pair in of for array in pair)


@pytest.mark.parametrize("more", [1, 2, 40])
def test_a_pass_that_is_wider_than_their_tokens(more: int) -> None:
    """The rest of another prompt comes along, of several tokens."""
    runner, cache = make_runner("llama")
    rows = rows_of(runner, cache, (9, 9, 9))
    step(runner, rows, more)
    step(runner, rows, more)
    assert rows[0].tail.storage.common is rows[1].tail.storage.common  # type: ignore[attr-defined]
    assert rows[0].tail.storage.common is not None  # type: ignore[attr-defined]
    assert rows[2].tail.storage.common is None  # type: ignore[attr-defined]
    step(runner, rows)


def test_rests_of_unlike_length_go_through_one_pass_with_them() -> None:
    """Chunks end at 64 tokens, so 193 and 194 leave rests of one and of two."""
    gate = Gate("llama")
    gate.run("first", [*PREFIX, 5], 1)
    prompts = {f"r{n}": [*PREFIX, *OTHER[n * 200 : n * 200 + 93 + n // 2]] for n in range(3)}
    for each, tokens in prompts.items():
        gate.submit(each, tokens, 12)
    gate.finish()
    check_all(gate, prompts)


@pytest.mark.parametrize("num_steps", range(1, 14))
def test_who_stays_allocates_no_more_than_was_said_in_company(num_steps: int) -> None:
    """Fewer have more room each, but not yet in the step in which somebody leaves."""
    runner, cache = make_runner("llama")
    rows = rows_of(runner, cache, (9,) * 5)
    price = cache.cost.bytes_per_token
    for _ in range(num_steps):
        step(runner, rows)
    for staying in (rows[:4], rows[:2]):
        (common,) = {row.tail.storage.common for row in staying}  # type: ignore[attr-defined]
        said = sum(row.tail.storage.num_bytes + row.tail.storage.growth_bytes(1) for row in staying)
        step(runner, staying)
        assert len(staying) * common.allocated_tokens * price <= said


def test_a_pass_puts_only_so_much_together_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two chains of rows: what both need is more than half of what one may hold."""
    runner, cache = make_runner("llama")
    rows = rows_of(runner, cache, (9, 9))
    other = [*PREFIX[:50], *OTHER[:50]]
    first = cache.open_row(other)
    runner.logits(first)
    cache.close_row(first)
    for n in (2, 3):
        tokens = [*other, *OTHER[n * 50 : n * 50 + 9]]
        rows.append(cache.open_row(tokens, limit=len(tokens) - 1))
        runner.logits(rows[-1])
    monkeypatch.setattr(common_tail, "MOST_BYTES", 60 * cache.cost.bytes_per_token)
    for num_together in (2, 4):
        step(runner, rows)
        commons = [row.tail.storage.common for row in rows]  # type: ignore[attr-defined]
        assert sum(common is not None for common in commons) == num_together


def test_no_more_bytes_than_may_exist_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    _, cache = make_runner("llama")
    monkeypatch.setattr(common_tail, "MOST_BYTES", 60 * cache.cost.bytes_per_token)
    gate, prompts = serving("llama", (9, 9, 9), answer=20)
    most = 0
    while gate.scheduler.jobs:
        gate.step()
        for common in commons_of(gate):
            most = max(most, len(common.members) * common.num_tokens)
    assert 40 < most <= 60
    check_all(gate, prompts)


@pytest.mark.parametrize("seed", range(4))
def test_a_budget_that_is_full_is_never_passed(seed: int) -> None:
    """The gate looks after every step; whoever makes way goes on with the same answer."""
    _, cache = make_runner("llama")
    draw = random.Random(seed)
    gate = Gate("llama", budget=(420 + 30 * seed) * cache.cost.bytes_per_token)
    gate.run("first", [*PREFIX, 5], 1)
    prompts = prompts_of([draw.randrange(1, 50) for _ in range(9)])
    together = 0
    for each, tokens in prompts.items():
        gate.submit(each, tokens, draw.randrange(5, 60))
        for _ in range(draw.randrange(6)):
            gate.step()
    while gate.scheduler.jobs:
        gate.step()
        together = max(together, len(in_common(gate)))
    assert together > 0
    check_all(gate, prompts)
    gate.cache.check_integrity()


def test_a_tail_that_cannot_be_sealed_is_lost_and_the_engine_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gate, prompts = serving("llama", (9, 9, 9))

    def short(*_: object) -> None:
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(CommonTail, "leave", short)
        gate.cancel("r0")
    gate.cache.check_integrity()
    gate.finish()
    assert gate.cache.match(prompts["r0"]).num_tokens == len(PREFIX)
    del prompts["r0"]
    check_all(gate, prompts)
    gate.cache.check_integrity()


def test_arrays_of_a_failed_step_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that were to come together run one by one where memory is short."""
    made: list[CommonTail] = []
    joined = CommonTail._joined

    def recording(common: CommonTail, layer: int) -> TailKV:
        made.append(common)
        return joined(common, layer)

    gate = Gate("llama")
    gate.run("first", [*PREFIX, 5], 1)
    failing = Failing(gate)
    monkeypatch.setattr(CommonTail, "_joined", recording)
    for each, tokens in prompts_of((9, 9)).items():
        gate.submit(each, tokens, 8)
    failing.fails = lambda rows, tokens: rows > 1
    while len(gate.answer("r0")) < 4 or len(gate.answer("r1")) < 4:
        gate.step()
    assert made
    assert all(not common.arrays() for common in made)
    failing.fails = lambda rows, tokens: False
    gate.finish()
    check_all(gate, prompts_of((9, 9)))


@pytest.mark.parametrize("name", ["llama", "gemma3_text"])
def test_a_tail_that_cannot_be_sealed_for_another_is_not_shared(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new prompt begins with all that a running row has computed."""
    gate, prompts = serving(name, (40, 40, 40))
    row = next(job.row for job in gate.scheduler.running if job.request.id == "r0")
    assert row is not None
    later = [*row.tokens[: row.num_computed], 9]

    def short(*_: object) -> None:
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(CommonTail, "leave", short)
        gate.submit("later", later, 5)
        gate.step()
    if name == "llama":
        assert gate.cached("later") == len(PREFIX), "what lies in a sealed part"
    gate.finish()
    check_all(gate, prompts | {"later": later})
    gate.cache.clear()
    assert gate.cache.used_bytes == 0, "no hold has stayed"


def test_empty_room_that_cannot_be_given_back_stays_in_the_books(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A failed chunk leaves room in a tail; sealing gives it back, which takes a copy."""
    gate = Gate("gemma3_text")
    gate.run("first", [*PREFIX, 5], 1)
    failing = Failing(gate)
    gate.submit("broken", [*PREFIX, *OTHER[:300]], 5)
    for _ in range(2):
        gate.step()
    copies: list[object] = []

    def short(array: object, *_: object) -> None:
        copies.append(array)
        raise MemoryError

    failing.fails = lambda rows, tokens: True
    with monkeypatch.context() as patch:
        patch.setattr(mx, "contiguous", short)
        gate.step()
    assert copies
    failing.fails = lambda rows, tokens: False
    gate.cache.check_integrity()
    assert any(isinstance(event, Failed) for event in gate.events["broken"])
    gate.cache.clear()
    assert gate.cache.used_bytes == 0
