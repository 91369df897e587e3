"""Results with known figures, a small model with a real tokenizer and a real template, and the
command line without what it runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from app.bench import lock
from app.bench.client import Messages
from app.bench.command import BENCHES, USAGE_ERROR, main
from app.bench.conditions import Conditions
from app.bench.hybrid_model import HybridShape, write
from app.bench.warm_results import Results, Round, SizeResult, Warm
from app.bench.workload import _WORD_LIST, Encode
from engine.model.gguf import WeightForm, import_gguf
from engine.prompt.chat import ChatFormatter, Message
from engine.prompt.codec import TextCodec
from engine.prompt.template import TemplateRenderer
from tests.support.tiny_gguf import TinyGguf

TEMPLATE = (
    "{% for message in messages %}<|{{ message['role'] }}|>\n{{ message['content'] }}<|end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|assistant|>\n{% endif %}"
)
MARKS = ["<|system|>", "<|user|>", "<|assistant|>", "<|end|>"]


@pytest.fixture(scope="session")
def encode() -> Iterator[Encode]:
    """Chat to tokens: byte-level BPE trained on the bench's words, beneath a chat template."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=1200,
        special_tokens=MARKS,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    words = _WORD_LIST.split()
    corpus = [" ".join(words), *(word.capitalize() for word in words)]
    tokenizer.train_from_iterator(corpus * 3, trainer)
    renderer = TemplateRenderer()
    formatter = ChatFormatter(TextCodec(tokenizer), TEMPLATE, {}, renderer)

    def encode(messages: Messages) -> tuple[int, ...]:
        return formatter.format(
            [Message(message["role"], message["content"]) for message in messages]
        ).tokens

    yield encode
    renderer.close()


@pytest.fixture(scope="session")
def make_model(tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], Path]:
    """A model folder of some hundred kilobytes, with so many tokens of context; every character is
    a token of it."""

    def make(context_window: int) -> Path:
        folder = tmp_path_factory.mktemp("models")
        keys = {"llama.context_length": context_window}
        source = TinyGguf(keys=keys).write(folder / "tiny.gguf")
        return import_gguf(source, folder / "Tiny-1B", WeightForm.FLOAT32)

    return make


@pytest.fixture(scope="session")
def tiny_model(make_model: Callable[[int], Path]) -> Path:
    """A model with 128 tokens of context."""
    return make_model(128)


@pytest.fixture(scope="session")
def roomy_model(make_model: Callable[[int], Path]) -> Path:
    """A model with 2,048 tokens of context."""
    return make_model(2_048)


@pytest.fixture(scope="session")
def hybrid_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of a recurrent layer and one of full attention, with 2,048 tokens of context."""
    shape = HybridShape(
        hidden=32, layers=2, attention_interval=2, heads=2, head_dim=16, vocabulary=64,
        context_window=2_048,
    )  # fmt: skip
    return write(tmp_path_factory.mktemp("models") / "hybrid", shape)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Any]:
    """What the command line asks the benches for; nothing is measured."""
    calls: list[Any] = []
    monkeypatch.setattr(lock, "LOCK_FILE", tmp_path / "lock")
    for bench in BENCHES:
        monkeypatch.setattr(bench.command, "run", calls.append)
    return calls


@pytest.fixture
def refused(asked: list[Any], capsys: pytest.CaptureFixture[str]) -> Callable[[str], str]:
    """What the command line says to words that make no sense; nothing is asked for."""

    def refused(words: str) -> str:
        with pytest.raises(SystemExit) as caught:
            main(words.split())
        assert caught.value.code == USAGE_ERROR
        assert asked == []
        return capsys.readouterr().err

    return refused


@pytest.fixture
def make_size() -> Callable[..., SizeResult]:
    """A size whose rounds all have the same figures, in seconds."""

    def make(
        target: int,
        *,
        cold_s: float = 10.0,
        plain_s: float = 10.0,
        warm_s: float = 0.1,
        limit_s: float = 0.1,
        cached: int | None = None,
        rounds: int = 3,
    ) -> SizeResult:
        same = Warm(target, target - 1 if cached is None else cached, warm_s, limit_s)
        another = Warm(target, target - 16, 2 * warm_s, 2 * limit_s)
        one = Round(target, 0, cold_s, plain_s, same=(same, same), another=(another, another))
        return SizeResult(target, (one,) * rounds)

    return make


@pytest.fixture
def conditions() -> Conditions:
    return Conditions(
        started_at="2026-01-01T00:00:00+00:00",
        model="Tiny-1B",
        dtype="float32",
        device={
            "kind": "cpu",
            "name": "Test CPU",
            "memory_bytes": 8 * 1024**3,
            "mlx_version": "0.0",
            "blas": "Test BLAS",
            "blas_threads": 2,
            "warnings": ("It is only a test.",),
        },
        cores=2,
        load_before=0.12,
        versions={"ondol": "0.0", "mlx": "0.0"},
        platform="Test OS",
        threads=2,
        prefill_chunk=256,
        max_tokens=3,
        rounds=3,
        repeats=2,
    )


@pytest.fixture
def results(conditions: Conditions, make_size: Callable[..., SizeResult]) -> Results:
    """A greeting that plain mlx-lm answers faster, and a long prompt that meets every bar."""
    greeting = make_size(10, cold_s=0.12, plain_s=0.1, warm_s=0.05, limit_s=0.05)
    return Results(conditions, (greeting, make_size(2000, warm_s=0.3, limit_s=0.25)))
