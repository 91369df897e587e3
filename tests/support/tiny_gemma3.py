"""A Gemma 3 of a few hundred kilobytes in a GGUF file, with a SentencePiece vocabulary."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType, TokenType

from tests.support.tiny_gguf import TinyGguf

LAYERS, HIDDEN, INNER, HEADS, KV_HEADS, HEAD_DIM, WINDOW = 6, 64, 256, 4, 2, 32, 16
CONTROL = ("<pad>", "<eos>", "<bos>", "<unk>", "<start_of_turn>", "<end_of_turn>")
USER_DEFINED = ("\n", "\n\n", "  ", "   ", "    ", "<td>")
BYTES = tuple(f"<0x{byte:02X}>" for byte in range(256))
# The best score first, as in the real vocabulary; single characters come last.
WORDS = ("▁t", "he", "▁the", "ll", "aa", "aaa", "hell", "aaaa", "hello", "▁hello", "▁a", "<t", "t>")
CHARACTERS = ("▁", *"abehlot<>", "é", "온")
TOKENS = (*CONTROL, *USER_DEFINED, *BYTES, *WORDS, *CHARACTERS)

K_TYPES = {
    "blk.0.ffn_down.weight": GGMLQuantizationType.Q2_K,
    "blk.1.ffn_down.weight": GGMLQuantizationType.Q3_K,
    "blk.2.ffn_down.weight": GGMLQuantizationType.Q4_K,
    "blk.3.ffn_down.weight": GGMLQuantizationType.Q5_K,
    "blk.4.ffn_down.weight": GGMLQuantizationType.Q6_K,
}
# Where a block of 256 weights has its float16 scales.
_SCALE_BYTES = {
    GGMLQuantizationType.Q2_K: slice(80, 84),
    GGMLQuantizationType.Q3_K: slice(108, 110),
    GGMLQuantizationType.Q4_K: slice(0, 4),
    GGMLQuantizationType.Q5_K: slice(0, 4),
    GGMLQuantizationType.Q6_K: slice(208, 210),
}


def tiny_gemma3(keys: Mapping[str, Any] | None = None, *, k_quants: bool = False) -> TinyGguf:
    """The model with `keys` changed; with `k_quants` some of its weights in every K type."""
    tiny = TinyGguf(
        architecture="gemma3",
        default_keys=_default_keys,
        keys=dict(keys or {}),
        weights=_random_weights(),
    )
    if k_quants:
        tiny.types = dict(K_TYPES)
        tiny.blocks = {name: _random_blocks(type_) for name, type_ in K_TYPES.items()}
    return tiny


def _random_weights() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(4)
    return {
        # Norms are about 1, as the file has its 1 added.
        name: rng.normal(loc=float("norm" in name), scale=0.2, size=shape).astype(np.float32)
        for name, shape in _shapes().items()
    }


def _shapes() -> dict[str, tuple[int, ...]]:
    shapes: dict[str, tuple[int, ...]] = {
        "token_embd.weight": (len(TOKENS), HIDDEN),
        "output_norm.weight": (HIDDEN,),
    }
    for layer in range(LAYERS):
        shapes |= {
            f"blk.{layer}.attn_norm.weight": (HIDDEN,),
            f"blk.{layer}.attn_q.weight": (HEADS * HEAD_DIM, HIDDEN),
            f"blk.{layer}.attn_k.weight": (KV_HEADS * HEAD_DIM, HIDDEN),
            f"blk.{layer}.attn_v.weight": (KV_HEADS * HEAD_DIM, HIDDEN),
            f"blk.{layer}.attn_output.weight": (HIDDEN, HEADS * HEAD_DIM),
            f"blk.{layer}.attn_q_norm.weight": (HEAD_DIM,),
            f"blk.{layer}.attn_k_norm.weight": (HEAD_DIM,),
            f"blk.{layer}.post_attention_norm.weight": (HIDDEN,),
            f"blk.{layer}.ffn_norm.weight": (HIDDEN,),
            f"blk.{layer}.ffn_gate.weight": (INNER, HIDDEN),
            f"blk.{layer}.ffn_up.weight": (INNER, HIDDEN),
            f"blk.{layer}.ffn_down.weight": (HIDDEN, INNER),
            f"blk.{layer}.post_ffw_norm.weight": (HIDDEN,),
        }
    return shapes


def _random_blocks(type_: GGMLQuantizationType) -> np.ndarray:
    """Bytes of a (HIDDEN, INNER) tensor: any codes, and small scales."""
    rng = np.random.default_rng(int(type_))
    block_items, block_bytes = GGML_QUANT_SIZES[type_]
    blocks = rng.integers(256, size=(HIDDEN, INNER // block_items, block_bytes), dtype=np.uint8)
    place = _SCALE_BYTES[type_]
    num_scales = (place.stop - place.start) // 2
    scales = rng.uniform(1e-4, 2e-3, size=(*blocks.shape[:2], num_scales)).astype(np.float16)
    blocks[..., place] = scales.view(np.uint8)
    return blocks.reshape(HIDDEN, -1)


def _default_keys() -> dict[str, Any]:
    types = (
        [TokenType.CONTROL] * len(CONTROL)
        + [TokenType.USER_DEFINED] * len(USER_DEFINED)
        + [TokenType.BYTE] * len(BYTES)
        + [TokenType.NORMAL] * (len(WORDS) + len(CHARACTERS))
    )
    silent = len(CONTROL) + len(USER_DEFINED) + len(BYTES)
    scores = [-1000.0] * silent + [-float(rank) for rank in range(len(TOKENS) - silent)]
    return {
        "gemma3.block_count": LAYERS,
        "gemma3.context_length": 128,
        "gemma3.embedding_length": HIDDEN,
        "gemma3.feed_forward_length": INNER,
        "gemma3.attention.head_count": HEADS,
        "gemma3.attention.head_count_kv": KV_HEADS,
        "gemma3.attention.key_length": HEAD_DIM,
        "gemma3.attention.value_length": HEAD_DIM,
        "gemma3.attention.layer_norm_rms_epsilon": 1e-6,
        "gemma3.attention.sliding_window": WINDOW,
        "gemma3.rope.freq_base": 1_000_000.0,
        "tokenizer.ggml.model": "llama",
        "tokenizer.ggml.pre": "default",
        "tokenizer.ggml.tokens": list(TOKENS),
        "tokenizer.ggml.scores": scores,
        "tokenizer.ggml.token_type": [int(type_) for type_ in types],
        "tokenizer.ggml.bos_token_id": 2,
        "tokenizer.ggml.eos_token_id": 1,
        "tokenizer.ggml.unknown_token_id": 3,
        "tokenizer.ggml.padding_token_id": 0,
        "tokenizer.ggml.add_bos_token": True,
        "tokenizer.ggml.add_space_prefix": False,
    }
