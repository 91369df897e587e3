"""The starter model: cached and fresh runs agree on tokens and on logits, alone and in company."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import mlx.core as mx
import pytest
from mlx_lm.models.cache import make_prompt_cache

from engine.cache.prefix_cache import PrefixCache
from engine.config import EngineConfig
from engine.engine import Engine
from engine.metrics import EngineMetrics
from engine.model.info import AttentionMode
from engine.model.loader import LoadedModel, load
from engine.model.runner import Runner
from engine.prompt.chat import Message
from engine.prompt.codec import TextCodec
from engine.request import Finished, FinishReason, Prompt, Request, SamplingParams
from tests.support.engine import Listener
from tests.support.waiting import wait_until

GREEDY = SamplingParams(temperature=0.0)
POLICY = (
    "You are the assistant of a house with a lamp, a kettle and a garden. The boiler code is 4417."
    " The guest network is called bluekettle. Answer in one sentence and never mention the boiler."
)
SUBJECTS = ["the lamp", "the kettle", "the garden", "rain", "Seoul", "tea", "snow", "the moon"]
QUESTIONS = [f"{verb} {subject}?" for verb in ("What is", "Who likes", "Why do we need")
             for subject in SUBJECTS][:20]  # fmt: skip
ANSWER_TOKENS = 6


@pytest.fixture(scope="module")
def loaded(starter_model: Path) -> LoadedModel:
    return load(starter_model)


def test_twenty_prompts_cached_and_fresh(loaded: LoadedModel) -> None:
    runner = Runner(loaded, "starter", created=0)
    assert runner.info.attention is AttentionMode.SHARED
    assert runner.info.bytes_per_token == 30 * 2 * 3 * 64 * 4
    cache = PrefixCache(loaded.identity, runner.new_storage, cost=runner.info.cost)
    codec = TextCodec(loaded.tokenizer)
    head = list(codec.encode_ids(f"<|im_start|>system\n{POLICY}<|im_end|>\n<|im_start|>user\n"))
    for number, question in enumerate(QUESTIONS):
        prompt = head + list(codec.encode_ids(f"{question}<|im_end|>\n<|im_start|>assistant\n"))
        fresh_tokens, fresh_logits = fresh_answer(loaded, prompt)
        row = cache.open_row(prompt, limit=len(prompt) - 1)
        assert row.num_cached >= (len(head) if number else 0)
        answer = []
        for fresh in fresh_logits:
            logits = runner.logits(row)[-1]
            cache.publish(row)
            assert float(mx.abs(logits - fresh).max().item()) <= 1e-3
            answer.append(int(mx.argmax(logits).item()))
            row.tokens.append(answer[-1])
        assert answer == fresh_tokens
        cache.close_row(row)
        cache.check_integrity()


def fresh_answer(loaded: LoadedModel, prompt: list[int]) -> tuple[list[int], list[mx.array]]:
    """Greedy tokens and the logits they were chosen from, by mlx-lm alone."""
    cache = make_prompt_cache(loaded.model)
    tokens, all_logits, feed = [], [], prompt
    for _ in range(ANSWER_TOKENS):
        logits = loaded.model(mx.array([feed]), cache=cache)[0, -1]
        mx.eval(logits)
        tokens.append(int(mx.argmax(logits).item()))
        all_logits.append(logits)
        feed = tokens[-1:]
    return tokens, all_logits


@pytest.fixture
def engine(starter_model: Path) -> Iterator[tuple[Engine, Listener]]:
    listener = Listener()
    engine = Engine(
        starter_model,
        EngineConfig(check_integrity=True, prefill_chunk=64),
        model_id="starter",
        deliver=listener,
        metrics=EngineMetrics("starter"),
    )
    engine.start()
    try:
        assert engine.wait_until_ready(60).ok
        yield engine, listener
    finally:
        assert engine.stop(30)


def test_eight_streams_of_unlike_length_a_third_cancelled(engine: tuple[Engine, Listener]) -> None:
    serving, listener = engine
    chance = random.Random(4417)
    prompts: dict[str, Prompt] = {}
    for number in range(8):
        story = " ".join(chance.choices(SUBJECTS, k=4 + 9 * number))
        messages = [Message("user", f"{story}. {QUESTIONS[number]}")]
        prompts[f"s{number}"] = serving.format(messages)
    doomed = set(chance.sample(sorted(prompts), 3))
    for name, prompt in prompts.items():
        serving.submit(Request(name, prompt, 16, GREEDY))
    for name in sorted(doomed):
        after = chance.randrange(3)  # events: while queued, in prefill, or while decoding
        wait_until(lambda name=name, after=after: len(listener.events[name]) >= after, 60)
        serving.cancel(name)
    ends = {name: listener.wait(name, 120) for name in prompts}
    wait_until(lambda: serving.snapshot.num_running == 0)
    assert serving.snapshot.memory.running == 0
    assert serving.snapshot.memory.reserved == 0
    for name, prompt in prompts.items():
        end = ends[name]
        assert isinstance(end, Finished)
        if name in doomed:
            assert end.reason in (FinishReason.ABORT, FinishReason.STOP, FinishReason.LENGTH)
            continue
        alone = Request(f"{name} alone", prompt, 16, GREEDY, salt=name)
        serving.submit(alone)
        single = listener.wait(alone.id, 120)
        assert isinstance(single, Finished)
        assert single.usage.cached_tokens == 0
        assert listener.text(name) == listener.text(alone.id)
        assert end.usage.completion_tokens == single.usage.completion_tokens


def test_sampling_with_a_seed_is_the_same_in_any_company(engine: tuple[Engine, Listener]) -> None:
    serving, listener = engine
    prompt = serving.format([Message("user", "Tell me about tea.")])
    warm = SamplingParams(temperature=0.9, top_p=0.95, top_k=40, min_p=0.02, seed=7)
    serving.submit(Request("alone", prompt, 12, warm))
    listener.wait("alone", 60)
    for name, params in (("again", warm), ("other", SamplingParams(temperature=0.9, seed=8))):
        serving.submit(Request(name, prompt, 12, params))
    for name in ("again", "other"):
        listener.wait(name, 60)
    assert listener.text("again") == listener.text("alone")
    assert listener.text("other") != listener.text("alone")
