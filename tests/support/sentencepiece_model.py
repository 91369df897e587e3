"""SentencePiece's own tokenizer over the vocabulary of a GGUF file, to compare with."""

from __future__ import annotations

from sentencepiece import SentencePieceProcessor
from sentencepiece.sentencepiece_model_pb2 import ModelProto

from engine.model.gguf_file import GgufFile

_BPE = 2
_USER_DEFINED = 4


def sentencepiece_of(file: GgufFile) -> SentencePieceProcessor:
    """A processor with the settings of Gemma: no change of the text but for spaces, none added."""
    model = ModelProto()
    lists = [file.get(f"tokenizer.ggml.{name}") for name in ("tokens", "token_type", "scores")]
    for token, type_, score in zip(*lists, strict=True):
        # GGUF writes user-defined runs of spaces as they are in a text.
        piece = token.replace(" ", "▁") if type_ == _USER_DEFINED else token
        model.pieces.add(piece=piece, type=type_, score=score)
    unk_id = file.get("tokenizer.ggml.unknown_token_id")
    model.pieces[unk_id].type = ModelProto.SentencePiece.UNKNOWN
    trainer, normalizer = model.trainer_spec, model.normalizer_spec
    trainer.model_type, trainer.byte_fallback = _BPE, True
    trainer.vocab_size, trainer.unk_id = len(model.pieces), unk_id
    normalizer.name = "identity"
    normalizer.add_dummy_prefix = normalizer.remove_extra_whitespaces = False
    return SentencePieceProcessor(model_proto=model.SerializeToString())
