"""Gemma 3 270M with its real weights: five of six layers see a window of 512 tokens, and prompts
are longer than that. Whatever the cache finds, the logits are those of plain mlx-lm."""

from __future__ import annotations

import pytest

from engine.model.info import AttentionMode
from engine.model.loader import LoadedModel, load
from engine.prompt.codec import TextCodec
from engine.request import Segment
from tests.support.gate import Gate, check
from tests.support.real_models import gemma_folder

STORY = " ".join(
    f"On day {day} the heron stood at the {place} and counted {7 * day % 23} boats."
    for day, place in enumerate(["mill", "weir", "bridge", "ford", "quay"] * 9, start=1)
)


@pytest.fixture(scope="module")
def loaded() -> LoadedModel:
    return load(gemma_folder())


@pytest.mark.timeout(300)
def test_restored_windows_give_the_logits_of_a_fresh_run(loaded: LoadedModel) -> None:
    gate = Gate(loaded, chunk=256)
    info = gate.runner.info
    assert (info.attention, info.attention_reason) == (AttentionMode.SHARED, "")
    assert info.layers == "15 sliding window, 3 full attention"
    (window,) = info.cost.windows
    assert (window.window, window.bytes_per_token) == (512, 15 * 2 * 256 * 4)
    codec = TextCodec(loaded.tokenizer)
    story = list(codec.encode_ids(STORY))
    assert 700 <= len(story) <= 1000
    policy = len(story) - 60

    def serve(name: str, tokens: list[int], num_answer: int = 4) -> int:
        segments = (Segment("system", 0, policy), Segment("messages", policy, len(tokens)))
        _, cached = gate.run(name, tokens, num_answer, segments)
        check(gate, name, tokens)
        return cached

    assert serve("cold", story) == 0
    assert serve("again", story) == len(story) - 1
    question = list(codec.encode_ids(" Where was the heron on the last day? It was at the"))
    assert serve("other question", story[:policy] + question, 12) == policy
    turn = [*story, *gate.answer("again"), *question]
    assert serve("next turn", turn) == len(story) + 3
    # What is left after most has been given up is still right.
    gate.cache.reclaim(gate.cache.used_bytes * 2 // 3)
    gate.cache.check_integrity()
    assert serve("after eviction", story) < len(story) - 1
    assert gate.cache.clear()
    assert gate.cache.used_bytes == 0


@pytest.mark.timeout(300)
def test_conversations_on_one_policy_decode_together(loaded: LoadedModel) -> None:
    gate = Gate(loaded, chunk=256)
    codec = TextCodec(loaded.tokenizer)
    story = list(codec.encode_ids(STORY))[:600]
    gate.run("policy", story, 0)
    prompts = {
        f"q{n}": story + list(codec.encode_ids(text))
        for n, text in enumerate([" The heron", " On day 46 the", " Nobody knew why"])
    }
    for name, tokens in prompts.items():
        gate.submit(name, tokens, 8)
    gate.finish()
    for name, tokens in prompts.items():
        assert gate.cached(name) == 600
        check(gate, name, tokens)
