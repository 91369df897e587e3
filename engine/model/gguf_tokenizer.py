"""The tokenizer inside a GGUF file, as the files that a model folder carries."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from tokenizers import AddedToken, Regex, Tokenizer, decoders, pre_tokenizers, processors
from tokenizers.models import BPE

from engine.errors import ModelError
from engine.model.gguf_file import GgufFile

# The spellings that end a turn in the chat formats of Llama-architecture models. A file names one
# id as its end of text; a chat model may also stop with one of these.
_END_TOKENS = ("<|im_end|>", "<|endoftext|>", "<|eot_id|>", "<|eom_id|>", "<|end_of_text|>")

# Llama 3's words: as GPT-2's, but at most three digits in a word, contractions in any case, a word
# may begin with any one punctuation character, and a newline ends a run of spaces.
_LLAMA3_WORDS = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
    r"|[^\r\n\p{L}\p{N}]?\p{L}+"
    r"|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+"
    r"|\s+(?!\S)"
    r"|\s+"
)


class _TokenType(IntEnum):
    NORMAL = 1
    UNKNOWN = 2
    CONTROL = 3
    USER_DEFINED = 4


@dataclass(frozen=True, slots=True)
class GgufTokenizer:
    """A tokenizer and what a chat needs to know of it. `eos_ids` has at least one id."""

    tokenizer: Tokenizer
    tokens: tuple[str, ...]
    bos_id: int | None
    eos_ids: tuple[int, ...]
    unk_id: int | None
    pad_id: int | None
    add_bos: bool
    chat_template: str | None
    max_tokens: int

    def files(self) -> dict[str, str]:
        """The text of each tokenizer file of a model folder, by file name."""
        return {
            "tokenizer.json": self.tokenizer.to_str(pretty=True),
            "tokenizer_config.json": json.dumps(self._config(), indent=2, ensure_ascii=False),
        }

    def _config(self) -> dict[str, Any]:
        config: dict[str, Any] = {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "model_max_length": self.max_tokens,
            "clean_up_tokenization_spaces": False,
            "add_bos_token": self.add_bos,
        }
        special = {
            "bos_token": self.bos_id,
            "eos_token": self.eos_ids[0],
            "unk_token": self.unk_id,
            "pad_token": self.pad_id,
        }
        config |= {name: self.tokens[id_] for name, id_ in special.items() if id_ is not None}
        if self.chat_template is not None:
            config["chat_template"] = self.chat_template
        return config


def read_tokenizer(file: GgufFile, max_tokens: int) -> GgufTokenizer:
    """Build the byte-level BPE tokenizer that the file describes.

    Raises ModelError for another kind of tokenizer, an unknown word splitting, or inconsistent
    lists.
    """
    model = file.require("tokenizer.ggml.model")
    if model != "gpt2":
        raise ModelError(
            f"{file.name} has a tokenizer of the kind {model!r}; only byte-level BPE ('gpt2') is "
            "supported."
        )
    tokens = file.get_list("tokenizer.ggml.tokens", str)
    bos_id = _token_id(file, "bos_token_id", len(tokens))
    unk_id = _token_id(file, "unknown_token_id", len(tokens))
    tokenizer = Tokenizer(_bpe(file, tokens, unk_id))
    tokenizer.pre_tokenizer = _pre_tokenizer(file)
    tokenizer.decoder = decoders.ByteLevel()
    _add_special_tokens(file, tokenizer, tokens)
    add_bos = bool(file.get("tokenizer.ggml.add_bos_token", False)) and bos_id is not None
    tokenizer.post_processor = (
        processors.TemplateProcessing(
            single=f"{tokens[bos_id]} $A",
            pair=f"{tokens[bos_id]} $A {tokens[bos_id]} $B",
            special_tokens=[(tokens[bos_id], bos_id)],
        )
        if add_bos and bos_id is not None
        else processors.ByteLevel(trim_offsets=False)
    )
    template = file.get("tokenizer.chat_template")
    if template is not None and not isinstance(template, str):
        raise ModelError(f"{file.name} is broken: its chat template is not text.")
    return GgufTokenizer(
        tokenizer=tokenizer,
        tokens=tuple(tokens),
        bos_id=bos_id,
        eos_ids=_eos_ids(file, tokenizer, tokens),
        unk_id=unk_id,
        pad_id=_token_id(file, "padding_token_id", len(tokens)),
        add_bos=add_bos,
        chat_template=template,
        max_tokens=max_tokens,
    )


def _bpe(file: GgufFile, tokens: list[str], unk_id: int | None) -> BPE:
    vocab = {token: id_ for id_, token in enumerate(tokens)}
    if len(vocab) != len(tokens):
        raise ModelError(f"{file.name} is broken: its vocabulary names a token twice.")
    merges = []
    for merge in file.get_list("tokenizer.ggml.merges", str):
        left, space, right = merge.partition(" ")
        if not space or not {left, right, left + right} <= vocab.keys():
            raise ModelError(
                f"{file.name} is broken: the merge {merge[:60]!r} is not of its vocabulary."
            )
        merges.append((left, right))
    return BPE(vocab=vocab, merges=merges, unk_token=None if unk_id is None else tokens[unk_id])


def _pre_tokenizer(file: GgufFile) -> pre_tokenizers.PreTokenizer:
    """How text is cut into words before merging. A wrong way yields other tokens: no guess."""
    name = file.require("tokenizer.ggml.pre")
    bytes_of_gpt2_words = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    if name == "gpt-2":
        return bytes_of_gpt2_words
    if name == "smollm":
        digits = pre_tokenizers.Digits(individual_digits=True)
        return pre_tokenizers.Sequence([digits, bytes_of_gpt2_words])
    if name in ("llama-bpe", "llama3"):
        words = pre_tokenizers.Split(Regex(_LLAMA3_WORDS), behavior="isolated")
        plain_bytes = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
        return pre_tokenizers.Sequence([words, plain_bytes])
    raise ModelError(f"{file.name} splits words in the way {name!r}, which is not supported.")


def _add_special_tokens(file: GgufFile, tokenizer: Tokenizer, tokens: list[str]) -> None:
    types = file.get_list("tokenizer.ggml.token_type", int)
    if len(types) != len(tokens):
        raise ModelError(f"{file.name} is broken: {len(tokens)} tokens have {len(types)} types.")
    for token, type_ in zip(tokens, types, strict=True):
        if type_ == _TokenType.CONTROL:
            tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False)])
        elif type_ == _TokenType.USER_DEFINED:
            tokenizer.add_tokens([AddedToken(token, special=False, normalized=False)])


def _eos_ids(file: GgufFile, tokenizer: Tokenizer, tokens: list[str]) -> tuple[int, ...]:
    named = [
        _token_id(file, key, len(tokens))
        for key in ("eos_token_id", "eot_token_id", "eom_token_id")
    ]
    special = {
        token.content: id_
        for id_, token in tokenizer.get_added_tokens_decoder().items()
        if token.special
    }
    ids = [id_ for id_ in named if id_ is not None]
    ids += [special[token] for token in _END_TOKENS if token in special]
    if not ids:
        raise ModelError(f"{file.name} names no token that ends an answer.")
    return tuple(dict.fromkeys(ids))


def _token_id(file: GgufFile, key: str, num_tokens: int) -> int | None:
    full_key = f"tokenizer.ggml.{key}"
    return None if file.get(full_key) is None else file.get_int(full_key, high=num_tokens)
