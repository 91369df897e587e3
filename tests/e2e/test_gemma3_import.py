"""A real Gemma 3 in K-quants, imported: its tokens are SentencePiece's, its numbers a reference's,
and its answers make sense.
"""

from __future__ import annotations

import random
from functools import cache
from typing import Any

import mlx.core as mx
import numpy as np
import pytest
from gguf import dequantize
from mlx_lm.models.cache import KVCache, RotatingKVCache, make_prompt_cache
from mlx_lm.utils import load as load_folder
from sentencepiece import SentencePieceProcessor
from tokenizers import Tokenizer

from engine.model.gguf_file import GgufFile
from engine.prompt.codec import TextCodec
from engine.prompt.stream import TextStream
from tests.support.gemma3_reference import Floats, Gemma3Reference
from tests.support.real_models import gemma_folder, gemma_gguf
from tests.support.sentencepiece_model import sentencepiece_of

FRANCE = "The capital of France is"
FRANCE_IDS = [2, 818, 5279, 529, 7001, 563]
HARD_TEXTS = [
    "Hello, world!",
    " leading and trailing  ",
    "a  b   c" + " " * 40 + "d",
    "\n\n\n\tif x:\r\n\t\treturn  1\n" + "\n" * 35,
    "In 2024, 12345 × 3.14 ≈ 38,783; ½ of ٣٤٥",
    "😀 👩‍👩‍👧 🇰🇷 \U000e0041",
    "온돌은 방바닥을 데우는 난방이다.",
    "𒀀𓀀 ꙮ \x00\x01 \u200b\ufeff",
    "<td>cell</td><b>bold</b><0x41>",
    "naïve ﬁ Å vs Å",
    "aaaaaaaaaaaaaaaaaaaaaaa ======== ........",
]
PIECES = [
    *("a", "B", " ", "  ", "\n", "1", "23", "é", "온", "😀", "'s", "'LL", "\t", ".", "--", "the"),
    *(" of", "٣", "½", "\u3000", "\r\n", "ing", "_", "\x00", "{", "中", "<td>", "</b>", "aaaa"),
    *("ababab", "====", "\U000e0041", "....", "\n\n", "       ", "<0x41>", "𒀀", "0000", "▁"),
]


@pytest.fixture(scope="module")
def source() -> GgufFile:
    return GgufFile(gemma_gguf())


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.from_file(str(gemma_folder() / "tokenizer.json"))


@pytest.fixture(scope="module")
def oracle(source: GgufFile) -> SentencePieceProcessor:
    return sentencepiece_of(source)


@pytest.fixture(scope="module")
def loaded() -> tuple[Any, Any]:
    """Model and tokenizer as plain mlx-lm loads them."""
    model, tokenizer = load_folder(str(gemma_folder()))
    return model, tokenizer


@pytest.fixture(scope="module")
def model(loaded: tuple[Any, Any]) -> Any:
    return loaded[0]


class TestTokenizer:
    def test_encodes_to_the_ids_of_the_vocabulary(
        self, source: GgufFile, tokenizer: Tokenizer
    ) -> None:
        tokens = source.get_list("tokenizer.ggml.tokens", str)
        words = ["<bos>", "The", "▁capital", "▁of", "▁France", "▁is"]
        assert tokenizer.encode(FRANCE).ids == [tokens.index(word) for word in words] == FRANCE_IDS

    @pytest.mark.parametrize("text", HARD_TEXTS)
    def test_hard_texts_come_back(
        self, tokenizer: Tokenizer, oracle: SentencePieceProcessor, text: str
    ) -> None:
        ids = tokenizer.encode(text, add_special_tokens=False).ids
        assert ids == oracle.encode(text)
        assert tokenizer.decode(ids) == text

    def test_random_texts_have_the_tokens_of_sentencepiece(
        self, tokenizer: Tokenizer, oracle: SentencePieceProcessor
    ) -> None:
        rng = random.Random(3)
        texts = ["".join(rng.choices(PIECES, k=rng.randint(0, 40))) for _ in range(3000)]
        encodings = tokenizer.encode_batch(texts, add_special_tokens=False)
        pairs = zip(texts, encodings, oracle.encode(texts), strict=True)
        assert [text for text, mine, theirs in pairs if mine.ids != theirs] == []

    def test_special_tokens_are_whole(self, tokenizer: Tokenizer) -> None:
        turn = "<start_of_turn>user\nhi<end_of_turn>\n"
        tokens = ["<start_of_turn>", "user", "\n", "hi", "<end_of_turn>", "\n"]
        encoding = tokenizer.encode(turn, add_special_tokens=False)
        assert encoding.tokens == tokens
        assert tokenizer.decode(encoding.ids) == "user\nhi\n"
        assert tokenizer.decode(encoding.ids, skip_special_tokens=False) == turn

    @pytest.mark.parametrize("text", HARD_TEXTS)
    def test_text_streams_and_offsets_cover_it(self, tokenizer: Tokenizer, text: str) -> None:
        codec = TextCodec(tokenizer)
        encoded = codec.encode(text)
        stream = TextStream(codec)
        assert "".join(map(stream.push, encoded.ids)) + stream.finish() == text
        ends = [end for _, end in encoded.offsets]
        assert ends == sorted(ends)
        assert (encoded.offsets[0][0], ends[-1]) == (0, len(text))

    def test_mlx_lm_reads_the_same_tokenizer(self, loaded: tuple[Any, Any]) -> None:
        _, wrapper = loaded
        assert wrapper.encode(FRANCE) == FRANCE_IDS
        assert wrapper.bos_token == "<bos>"
        assert wrapper.eos_token_ids == {1, 106}


class TestModel:
    def test_layers_are_five_windows_and_a_full_one(self, model: Any) -> None:
        caches = make_prompt_cache(model)
        kinds = [RotatingKVCache] * 5 + [KVCache]
        assert [type(cache) for cache in caches] == kinds * 3
        assert caches[0].max_size == 512
        assert (model.layers[0].self_attn.rope.base, model.layers[5].self_attn.rope.base) == (
            10_000.0,
            1_000_000.0,
        )

    def test_logits_are_those_of_a_reference_in_numpy(self, source: GgufFile, model: Any) -> None:
        @cache
        def weight(name: str) -> Floats:
            tensor = source.tensors[name]
            return dequantize(tensor.data, tensor.type).reshape(tensor.shape)

        reference = Gemma3Reference(
            weight, num_layers=18, num_heads=4, num_kv_heads=1, head_dim=256, layers_per_full=6
        )
        prompt = [*FRANCE_IDS, 3207, 7001]
        expected = reference.logits(prompt)
        actual = np.array(model(mx.array([prompt]), cache=make_prompt_cache(model))[0])
        assert actual.dtype == np.float32
        assert np.abs(expected).max() > 10
        assert np.abs(actual - expected).max() < 1e-3

    def test_answers_sensibly(self, tokenizer: Tokenizer, model: Any) -> None:
        capitals = "Germany: Berlin\nItaly: Rome\nFrance:"
        assert greedy(model, tokenizer, capitals, 5) == " Paris\nSpain: Madrid"
        assert greedy(model, tokenizer, f"{FRANCE} the city of", 2) == " Paris."
        assert greedy(model, tokenizer, "1, 2, 3, 4, 5,", 5) == " 6, 7"

    def test_paris_is_among_the_first_words_to_follow(
        self, tokenizer: Tokenizer, model: Any
    ) -> None:
        logits = model(mx.array([FRANCE_IDS]))[0, -1]
        first = mx.argsort(-logits)[:5].tolist()
        assert " Paris" in [tokenizer.decode([token]) for token in first]


def greedy(model: Any, tokenizer: Tokenizer, prompt: str, num_tokens: int) -> str:
    """The likeliest continuation."""
    caches = make_prompt_cache(model)
    ids: list[int] = []
    step = tokenizer.encode(prompt).ids
    for _ in range(num_tokens):
        step = [int(mx.argmax(model(mx.array([step]), cache=caches)[0, -1]).item())]
        ids += step
    return tokenizer.decode(ids)
