"""Small real tokenizers of the kinds that language models ship."""

from __future__ import annotations

import json

import pytest
from tokenizers import (
    AddedToken,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    trainers,
)

from engine.prompt.codec import TextCodec

SENTENCES = [
    "The quick brown fox jumps over the lazy dog, twice a day: 2024-05-17 and 1234567.",
    "온돌은 방바닥을 데우는 난방이다. 하나의 불이 모든 방을 데운다.",
    "A home server answers assistant and user messages, system notes and tools.\n\nReply!",
    "A fox said quickly: 😀 👩‍🚀 🇰🇷",
    "<system-reminder> def function(name): return name + 'é ü ñ €' </system-reminder>",
]
SPECIAL_TOKENS = [
    "<|im_start|>",
    "<|im_end|>",
    "<|begin_of_text|>",
    "<|start_header_id|>",
    "<|end_header_id|>",
    "<|eot_id|>",
    "<start_of_turn>",
    "<end_of_turn>",
]


def byte_level(pre_tokenizer: pre_tokenizers.PreTokenizer) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(
        SENTENCES,
        trainers.BpeTrainer(
            vocab_size=420,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            special_tokens=SPECIAL_TOKENS,
            show_progress=False,
        ),
    )
    tokenizer.add_tokens([AddedToken("<tool_call>", special=False)])
    return tokenizer


def byte_fallback() -> Tokenizer:
    """Spaces as ▁, characters outside the vocabulary as byte tokens, as in Llama 2 and Gemma."""
    trained = Tokenizer(models.BPE(unk_token="<unk>"))
    trained.normalizer = normalizers.Replace(" ", "▁")
    trained.train_from_iterator(
        [sentence for sentence in SENTENCES if sentence.isascii()],
        trainers.BpeTrainer(vocab_size=200, special_tokens=["<unk>"], show_progress=False),
    )
    model = json.loads(trained.to_str())["model"]
    pieces = [*model["vocab"], *(f"<0x{byte:02X}>" for byte in range(256))]
    tokenizer = Tokenizer(
        models.BPE(
            vocab={piece: token_id for token_id, piece in enumerate(pieces)},
            merges=[(left, right) for left, right in model["merges"]],
            unk_token="<unk>",
            fuse_unk=True,
            byte_fallback=True,
        )
    )
    tokenizer.add_special_tokens(["<unk>", *SPECIAL_TOKENS])
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
    )
    tokenizer.decoder = decoders.Sequence(
        [
            decoders.Replace("▁", " "),
            decoders.ByteFallback(),
            decoders.Fuse(),
            decoders.Strip(" ", 1, 0),
        ]
    )
    return tokenizer


@pytest.fixture(scope="session")
def byte_tokenizer() -> Tokenizer:
    return byte_level(pre_tokenizers.ByteLevel(add_prefix_space=False))


@pytest.fixture(scope="session")
def byte_codec(byte_tokenizer: Tokenizer) -> TextCodec:
    return TextCodec(byte_tokenizer)


@pytest.fixture(scope="session")
def byte_ids(byte_tokenizer: Tokenizer) -> list[int]:
    """Token of each single byte; GPT-2's alphabet writes printable bytes as they are."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    chars = {byte: chr(byte) for byte in printable}
    chars |= {byte: chr(256 + place) for place, byte in enumerate(others)}
    vocab = byte_tokenizer.get_vocab()
    return [vocab[chars[byte]] for byte in range(256)]


@pytest.fixture(scope="session")
def digit_codec() -> TextCodec:
    return TextCodec(
        byte_level(
            pre_tokenizers.Sequence(
                [
                    pre_tokenizers.Digits(individual_digits=True),
                    pre_tokenizers.ByteLevel(add_prefix_space=False),
                ]
            )
        )
    )


@pytest.fixture(scope="session")
def fallback_codec() -> TextCodec:
    return TextCodec(byte_fallback())


@pytest.fixture(scope="session", params=["byte_codec", "digit_codec", "fallback_codec"])
def codec(request: pytest.FixtureRequest) -> TextCodec:
    codec: TextCodec = request.getfixturevalue(request.param)
    return codec
