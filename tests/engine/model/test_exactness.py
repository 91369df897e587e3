"""Restored KV equals computed KV, on logits (design D8): rows over parts against fresh runs."""

from __future__ import annotations

import mlx.core as mx
import pytest
from mlx_lm.models.cache import KVCache

from engine.cache.prefix_cache import PrefixCache
from engine.cache.row import Row
from engine.model.info import AttentionMode
from engine.model.loader import layout_of
from engine.model.runner import Runner
from engine.model.sampling import Sampler
from engine.request import SamplingParams
from tests.support.tiny_models import (
    VOCABULARY,
    fresh_logits,
    largest,
    make_runner,
    runner_of,
    tiny_model,
)

# A third of the gate's bar; float32, on logits whose standard deviation is about 1. Processors
# round differently: 0.3e-4 to 1.4e-4 were seen for the same case.
BAR = 3e-4
TOKENS = [(7 * n * n + 3 * n + 5) % VOCABULARY for n in range(400)]
OTHER = [(11 * n * n + n + 9) % VOCABULARY for n in range(400)]
ROWS = ["llama", "llama_mha", "llama_mqa", "qwen2", "qwen3"]
GREEDY = SamplingParams(temperature=0.0)


def logits_of(runner: Runner, cache: PrefixCache, row: Row) -> mx.array:
    """Logits after each token that the row had to compute."""
    logits = runner.logits(row).astype(mx.float32)
    cache.publish(row)
    cache.check_integrity()
    return logits


def open_and_compute(runner: Runner, cache: PrefixCache, tokens: list[int]) -> tuple[Row, float]:
    """A computed row on whatever is known of these tokens, and how far it is from a fresh run."""
    row = cache.open_row(tokens, limit=len(tokens) - 1)
    logits = logits_of(runner, cache, row)
    return row, largest(logits - fresh_logits(runner, tokens)[row.num_cached :])


@pytest.mark.parametrize("name", ROWS)
def test_rows_are_taken(name: str) -> None:
    runner, _ = make_runner(name)
    assert (runner.info.attention, runner.info.attention_reason) == (AttentionMode.SHARED, "")
    kv_heads = {"llama_mha": 4, "llama_mqa": 1}.get(name, 2)
    assert runner.info.bytes_per_token == 3 * 2 * kv_heads * 16 * 4


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("num_prefix", [1, 15, 16, 17, 100])
@pytest.mark.parametrize("num_suffix", [1, 2, 16, 64, 65, 200])
def test_a_suffix_over_a_part(name: str, num_prefix: int, num_suffix: int) -> None:
    runner, cache = make_runner(name)
    leader = cache.open_row(TOKENS[:num_prefix])
    logits_of(runner, cache, leader)
    cache.close_row(leader)
    row, off = open_and_compute(runner, cache, TOKENS[:num_prefix] + OTHER[:num_suffix])
    assert row.num_cached >= num_prefix
    assert off <= BAR


@pytest.mark.parametrize("name", ROWS)
def test_owner_and_follower_go_on_from_the_middle_of_a_page(name: str) -> None:
    runner, cache = make_runner(name)
    owner = cache.open_row(TOKENS[:100])
    logits_of(runner, cache, owner)
    follower, off = open_and_compute(runner, cache, TOKENS[:53] + OTHER[:20])
    assert follower.num_cached == 53
    assert off <= BAR
    for tokens, row in ((TOKENS, owner), (TOKENS[:53] + OTHER, follower)):
        for _ in range(3):
            row.tokens.append(tokens[len(row.tokens)])
            step = logits_of(runner, cache, row)
            assert largest(step[0] - fresh_logits(runner, list(row.tokens))[-1]) <= BAR


def test_chains_of_parts_and_a_batch_of_unlike_rows() -> None:
    runner, cache = make_runner("llama")
    chained, text = None, list(TOKENS[:40])
    for turn in range(4):  # a conversation: each turn stands on the parts of those before
        chained, off = open_and_compute(runner, cache, text)
        assert off <= BAR
        assert len(chained.hold.views) == turn
        if turn < 3:
            cache.close_row(chained)
            text += OTHER[turn * 30 : turn * 30 + 25]
    assert chained is not None
    rows = [
        chained,
        open_and_compute(runner, cache, TOKENS[:30] + OTHER[5:9])[0],  # one part, cut short
        open_and_compute(runner, cache, TOKENS[:30] + OTHER[9:20])[0],  # the same part
        open_and_compute(runner, cache, OTHER[200:250])[0],  # none
    ]
    samplers = [Sampler(GREEDY) for _ in rows]
    for _ in range(12):
        for row in rows:
            row.tokens.append(int(row.tokens[-1] * 5 + 3) % VOCABULARY)
        chosen = runner.next_tokens(rows, samplers)
        for row, token in zip(rows, chosen, strict=True):
            cache.publish(row)
            logits = fresh_logits(runner, list(row.tokens))[-1]
            assert float(logits.max().item()) - float(logits[token].item()) <= 1e-3
    cache.check_integrity()
    for row in rows:
        cache.close_row(row)
        again, off = open_and_compute(runner, cache, list(row.tokens))
        assert again.num_cached == len(row.tokens) - 1
        assert off <= BAR


def test_what_eviction_leaves_is_still_exact() -> None:
    runner, cache = make_runner("llama")
    leader = cache.open_row(TOKENS[:300])
    logits_of(runner, cache, leader)
    cache.close_row(leader)
    used = cache.used_bytes
    given = cache.reclaim(used // 2)
    assert given.num_bytes == used - cache.used_bytes
    row, off = open_and_compute(runner, cache, TOKENS[:310])
    assert 0 < row.num_cached < 300
    assert row.num_cached % 16 == 0
    assert off <= BAR


@pytest.mark.parametrize("dtype", [mx.float16, mx.bfloat16])
def test_half_precision_stays_within_its_own_noise(dtype: mx.Dtype) -> None:
    runner, cache = make_runner("llama", dtype)
    assert runner.info.attention is AttentionMode.SHARED
    exact, _ = make_runner("llama")
    tokens = TOKENS[:150]
    noise = largest(fresh_logits(runner, tokens) - fresh_logits(exact, tokens))
    leader = cache.open_row(tokens[:120])
    logits_of(runner, cache, leader)
    _, off = open_and_compute(runner, cache, tokens)
    assert off <= noise, "sharing may not differ more than the dtype itself does from float32"


def test_own_softmax_runs_on_copies() -> None:
    runner, cache = make_runner("gemma2")
    assert runner.info.attention is AttentionMode.COPIES
    assert "shared parts" in runner.info.attention_reason
    leader = cache.open_row(TOKENS[:100])
    logits_of(runner, cache, leader)
    for num_suffix in (1, 30, 120):
        row, off = open_and_compute(runner, cache, TOKENS[:70] + OTHER[:num_suffix])
        assert row.num_cached >= 70
        assert off <= BAR
        row.tokens.append(3)
        step = logits_of(runner, cache, row)
        assert largest(step[0] - fresh_logits(runner, list(row.tokens))[-1]) <= BAR


def test_what_cannot_be_restored_is_served_without() -> None:
    """A cache class of a model's own: nobody knows what it keeps."""
    loaded = tiny_model("llama")

    class OwnCache(KVCache):  # type: ignore[misc]
        pass

    loaded.model.make_cache = lambda: [OwnCache() for _ in range(3)]  # type: ignore[attr-defined]
    loaded.layout = layout_of(loaded.model)
    runner, cache = runner_of(loaded)
    assert runner.info.attention is AttentionMode.PRIVATE
    assert runner.info.attention_reason == "its layers keep their past in OwnCache"
    for _ in range(2):
        row = cache.open_row(TOKENS[:50], limit=49)
        assert row.num_cached == 0
        runner.prefill(row, 30)
        cache.publish(row)
        logits = runner.logits(row)
        fresh = fresh_logits(runner, TOKENS[:50])
        assert largest(logits - fresh[30:]) <= BAR
        row.tokens.append(9)
        other = cache.open_row(OTHER[:20], limit=19)
        runner.prefill(other, 19)
        assert runner.batches([row, other]) == [[row], [other]]
        chosen = [runner.next_tokens([each], [Sampler(GREEDY)])[0] for each in (row, other)]
        assert chosen[0] == int(mx.argmax(fresh_logits(runner, [*TOKENS[:50], 9])[-1]).item())
        assert chosen[1] == int(mx.argmax(fresh_logits(runner, OTHER[:20])[-1]).item())
        cache.close_row(row)
        cache.close_row(other)
        assert cache.used_bytes == 0


@pytest.mark.parametrize(
    "tiny", [{"temperature": 1e-39}, {"top_p": 1e-46}, {"temperature": 1e-300}]
)
def test_what_float32_cannot_hold_is_greedy(tiny: dict[str, float]) -> None:
    logits = mx.array([0.1, 2.0, -1.0, 1.9])
    assert int(Sampler(SamplingParams(seed=1, **tiny))(logits).item()) == 1
