"""What `ondol bench shared` makes of times and bytes, from sides whose figures are known."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import pytest

from app.bench.shared import CapacityPlan, Plan, SharedResults
from app.bench.shared_bench import Machine, SharedBench

BYTES_PER_TOKEN, ROOM = 10, 256
PLAN = Plan((512,), (1, 8), 9, blocks=3, block_steps=4, group=8, repeats=2, capacity=None)


@dataclass(frozen=True)
class Joined:
    first_s: float
    total_s: float
    steps_before: int
    steps_after: int


class Sided:
    """Takes 10 ms a step and row, 5 ms for each suffix, and 1 ms for whoever leaves. What a row has
    of its own takes a room; on `copies`, it takes the prefix too."""

    def __init__(self, *, copies: bool, step_s: float = 0.01) -> None:
        self.copies = copies
        self.step_s = step_s
        self.prefix = 0
        self.running: list[int] = []
        self.most_running = 0
        self.num_steps = 0

    @property
    def kv_bytes(self) -> int:
        rows = sum(-(-tokens // ROOM) * ROOM for tokens in self.running)
        copied = len(self.running) * self.prefix if self.copies else self.prefix
        return (rows + copied) * BYTES_PER_TOKEN

    def forget(self) -> None:
        self.prefix = 0

    def keep(self, prefix: Sequence[int]) -> None:
        self.prefix = len(prefix)

    def start(self, suffixes: Sequence[Sequence[int]]) -> tuple[float, ...]:
        self.running += [len(suffix) for suffix in suffixes]
        self.most_running = max(self.most_running, len(self.running))
        return tuple(0.005 * (at + 1) for at in range(len(suffixes)))

    def steps(self, count: int) -> float:
        assert self.running
        self.num_steps += count
        return count * self.step_s * len(self.running)

    def join(self, suffix: Sequence[int]) -> Joined:
        few_s = self.steps(1)
        self.running.append(len(suffix))
        return Joined(few_s + 0.005, few_s + 0.005 + self.steps(1), 1, 1)

    def leave(self) -> float:
        self.running.pop()
        return 0.001 + self.steps(1)

    def stop(self) -> None:
        self.running = []

    def limit(self, suffix: Sequence[int]) -> float:
        return 0.004

    def one_by_one(self, suffixes: Sequence[Sequence[int]]) -> float:
        return 0.006 * len(suffixes)

    def start_alone(self, suffix: Sequence[int]) -> None:
        assert len(suffix) == PLAN.suffix_tokens

    def alone_steps(self, count: int) -> float:
        return count * 0.0125


def measure(plan: Plan, memory_bytes: int = 10**9) -> tuple[SharedResults, Sided, Sided, list[str]]:
    sharing, copies = Sided(copies=False), Sided(copies=True, step_s=0.02)
    lines: list[str] = []
    machine = Machine(
        lambda: sharing.kv_bytes + copies.kv_bytes, memory_bytes, BYTES_PER_TOKEN, ROOM, 100
    )
    results = SharedBench(sharing, copies, machine, lines.append).run(plan)
    assert sharing.running == copies.running == []
    return results, sharing, copies, lines


def test_rows_that_share_are_held_against_copies() -> None:
    results, _, _, lines = measure(PLAN)
    (prefix,) = results.prefixes
    one, eight = prefix.clients
    assert (one.clients, eight.clients) == (1, 8)
    assert eight.copies is not None
    assert eight.shared.kv_bytes == (512 + 8 * 256) * 10
    assert eight.copies.kv_bytes == 8 * (512 + 256) * 10
    assert prefix.needed_bytes(8) == (512 + 8 * (9 + 1)) * 10
    assert eight.shared.step_s == pytest.approx((0.08,) * 3)
    assert eight.over_copies is not None
    assert eight.over_copies.median == pytest.approx(0.5)
    assert eight.shared.ttft_s == pytest.approx([0.005 * at for at in range(1, 9)])
    assert eight.over_alone is None
    assert one.over_alone is not None
    assert one.over_alone.median == pytest.approx(0.8)
    assert "512 tokens, clients: 8, a step 80 ms, on copies 160 ms" in lines


def test_joining_and_leaving_cost_what_the_steps_meanwhile_did_not() -> None:
    results, _, _, _ = measure(PLAN)
    (prefix,) = results.prefixes
    assert len(prefix.regroups) == 2
    for one in prefix.regroups:
        assert one.suffix_s == pytest.approx(0.004)
        for change in (one.shared, one.copies):
            assert change is not None
            assert change.join_s == pytest.approx(0.005)
            assert change.leave_s == pytest.approx(0.001)
    assert prefix.join_beyond_suffix_s.median == pytest.approx(0.001)


def test_followers_and_one_client() -> None:
    results, _, _, _ = measure(PLAN)
    (prefix,) = results.prefixes
    assert [one.joined_s is None for one in prefix.follows] == [False, True]
    for one in prefix.follows:
        assert (one.together_s, one.one_by_one_s) == pytest.approx((0.035, 0.035))
        assert one.on_copies_s == pytest.approx(7 * 0.006)
    # The first one alone, then six that join 1 to 6 others.
    assert prefix.follows[0].joined_s == pytest.approx(7 * 0.005 + sum(range(1, 7)) * 0.02)
    assert prefix.over_limit.median == pytest.approx(1.25)


def test_copies_that_do_not_fit_into_memory_are_left_out() -> None:
    plan = Plan((512,), (1, 8), 9, 1, 1, 8, 1, CapacityPlan(512, 200, 4))
    most = 3 * (512 + ROOM) * BYTES_PER_TOKEN / 0.8
    results, _, copies, lines = measure(plan, memory_bytes=int(2 * most))
    (prefix,) = results.prefixes
    assert [each.copies is None for each in prefix.clients] == [False, True]
    assert prefix.clients[1].over_copies is None
    assert prefix.regroups[0].copies is None
    assert prefix.follows[0].joined_s is None
    assert results.capacity is None
    assert copies.most_running == 2  # to warm up
    assert "512 tokens, clients: 8, a step 80 ms; copies do not fit into memory" in lines


def test_as_many_rows_as_fit_where_copies_do() -> None:
    plan = Plan((512,), (1,), 9, 1, 1, 2, 1, CapacityPlan(960, 240, 3))
    results, sharing, _, _ = measure(plan)
    capacity = results.capacity
    assert capacity is not None
    assert capacity.shared_share == pytest.approx(0.8)
    assert (capacity.copies_rows, capacity.copies_bytes) == (3, 3 * 1_216 * 10)
    assert (capacity.shared_rows, capacity.shared_bytes) == (10, (960 + 10 * 256) * 10)
    assert capacity.times_as_many == pytest.approx(10 / 3)
    assert sharing.most_running == 11, "one more is tried"


def test_no_row_generates_more_than_the_plan_says() -> None:
    for repeats in (1, 40):
        plan = Plan(
            (512,), (8,), 9, blocks=2, block_steps=2, group=8, repeats=repeats, capacity=None
        )
        _, sharing, copies, _ = measure(plan)
        for side in (sharing, copies):
            # All steps of a side, but those of the warm-up, in which two others ran.
            of_regroups = side.num_steps - 2 - 5
            assert of_regroups <= plan.answer_tokens
        assert plan.longest_tokens == 512 + 9 + plan.answer_tokens


def test_results_survive_their_way_as_json() -> None:
    plan = Plan((512, 64), (1, 2), 9, 2, 2, 3, 2, CapacityPlan(512, 200, 2))
    results, _, _, _ = measure(plan)
    assert [of.prefix_tokens for of in results.prefixes] == [64, 512]
    assert SharedResults.from_json(json.loads(json.dumps(asdict(results)))) == results
    assert Plan.from_json(json.loads(json.dumps(asdict(plan)))) == plan
    small, _, _, _ = measure(PLAN, memory_bytes=1)
    assert SharedResults.from_json(json.loads(json.dumps(asdict(small)))) == small
