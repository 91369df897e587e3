"""The tokenizer inside a GGUF file, as the files that a model folder carries."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tokenizers import AddedToken, Tokenizer, processors

from engine.errors import ModelError
from engine.model import gguf_byte_bpe, gguf_sentencepiece
from engine.model.gguf_byte_bpe import make_byte_bpe
from engine.model.gguf_file import GgufFile
from engine.model.gguf_sentencepiece import make_sentencepiece
from engine.model.gguf_vocabulary import TokenType, Vocabulary, read_token_id, read_vocabulary

_MAKERS: dict[str, Callable[[GgufFile, Vocabulary], Tokenizer]] = {
    gguf_byte_bpe.KIND: make_byte_bpe,
    gguf_sentencepiece.KIND: make_sentencepiece,
}
# SentencePiece files from before the key existed want the token.
_ADDS_BOS_BY_DEFAULT = frozenset({gguf_sentencepiece.KIND})

# The spellings that end a turn in the chat formats of the architectures. A file names one id as its
# end of text; a chat model may also stop with one of these.
_END_TOKENS = (
    "<|im_end|>",
    "<|endoftext|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|end_of_text|>",
    "<end_of_turn>",
)


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
            # In one line: a large vocabulary takes less than half of the room that way.
            "tokenizer.json": self.tokenizer.to_str(pretty=False),
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
    """Build the tokenizer that the file describes.

    Raises ModelError for an unknown kind of tokenizer or variant of one, or inconsistent lists.
    """
    kind = file.require("tokenizer.ggml.model")
    if kind not in list(_MAKERS):  # which a file's list or number can be looked for in
        raise ModelError(
            f"{file.name} has a tokenizer of the kind {kind!r}; only byte-level BPE ('gpt2') and "
            "SentencePiece's BPE ('llama') are supported."
        )
    vocabulary = read_vocabulary(file)
    num_tokens = len(vocabulary.tokens)
    tokenizer = _MAKERS[kind](file, vocabulary)
    _add_whole_tokens(tokenizer, vocabulary)
    bos_id = read_token_id(file, "bos_token_id", num_tokens)
    add_bos = bool(file.get("tokenizer.ggml.add_bos_token", kind in _ADDS_BOS_BY_DEFAULT))
    if add_bos and bos_id is not None:
        tokenizer.post_processor = _bos_first(vocabulary.tokens[bos_id], bos_id)
    template = file.get("tokenizer.chat_template")
    if template is not None and not isinstance(template, str):
        raise ModelError(f"{file.name} is broken: its chat template is not text.")
    return GgufTokenizer(
        tokenizer=tokenizer,
        tokens=vocabulary.tokens,
        bos_id=bos_id,
        eos_ids=_eos_ids(file, vocabulary),
        unk_id=vocabulary.unk_id,
        pad_id=read_token_id(file, "padding_token_id", num_tokens),
        add_bos=add_bos and bos_id is not None,
        chat_template=template,
        max_tokens=max_tokens,
    )


def _add_whole_tokens(tokenizer: Tokenizer, vocabulary: Vocabulary) -> None:
    """Tokens that are found in a text before anything is split."""
    tokenizer.add_special_tokens(
        [
            AddedToken(token, special=True, normalized=False)
            for token in vocabulary.of_type(TokenType.CONTROL)
        ]
    )
    # Runs of spaces are found in what a normalizer makes of them; without one it is the same.
    tokenizer.add_tokens(
        [
            AddedToken(token, special=False, normalized=" " in token)
            for token in vocabulary.of_type(TokenType.USER_DEFINED)
        ]
    )


def _bos_first(token: str, id_: int) -> processors.TemplateProcessing:
    # By a name of its own: the token's spelling may mean something in a template.
    bos = {"id": "bos", "ids": [id_], "tokens": [token]}
    return processors.TemplateProcessing(
        single=["bos", "$A"], pair=["bos", "$A", "bos", "$B"], special_tokens=[bos]
    )


def _eos_ids(file: GgufFile, vocabulary: Vocabulary) -> tuple[int, ...]:
    named = [
        read_token_id(file, key, len(vocabulary.tokens))
        for key in ("eos_token_id", "eot_token_id", "eom_token_id")
    ]
    ids = [id_ for id_ in named if id_ is not None]
    control = set(vocabulary.of_type(TokenType.CONTROL))
    ids += [vocabulary.tokens.index(token) for token in _END_TOKENS if token in control]
    if not ids:
        raise ModelError(f"{file.name} names no token that ends an answer.")
    return tuple(dict.fromkeys(ids))
