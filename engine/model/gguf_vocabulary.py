"""The vocabulary inside a GGUF file, whatever splits text into it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from engine.errors import ModelError
from engine.model.gguf_file import GgufFile


class TokenType(IntEnum):
    """What a token is for, in GGUF's numbers."""

    NORMAL = 1
    UNKNOWN = 2
    CONTROL = 3
    USER_DEFINED = 4
    BYTE = 6


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Tokens by id, with `types` (a `TokenType`, unless the file says something stranger)."""

    tokens: tuple[str, ...]
    types: tuple[int, ...]
    unk_id: int | None

    @property
    def ids(self) -> dict[str, int]:
        """Ids by token."""
        return {token: id_ for id_, token in enumerate(self.tokens)}

    @property
    def unk_token(self) -> str | None:
        return None if self.unk_id is None else self.tokens[self.unk_id]

    def of_type(self, type_: TokenType) -> list[str]:
        """The tokens of one type, by id."""
        pairs = zip(self.tokens, self.types, strict=True)
        return [token for token, own_type in pairs if own_type == type_]


def read_vocabulary(file: GgufFile) -> Vocabulary:
    """Raises ModelError when a token is there twice or the lists do not match."""
    tokens = file.get_list("tokenizer.ggml.tokens", str)
    if len(set(tokens)) != len(tokens):
        raise ModelError(f"{file.name} is broken: its vocabulary names a token twice.")
    types = file.get_list("tokenizer.ggml.token_type", int)
    if len(types) != len(tokens):
        raise ModelError(f"{file.name} is broken: {len(tokens)} tokens have {len(types)} types.")
    unk_id = read_token_id(file, "unknown_token_id", len(tokens))
    return Vocabulary(tuple(tokens), tuple(types), unk_id)


def read_token_id(file: GgufFile, key: str, num_tokens: int) -> int | None:
    """The id under tokenizer.ggml.`key`, if the file names one. Raises ModelError beyond the
    vocabulary.
    """
    full_key = f"tokenizer.ggml.{key}"
    return None if file.get(full_key) is None else file.get_int(full_key, high=num_tokens)
