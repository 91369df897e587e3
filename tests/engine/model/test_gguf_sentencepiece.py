"""The imported SentencePiece tokenizer against SentencePiece itself."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer

from engine.errors import ModelError
from engine.model.gguf_file import GgufFile
from engine.model.gguf_tokenizer import GgufTokenizer, read_tokenizer
from engine.prompt.codec import TextCodec
from tests.support.sentencepiece_model import sentencepiece_of
from tests.support.tiny_gemma3 import TOKENS, tiny_gemma3

PIECES = ["a", "aa", "aaa", "he", "hello", "l", "o", "t", "the", " ", "  ", "\n", "é", "온", "🙂"]
PIECES += ["<td>", "<t", "<", ">", "▁", "z", "<0x41>", "h", "e", "\x00", "     ", "\n\n\n"]


def read(path: Path, keys: dict[str, Any] | None = None) -> GgufTokenizer:
    return read_tokenizer(GgufFile(tiny_gemma3(keys).write(path / "tiny.gguf")), 128)


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    return read(tmp_path_factory.mktemp("gguf")).tokenizer


def test_random_texts_have_the_tokens_of_sentencepiece(tmp_path: Path) -> None:
    file = GgufFile(tiny_gemma3().write(tmp_path / "tiny.gguf"))
    mine, theirs = read_tokenizer(file, 128).tokenizer, sentencepiece_of(file)
    rng = random.Random(5)
    for _ in range(2000):
        text = "".join(rng.choices(PIECES, k=rng.randint(0, 25)))
        assert mine.encode(text, add_special_tokens=False).ids == theirs.encode(text), repr(text)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("hello the", ["hello", "▁the"]),
        (" hello", ["▁hello"]),
        ("a  hello", ["a", "  ", "hello"]),
        ("a" + " " * 5 + "t", ["a", "    ", "▁t"]),
        ("t\n\n\nt", ["t", "\n\n", "\n", "t"]),
        ("aaaaa", ["aa", "aaa"]),
        ("<td>t<", ["<td>", "t", "<"]),
        ("z", ["<0x7A>"]),
        ("é🙂", ["é", "<0xF0>", "<0x9F>", "<0x99>", "<0x82>"]),
        ("<end_of_turn>\n", ["<end_of_turn>", "\n"]),
        ("<0x41>", ["<", "<0x30>", "<0x78>", "<0x34>", "<0x31>", ">"]),
        ("", []),
    ],
)
def test_tokens(tokenizer: Tokenizer, text: str, tokens: list[str]) -> None:
    ids = tokenizer.encode(text, add_special_tokens=False).ids
    assert ids == [TOKENS.index(token) for token in tokens]
    assert tokenizer.decode(ids, skip_special_tokens=False) == text


def test_offsets_share_the_range_of_a_character_in_bytes(tokenizer: Tokenizer) -> None:
    encoded = TextCodec(tokenizer).encode("a  🙂he")
    assert encoded.offsets == ((0, 1), (1, 3), (3, 4), (3, 4), (3, 4), (3, 4), (4, 6))


def test_the_first_token_is_the_beginning_where_the_file_wants_it(tmp_path: Path) -> None:
    key = "tokenizer.ggml.add_bos_token"
    firsts = {
        wanted: read(tmp_path, {key: wanted}).tokenizer.encode("he").tokens[0]
        for wanted in (True, False, None)
    }
    assert firsts == {True: "<bos>", False: "he", None: "<bos>"}


def test_the_beginning_may_be_spelled_in_any_way(tmp_path: Path) -> None:
    tokens = ["b: $A" if token == "<bos>" else token for token in TOKENS]
    tokenizer = read(tmp_path, {"tokenizer.ggml.tokens": tokens}).tokenizer
    assert tokenizer.encode("he").ids == [2, TOKENS.index("he")]
    again = Tokenizer.from_str(tokenizer.to_str())
    assert again.encode("he", "a").ids == [2, TOKENS.index("he"), 2, TOKENS.index("a")]


def test_a_turn_ends_with_either_end(tmp_path: Path) -> None:
    assert read(tmp_path).eos_ids == (1, TOKENS.index("<end_of_turn>"))


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"tokenizer.ggml.add_space_prefix": True}, "puts a space before the text"),
        ({"tokenizer.ggml.add_space_prefix": None}, "puts a space before the text"),
        ({"tokenizer.ggml.scores": None}, "lacks the key tokenizer.ggml.scores"),
        ({"tokenizer.ggml.scores": [0.0, 1.0]}, f"{len(TOKENS)} tokens have 2 scores"),
        ({"tokenizer.ggml.token_type": [1] * len(TOKENS)}, "without the byte <0x00>"),
        ({"tokenizer.ggml.unknown_token_id": 4711}, "unknown_token_id is 4711"),
        ({"tokenizer.ggml.tokens": ["a"] * len(TOKENS)}, "names a token twice"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_refused_by_name(tmp_path: Path, keys: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelError) as caught:
        read(tmp_path, keys)
    assert message in str(caught.value)
