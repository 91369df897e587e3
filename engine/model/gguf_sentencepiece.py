"""SentencePiece's BPE (GGUF's 'llama'): characters, of which the pair of the best score is merged.

The `tokenizers` package wants merges in order instead of scores: every way to cut a token in two
other ones, the tokens in the order of their scores. Characters outside of the vocabulary become
their UTF-8 bytes.
"""

from __future__ import annotations

from tokenizers import Tokenizer, decoders, normalizers
from tokenizers.models import BPE

from engine.errors import ModelError
from engine.model.gguf_file import GgufFile
from engine.model.gguf_vocabulary import TokenType, Vocabulary

KIND = "llama"

_SPACE = "\N{LOWER ONE EIGHTH BLOCK}"
_BYTES = frozenset(f"<0x{byte:02X}>" for byte in range(256))


def make_sentencepiece(file: GgufFile, vocabulary: Vocabulary) -> Tokenizer:
    """The tokenizer without special tokens.

    Raises ModelError for a vocabulary without bytes, scores that do not match it, or a space put
    before the text.
    """
    # Where that space goes when special tokens stand in the text, files do not say.
    if file.get("tokenizer.ggml.add_space_prefix", True):
        raise ModelError(
            f"{file.name} has a tokenizer that puts a space before the text, which is not "
            "supported."
        )
    if missing := _BYTES - set(vocabulary.of_type(TokenType.BYTE)):
        raise ModelError(f"{file.name} has a tokenizer without the byte {min(missing)}.")
    bpe = BPE(
        vocab=vocabulary.ids,
        merges=_merges(vocabulary, _scores(file, vocabulary)),
        unk_token=vocabulary.unk_token,
        byte_fallback=True,
        fuse_unk=True,
    )
    tokenizer = Tokenizer(bpe)
    tokenizer.normalizer = normalizers.Replace(" ", _SPACE)
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace(_SPACE, " "), decoders.ByteFallback(), decoders.Fuse()]
    )
    return tokenizer


def _scores(file: GgufFile, vocabulary: Vocabulary) -> list[float]:
    scores = file.get_list("tokenizer.ggml.scores", float)
    if len(scores) != len(vocabulary.tokens):
        raise ModelError(
            f"{file.name} is broken: {len(vocabulary.tokens)} tokens have {len(scores)} scores."
        )
    return scores


def _merges(vocabulary: Vocabulary, scores: list[float]) -> list[tuple[str, str]]:
    """Pairs of tokens, the first to merge first.

    Only ordinary tokens are made of others and part of others: the rest stands for itself.
    """
    ordinary = {
        token: score
        for token, type_, score in zip(vocabulary.tokens, vocabulary.types, scores, strict=True)
        if type_ == TokenType.NORMAL
    }
    return [
        (token[:cut], token[cut:])
        for token in sorted(ordinary, key=ordinary.__getitem__, reverse=True)
        for cut in range(1, len(token))
        if token[:cut] in ordinary and token[cut:] in ordinary
    ]
