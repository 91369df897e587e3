"""`ondol bench shared`: the measuring itself, with both sides in turn.

In the process of `app.bench.shared_worker`, which has the model.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from app.bench.shared import (
    MOST_ROWS,
    ORDINARY_STEPS,
    WARM_UP_STEPS,
    CapacityPlan,
    CapacityResult,
    Change,
    ClientsResult,
    Follow,
    Plan,
    PrefixResult,
    Regroup,
    SharedResults,
    Side,
    WarmOne,
    middle,
)

# While rows are put together, mlx-lm's caches exist three times: apart, together, and taken out.
_COPIES_IN_MEMORY = 3
_WARM_UP_PREFIX = 64

T = TypeVar("T")


class JoinedRow(Protocol):
    """A row that joined, as `engine.model.plain_batch.Joined`."""

    @property
    def first_s(self) -> float: ...
    @property
    def total_s(self) -> float: ...
    @property
    def steps_before(self) -> int: ...
    @property
    def steps_after(self) -> int: ...


class Rows(Protocol):
    """One side: rows on one prefix."""

    def keep(self, prefix: Sequence[int]) -> None: ...
    def start(self, suffixes: Sequence[Sequence[int]]) -> tuple[float, ...]: ...
    def steps(self, count: int) -> float: ...
    def join(self, suffix: Sequence[int]) -> JoinedRow: ...
    def leave(self) -> float: ...
    def stop(self) -> None: ...


class SharingRows(Rows, Protocol):
    """The side that shares, as `app.bench.shared_rows.SharedRows`."""

    def forget(self) -> None: ...


class CopyRows(Rows, Protocol):
    """The side on copies, as `engine.model.plain_batch.PlainBatch`."""

    def limit(self, suffix: Sequence[int]) -> float: ...
    def one_by_one(self, suffixes: Sequence[Sequence[int]]) -> float: ...
    def start_alone(self, suffix: Sequence[int]) -> None: ...
    def alone_steps(self, count: int) -> float: ...


@dataclass(frozen=True, slots=True)
class Machine:
    """What both sides run in: `allocated` gives the bytes of all arrays, `memory_bytes` is what
    there is, KV has `bytes_per_token`, and copies grow by `room_tokens` at a time."""

    allocated: Callable[[], int]
    memory_bytes: int
    bytes_per_token: int
    room_tokens: int
    vocabulary: int


class SharedBench:
    """Lets rows run on a prefix that they share, and on copies of it. `say` gets lines of
    progress. Prompts are random tokens."""

    def __init__(
        self, sharing: SharingRows, copies: CopyRows, machine: Machine, say: Callable[[str], None]
    ) -> None:
        self._sharing = sharing
        self._copies = copies
        self._machine = machine
        self._say = say
        self._chance = random.Random(1)
        self._turns = itertools.cycle((False, True))

    def run(self, plan: Plan) -> SharedResults:
        """Raises BenchError when a side fails."""
        self._warm_up(plan)
        prefixes = tuple(self._measure(size, plan) for size in sorted(plan.prefixes))
        capacity = None if plan.capacity is None else self._capacity(plan.capacity)
        return SharedResults(prefixes, capacity)

    def _warm_up(self, plan: Plan) -> None:
        self._keep(_WARM_UP_PREFIX)
        for side in self._sides():
            side.start(self._suffixes(2, plan.suffix_tokens))
            side.steps(2)
            side.stop()

    def _measure(self, prefix_tokens: int, plan: Plan) -> PrefixResult:
        prefix_bytes = self._keep(prefix_tokens)
        machine, suffix = self._machine, plan.suffix_tokens
        clients = tuple(
            self._clients(number, prefix_tokens, prefix_bytes, plan)
            for number in sorted(plan.clients)
        )
        copied = self._copies_fit(plan.group, prefix_tokens)
        regroups = self._regroups(plan, copied)
        follows = tuple(
            self._follow(plan.followers, suffix, joined=copied and not number)
            for number in range(plan.repeats)
        )
        warm = tuple(self._warm(suffix) for _ in range(plan.repeats))
        result = PrefixResult(
            prefix_tokens,
            suffix,
            machine.bytes_per_token,
            plan.group,
            clients,
            regroups,
            follows,
            warm,
        )
        self._say(
            f"{prefix_tokens:,} tokens: joining {1000 * result.join_beyond_suffix_s.median:.1f} ms "
            f"and the suffix, followers {result.together.median:.2f} of one by one, "
            f"warm {result.over_limit.median:.2f} of the limit"
        )
        return result

    def _clients(
        self, clients: int, prefix_tokens: int, prefix_bytes: int, plan: Plan
    ) -> ClientsResult:
        suffixes = self._suffixes(clients, plan.suffix_tokens)
        shared_bytes, shared_ttft = self._started(self._sharing, suffixes)
        copied = self._copies_fit(clients, prefix_tokens)
        copies_bytes, copies_ttft = self._started(self._copies, suffixes) if copied else (0, ())
        if alone := clients == 1:
            self._copies.start_alone(suffixes[0])
        count = plan.block_steps
        blocks: dict[str, Callable[[int], float]] = {"shared": self._sharing.steps}
        if copied:
            blocks["copies"] = self._copies.steps
        if alone:
            blocks["alone"] = self._copies.alone_steps
        step_s: dict[str, list[float]] = {name: [] for name in ("shared", "copies", "alone")}
        for _ in range(plan.blocks):
            for name, steps in self._turned(list(blocks.items())):
                step_s[name].append(steps(count) / count)
        for side in self._sides(copied):
            side.stop()
        result = ClientsResult(
            clients,
            Side(prefix_bytes + shared_bytes, shared_ttft, tuple(step_s["shared"])),
            Side(copies_bytes, copies_ttft, tuple(step_s["copies"])) if copied else None,
            tuple(step_s["alone"]),
        )
        self._say(_told(prefix_tokens, result))
        return result

    def _started(
        self, side: Rows, suffixes: Sequence[Sequence[int]]
    ) -> tuple[int, tuple[float, ...]]:
        """Bytes that rows took, and the time to the first token of each."""
        before = self._machine.allocated()
        ttft_s = side.start(suffixes)
        side.steps(WARM_UP_STEPS)
        return self._machine.allocated() - before, ttft_s

    def _regroups(self, plan: Plan, copied: bool) -> tuple[Regroup, ...]:
        for side in self._sides(copied):
            side.start(self._suffixes(plan.group - 1, plan.suffix_tokens))
        found = []
        for _ in range(plan.repeats):
            (suffix,) = self._suffixes(1, plan.suffix_tokens)
            changes: dict[bool, Change] = {}
            for side in self._turned(self._sides(copied)):
                changes[side is self._sharing] = _change(side, suffix)
            suffix_s = self._copies.limit(suffix)
            found.append(Regroup(suffix_s, changes[True], changes.get(False)))
        for side in self._sides(copied):
            side.stop()
        return tuple(found)

    def _follow(self, followers: int, suffix_tokens: int, *, joined: bool) -> Follow:
        ways = {"together": self._together, "alone": self._one_by_one}
        ways["copies"] = self._copies.one_by_one
        seconds = {
            name: way(self._suffixes(followers, suffix_tokens))
            for name, way in self._turned(list(ways.items()))
        }
        joined_s = self._joined(self._suffixes(followers, suffix_tokens)) if joined else None
        return Follow(seconds["together"], seconds["alone"], seconds["copies"], joined_s)

    def _together(self, suffixes: Sequence[Sequence[int]]) -> float:
        ttft_s = max(self._sharing.start(suffixes))
        self._sharing.stop()
        return ttft_s

    def _one_by_one(self, suffixes: Sequence[Sequence[int]]) -> float:
        return sum(self._together([suffix]) for suffix in suffixes)

    def _joined(self, suffixes: Sequence[Sequence[int]]) -> float:
        seconds = max(self._copies.start(suffixes[:1]))
        seconds += sum(self._copies.join(suffix).first_s for suffix in suffixes[1:])
        self._copies.stop()
        return seconds

    def _warm(self, suffix_tokens: int) -> WarmOne:
        (suffix,) = self._suffixes(1, suffix_tokens)
        if next(self._turns):
            limit_s = self._copies.limit(suffix)
            return WarmOne(self._together([suffix]), limit_s)
        ttft_s = self._together([suffix])
        return WarmOne(ttft_s, self._copies.limit(suffix))

    def _capacity(self, plan: CapacityPlan) -> CapacityResult | None:
        """Rows are added until they take more than those on copies."""
        self._say(
            f"{plan.prefix_tokens:,} tokens, {100 * plan.shared_share:.0f} % of each row: how many "
            f"rows fit where {plan.copies} rows on copies do"
        )
        if not self._copies_fit(plan.copies, plan.prefix_tokens):
            return None
        shared_bytes = self._keep(plan.prefix_tokens)
        copies_bytes, _ = self._started(
            self._copies, self._suffixes(plan.copies, plan.suffix_tokens)
        )
        self._copies.stop()
        before = self._machine.allocated() - shared_bytes
        rows, taken = 0, shared_bytes
        # Every row that starts lets those before it answer one token more.
        for suffix in self._suffixes(MOST_ROWS, plan.suffix_tokens):
            self._sharing.start([suffix])
            with_it = self._machine.allocated() - before
            if with_it > copies_bytes:
                break
            rows, taken = rows + 1, with_it
        self._sharing.stop()
        return CapacityResult(
            plan.shared_share, plan.copies, copies_bytes, rows, taken, plan.prefix_tokens
        )

    def _keep(self, prefix_tokens: int) -> int:
        """A new prefix, on both sides. Returns the bytes of the one that is shared."""
        prefix = self._tokens(prefix_tokens)
        self._say(f"{prefix_tokens:,} tokens: computing the prefix, once on each side")
        self._copies.keep(prefix)
        self._sharing.forget()
        before = self._machine.allocated()
        self._sharing.keep(prefix)
        return self._machine.allocated() - before

    def _copies_fit(self, clients: int, prefix_tokens: int) -> bool:
        tokens = clients * (prefix_tokens + self._machine.room_tokens)
        needed = _COPIES_IN_MEMORY * tokens * self._machine.bytes_per_token
        return needed <= 0.8 * self._machine.memory_bytes

    def _sides(self, copied: bool = True) -> list[Rows]:
        return [self._sharing, self._copies] if copied else [self._sharing]

    def _turned(self, sides: list[T]) -> list[T]:
        """Another order each time."""
        return sides[::-1] if next(self._turns) else sides

    def _suffixes(self, count: int, num_tokens: int) -> list[list[int]]:
        return [self._tokens(num_tokens) for _ in range(count)]

    def _tokens(self, count: int) -> list[int]:
        return self._chance.choices(range(self._machine.vocabulary), k=count)


def _change(side: Rows, suffix: Sequence[int]) -> Change:
    """A row joins a running batch and leaves it."""
    few_s = side.steps(ORDINARY_STEPS) / ORDINARY_STEPS
    joined = side.join(suffix)
    all_s = side.steps(ORDINARY_STEPS) / ORDINARY_STEPS
    left_s = side.leave()
    few_again_s = side.steps(ORDINARY_STEPS) / ORDINARY_STEPS
    ordinary_s = joined.steps_before * few_s + joined.steps_after * all_s
    return Change(joined.total_s - ordinary_s, left_s - few_again_s)


def _told(prefix_tokens: int, result: ClientsResult) -> str:
    text = (
        f"{prefix_tokens:,} tokens, clients: {result.clients}, "
        f"a step {1000 * middle(result.shared.step_s):.0f} ms"
    )
    if result.copies is None:
        return f"{text}; copies do not fit into memory"
    return f"{text}, on copies {1000 * middle(result.copies.step_s):.0f} ms"
