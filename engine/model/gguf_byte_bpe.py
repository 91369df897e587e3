"""Byte-level BPE (GGUF's 'gpt2'): words of bytes, merged in the order of the file's list."""

from __future__ import annotations

from tokenizers import Regex, Tokenizer, decoders, pre_tokenizers, processors
from tokenizers.models import BPE

from engine.errors import ModelError
from engine.model.gguf_file import GgufFile
from engine.model.gguf_vocabulary import Vocabulary

KIND = "gpt2"

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


def make_byte_bpe(file: GgufFile, vocabulary: Vocabulary) -> Tokenizer:
    """The tokenizer without special tokens.

    Raises ModelError for an unknown word splitting, or merges that are not of the vocabulary.
    """
    tokenizer = Tokenizer(_bpe(file, vocabulary))
    tokenizer.pre_tokenizer = _pre_tokenizer(file)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    return tokenizer


def _bpe(file: GgufFile, vocabulary: Vocabulary) -> BPE:
    ids = vocabulary.ids
    merges = []
    for merge in file.get_list("tokenizer.ggml.merges", str):
        left, space, right = merge.partition(" ")
        if not space or not {left, right, left + right} <= ids.keys():
            raise ModelError(
                f"{file.name} is broken: the merge {merge[:60]!r} is not of its vocabulary."
            )
        merges.append((left, right))
    return BPE(vocab=ids, merges=merges, unk_token=vocabulary.unk_token)


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
