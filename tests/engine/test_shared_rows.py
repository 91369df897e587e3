"""Many requests on one prefix: held once, read once a step, and each gets the logits it would get
alone. With sharing off (parts copied together, one row at a time) the same holds."""

from __future__ import annotations

import mlx.core as mx
import pytest

from engine.model.info import AttentionMode
from tests.support.gate import Gate, check, divergence, largest
from tests.support.tiny_models import VOCABULARY

KINDS = ["llama", "llama_mha", "llama_mqa", "gemma3_text", "gpt_oss", "qwen3_next", "falcon_h1"]
TEXT = [(7 * n * n + 3 * n + 5) % VOCABULARY for n in range(4200)]
OTHER = [(11 * n * n + n + 9) % VOCABULARY for n in range(900)]


def make_gate(name: str, *, shared: bool = True, **options: object) -> Gate:
    gate = Gate(name, **options)  # type: ignore[arg-type]
    assert gate.runner.info.attention is AttentionMode.SHARED
    if not shared:
        gate.runner.mode = AttentionMode.COPIES
        gate.scheduler._batches_rests = False
    return gate


def prompts_on(prefix: list[int], group: int, suffix: int = 7) -> dict[str, list[int]]:
    """Different endings of different lengths behind one prefix."""
    return {
        f"r{n}": [*prefix, *OTHER[n * 37 : n * 37 + 1 + (suffix + 5 * n) % 40]]
        for n in range(group)
    }


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("length", [0, 1, 15, 16, 17, 512])
def test_groups_on_prefixes_of_all_lengths(name: str, length: int, shared: bool) -> None:
    gate = make_gate(name, shared=shared)
    prefix = TEXT[:length]
    if prefix:
        gate.run("first", [*prefix, 5], 2)
    for group in (1, 3) if length != 16 else (1, 2, 8, 16):
        prompts = prompts_on(prefix, group)
        for each, tokens in prompts.items():
            gate.submit(f"{each} of {group}", tokens, 4)
        gate.finish()
        for each, tokens in prompts.items():
            check(gate, f"{each} of {group}", tokens)


@pytest.mark.parametrize("name", ["llama", "gemma3_text"])
def test_a_long_prefix(name: str) -> None:
    gate = make_gate(name, chunk=512)
    gate.run("first", TEXT[:4096], 0)
    used = gate.cache.used_bytes
    prompts = prompts_on(TEXT[:4096], 8, suffix=60)
    for each, tokens in prompts.items():
        gate.submit(each, tokens, 6)
    most = 0
    while gate.scheduler.jobs:
        gate.step()
        most = max(most, gate.cache.used_bytes)
    for each in prompts:
        assert gate.cached(each) == 4096
    for each in ("r0", "r7"):
        check(gate, each, prompts[each])
    suffixes = sum(len(tokens) - 4096 + 6 for tokens in prompts.values())
    if name == "llama":
        assert most <= 1.1 * (used + suffixes * gate.cache.cost.bytes_per_token)
    else:  # and windows
        assert most <= used + len(prompts) * gate.cache.cost.append_bytes(100)


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("suffix", [1, 2, 31, 32, 33, 64, 65, 200])
def test_suffixes_of_all_lengths(name: str, suffix: int) -> None:
    gate = make_gate(name)
    gate.run("first", TEXT[:100], 0)
    for n in range(2):
        gate.submit(f"r{n}", [*TEXT[:100], *OTHER[300 * n : 300 * n + suffix]], 3)
    gate.finish()
    for n in range(2):
        check(gate, f"r{n}", [*TEXT[:100], *OTHER[300 * n : 300 * n + suffix]])
        assert gate.cached(f"r{n}") == 100


@pytest.mark.parametrize("name", KINDS)
def test_short_rests_of_several_prompts_go_through_one_pass(name: str) -> None:
    """Seven followers on a prefix: their first tokens take a pass for each kind of length, not
    seven (design D5)."""
    gate = make_gate(name, chunk=256)
    gate.run("first", TEXT[:120], 0)
    prompts = {f"r{n}": [*TEXT[:120], *OTHER[n * 50 : n * 50 + 9 + n % 3]] for n in range(7)}
    for each, tokens in prompts.items():
        gate.submit(each, tokens, 3)
    gate.step()
    answered = sum(bool(gate.runner.chosen[each]) for each in prompts)
    assert answered == 7, "all of them in the first step"
    gate.finish()
    for each, tokens in prompts.items():
        check(gate, each, tokens)


@pytest.mark.parametrize("name", KINDS)
def test_nested_prefixes_and_rows_that_come_and_go(name: str) -> None:
    """House rules ⊂ agent ⊂ conversation, on chains of parts; rows join and leave in the middle."""
    gate = make_gate(name)
    rules, agents = TEXT[:60], [OTHER[:40], OTHER[50:85]]
    gate.run("rules", rules, 0)
    for n, agent in enumerate(agents):
        gate.run(f"agent {n}", [*rules, *agent], 0)
    prompts: dict[str, list[int]] = {}
    for n in range(6):
        name_of = f"talk {n}"
        prompts[name_of] = [*rules, *agents[n % 2], *OTHER[100 + 20 * n : 108 + 23 * n]]
        gate.submit(name_of, prompts[name_of], 30)
        gate.step()
        gate.step()
    gate.cancel("talk 1")
    for _ in range(5):
        gate.step()
    gate.submit("late", [*rules, 9], 10)
    prompts["late"] = [*rules, 9]
    gate.cancel("talk 4")
    gate.finish()
    for each, tokens in prompts.items():
        check(gate, each, tokens)


@pytest.mark.parametrize("name", ["llama", "gemma3_text", "qwen3_next"])
def test_a_long_conversation_is_compacted_when_idle(name: str) -> None:
    gate = make_gate(name)
    text = TEXT[:50]
    for turn in range(12):
        gate.run(f"turn {turn}", text, 5)
        check(gate, f"turn {turn}", text)
        text = [*text, *gate.answer(f"turn {turn}"), *OTHER[turn * 20 : turn * 20 + 18]]
    used, parts = gate.cache.used_bytes, len(gate.cache.parts)
    while gate.cache.compact(gate.admission.budget - gate.cache.used_bytes):
        gate.cache.check_integrity()
        assert gate.cache.used_bytes <= used
    if gate.cache.cost.dense:
        assert parts > 8
        assert len(gate.cache.parts) == 4
    gate.run("after", text, 5)
    check(gate, "after", text)
    assert gate.cached("after") >= len(text) - 19


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize(
    ("name", "length"), [("gemma3_text", 100), *[("llama", n) for n in (1, 16, 600)]]
)
def test_who_is_alone_goes_on_in_the_part_and_shares_it_again(
    name: str, length: int, shared: bool
) -> None:
    """Alone, with another on the same prefix, with one that goes on from its answer while it is
    being written; and alone again, when what the others left is gone."""
    gate = make_gate(name, shared=shared, chunk=256)
    prefix = TEXT[:length]
    gate.run("first", [*prefix, 5], 0)
    prompts = {"long": [*prefix, 5, *OTHER[:9]]}
    gate.submit("long", prompts["long"], 80)
    row = None
    for _ in range(6):
        gate.step()
        row = gate.scheduler.get("long").row
    assert row is not None
    dense = gate.cache.cost.dense
    assert bool(row.hold.views) is not dense, "what it stood on is its own"
    for n, tokens in enumerate(([*prefix, 5, *OTHER[40:47]], [*prefix, 6])):
        prompts[f"other {n}"] = tokens
        gate.submit(f"other {n}", tokens, 5)
        for _ in range(9):
            gate.step()
    answered = gate.answer("long")[:12]
    prompts["on its answer"] = [*prompts["long"], *answered, 7]
    gate.submit("on its answer", prompts["on its answer"], 3)
    gate.step()
    assert len(row.hold.views) > 1 or not dense
    while len(gate.scheduler.jobs) > 1:
        gate.step()
    gate.cache.reclaim(gate.cache.used_bytes)
    views = len(row.hold.views)
    gate.step()
    assert len(row.hold.views) == views - dense, "it goes on in the last of them"
    gate.finish()
    for each, tokens in prompts.items():
        check(gate, each, tokens)
    if dense:
        assert gate.cached("other 0") == length + 1
        assert gate.cached("on its answer") == len(prompts["long"]) + 12
    prompts["after"] = [*prompts["long"], *gate.answer("long")]
    gate.run("after", prompts["after"], 3)
    check(gate, "after", prompts["after"])


@pytest.mark.parametrize(
    ("name", "dtype"),
    [("llama", mx.float16), ("llama", mx.bfloat16), ("gemma3_text", mx.float16)],
)
def test_half_precision_stays_within_its_own_noise(name: str, dtype: mx.Dtype) -> None:
    """Sharing may differ from a fresh run by no more than the dtype itself does from float32."""
    gate, exact = make_gate(name, dtype=dtype), Gate(name)
    gate.run("first", TEXT[:200], 0)
    tokens = {f"r{n}": [*TEXT[:200], *OTHER[n * 40 : n * 40 + 11]] for n in range(4)}
    for each, prompt in tokens.items():
        gate.submit(each, prompt, 1)
    gate.finish()
    for each, prompt in tokens.items():
        served, answer = gate.logits(each), gate.answer(each)
        fresh, truth = gate.fresh(prompt, answer), exact.fresh(prompt, answer)
        assert 0 < largest(fresh - truth) < 2, "there is noise, and it is no more than that"
        assert largest(served - fresh) <= largest(fresh - truth)
        assert divergence(served, fresh) <= divergence(fresh, truth)
