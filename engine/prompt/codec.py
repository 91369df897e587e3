"""Text to tokens with the place of each token in the text, and tokens back to text."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from tokenizers import Tokenizer

from engine.errors import EngineError


class InvalidText(EngineError, ValueError):
    """Text that UTF-8 cannot carry (a lone surrogate), so that no tokenizer can read it."""


@dataclass(frozen=True, slots=True)
class Encoded:
    """Tokens of a text: `offsets[i]` is the character range [start, end) of `ids[i]`.

    Tokens that share a character (the bytes of an emoji) share its range.
    """

    ids: tuple[int, ...]
    offsets: tuple[tuple[int, int], ...]

    def num_tokens_before(self, char: int) -> int:
        """Tokens that end by this character: a boundary inside a token falls to its start."""
        return bisect_right(self.offsets, char, key=lambda span: span[1])


class TextCodec:
    """A model's tokenizer. Takes it over: truncation and padding that its file asks for are off.

    All methods may be called from any thread.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        tokenizer.no_truncation()
        tokenizer.no_padding()
        self._tokenizer = tokenizer
        self._longest = max(map(len, tokenizer.get_vocab()), default=1)
        self._special_ids = frozenset(
            token_id
            for token_id, token in tokenizer.get_added_tokens_decoder().items()
            if token.special
        )

    @property
    def vocab_size(self) -> int:
        """Number of tokens, added ones included."""
        return self._tokenizer.get_vocab_size(with_added_tokens=True)

    @property
    def longest_token(self) -> int:
        """Characters of the longest token: no text has fewer tokens than its length by it."""
        return self._longest

    def encode(self, text: str) -> Encoded:
        """Tokens and offsets. Special tokens written in the text are recognised, none are added.

        Raises InvalidText.
        """
        _check_utf8(text)
        # Only the batch calls let other threads run meanwhile.
        (encoding,) = self._tokenizer.encode_batch([text], add_special_tokens=False)
        return Encoded(ids=tuple(encoding.ids), offsets=tuple(encoding.offsets))

    def encode_ids(self, text: str) -> tuple[int, ...]:
        """Tokens alone, by the rules of `encode`. Raises InvalidText."""
        _check_utf8(text)
        (encoding,) = self._tokenizer.encode_batch_fast([text], add_special_tokens=False)
        return tuple(encoding.ids)

    def decode(self, ids: Sequence[int]) -> str:
        """Text of the tokens, silent ones left out; bytes that are no UTF-8 become U+FFFD."""
        return self._tokenizer.decode(ids, skip_special_tokens=True)

    def is_silent(self, token_id: int) -> bool:
        """True for tokens that have no text: special tokens and ids beyond the vocabulary."""
        return token_id in self._special_ids or self._tokenizer.id_to_token(token_id) is None


def _check_utf8(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidText(
            f"The text has a lone surrogate (U+{ord(text[error.start]):04X}) at character"
            f" {error.start}; it is not valid Unicode."
        ) from None
