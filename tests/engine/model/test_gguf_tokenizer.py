"""The imported tokenizer against transformers' own reading of the same metadata."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from mlx_lm.tokenizer_utils import load as load_tokenizer
from tokenizers import Tokenizer, pre_tokenizers
from transformers.integrations.gguf.gguf_tokenizer_mapping import convert_gguf_tokenizer

from engine.model.gguf import WeightForm, import_gguf
from engine.model.gguf_file import GgufFile
from engine.model.gguf_tokenizer import read_tokenizer
from tests.support import tiny_gguf
from tests.support.tiny_gguf import TinyGguf

SENTENCES = [
    "Hello, world!",
    "  two  spaces\n\nnew\ttab   ",
    "In 2024, 12345 × 3.14 ≈ 38,783; ½ of ٣٤٥",
    "😀 👩‍👩‍👧 🇰🇷",
    "온돌은 방바닥을 데우는 난방이다.",
    "don't we'll I'D x's",
    "<|im_start|>user\nhi<|im_end|>\n",
    "\u200b \x00 a\r\nb",
]
PIECES = [
    *("a", "B", " ", "  ", "\n", "1", "23", "é", "온", "😀", "'s", "'LL", "<|im_end|>", "\t", "."),
    *("--", "the", " of", "٣", "½", "\u3000", "\r\n", "ing", "_", "\x00", "{", "中"),
]


class SplitOtherwise(GgufFile):
    """The starter's file with another way to split words."""

    def __init__(self, file: GgufFile, pre: str) -> None:
        self.name, self._fields, self._pre = file.name, file._fields, pre

    def get(self, key: str, default: object = None) -> object:
        return self._pre if key == "tokenizer.ggml.pre" else super().get(key, default)

    def require(self, key: str) -> object:
        return self.get(key)


@pytest.fixture(scope="module")
def starter_file(starter_gguf: Path) -> GgufFile:
    return GgufFile(starter_gguf)


def reference(file: GgufFile) -> Tokenizer:
    """transformers knows the word splitting of Llama 3 and GPT-2, and takes "smollm" for the
    latter.
    """
    names = {
        "tokenizer_type": "model",
        "pre_tokenizer_type": "pre",
        "tokens": "tokens",
        "token_type": "token_type",
        "merges": "merges",
        "unk_token_id": "unknown_token_id",
    }
    metadata = {name: file.get(f"tokenizer.ggml.{key}") for name, key in names.items()}
    tokenizer, _ = convert_gguf_tokenizer("llama", metadata)
    if metadata["pre_tokenizer_type"] == "smollm":
        digits = pre_tokenizers.Digits(individual_digits=True)
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence([digits, tokenizer.pre_tokenizer])
    assert isinstance(tokenizer, Tokenizer)
    return tokenizer


@pytest.mark.parametrize("pre", ["smollm", "gpt-2", "llama-bpe"])
def test_same_ids_as_transformers(starter_file: GgufFile, pre: str) -> None:
    file = SplitOtherwise(starter_file, pre)
    mine, theirs = read_tokenizer(file, 8192).tokenizer, reference(file)
    rng = random.Random(3)
    texts = [*SENTENCES]
    texts += ["".join(rng.choices(PIECES, k=rng.randint(0, 30))) for _ in range(500)]
    different = [text for text in texts if mine.encode(text).ids != theirs.encode(text).ids]
    assert different == []


def test_each_way_to_split_words_is_its_own(starter_file: GgufFile) -> None:
    tokens = {}
    for pre in ("smollm", "gpt-2", "llama-bpe"):
        tokenizer = read_tokenizer(SplitOtherwise(starter_file, pre), 8192).tokenizer
        tokens[pre] = tokenizer.encode("a  12\n\n!").tokens
    assert tokens == {
        "smollm": ["a", "ĠĠ", "1", "2", "Ċ", "Ċ", "!"],
        "gpt-2": ["a", "Ġ", "Ġ", "1", "2", "Ċ", "Ċ", "!"],
        "llama-bpe": ["a", "Ġ", "Ġ", "1", "2", "ĊĊ", "!"],
    }


def test_starter_round_trips_through_mlx_lm(starter_model: Path) -> None:
    tokenizer = load_tokenizer(starter_model)
    for text in SENTENCES:
        assert tokenizer.decode(tokenizer.encode(text)) == text


def test_starter_chat_prompt(starter_model: Path) -> None:
    tokenizer = load_tokenizer(starter_model)
    prompt = tokenizer.apply_chat_template(
        [{"role": "user", "content": "What is the capital of France?"}], add_generation_prompt=True
    )
    assert len(prompt) == 37
    assert tokenizer.decode(prompt).endswith(
        "<|im_start|>user\nWhat is the capital of France?<|im_end|>\n<|im_start|>assistant\n"
    )
    assert prompt.count(1) == 3


def test_special_and_user_defined_tokens_stay_whole(tmp_path: Path) -> None:
    tokenizer = read_tokenizer(GgufFile(TinyGguf().write(tmp_path / "tiny.gguf")), 128).tokenizer
    ids = tokenizer.encode("<|im_end|><tool_call>hell").ids
    assert [tokenizer.id_to_token(id_) for id_ in ids] == ["<|im_end|>", "<tool_call>", "hell"]
    assert tokenizer.decode(ids) == "<tool_call>hell"


def test_beginning_of_sequence_is_added_where_the_file_asks_for_it(tmp_path: Path) -> None:
    keys = {"tokenizer.ggml.add_bos_token": True}
    source = TinyGguf(keys=keys).write(tmp_path / "tiny.gguf")
    folder = import_gguf(source, tmp_path / "Tiny", WeightForm.FLOAT32)
    tokenizer = load_tokenizer(folder)
    assert tokenizer.encode("he")[0] == tiny_gguf.TOKENS.index("<|im_start|>")
    assert tokenizer.encode("he", add_special_tokens=False) == [tiny_gguf.TOKENS.index("he")]
