"""Models of a few kilobytes in GGUF files, written by the `gguf` package's own writer. The one here
is a Llama; tiny_gemma3.py has another.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from gguf import GGMLQuantizationType, GGUFWriter, TokenType, quantize
from tokenizers import pre_tokenizers

LAYERS, HIDDEN, INNER, HEADS, KV_HEADS = 2, 64, 96, 4, 2
HEAD_DIM = HIDDEN // HEADS
CONTROL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
USER_DEFINED = ("<tool_call>",)
MERGES = ("h e", "l l", "he ll", "Ġ w")
ALPHABET = tuple(sorted(pre_tokenizers.ByteLevel.alphabet()))
TOKENS = (*CONTROL, *USER_DEFINED, *ALPHABET, *(merge.replace(" ", "") for merge in MERGES))
CHAT_TEMPLATE = "{% for message in messages %}{{ message['content'] }}{% endfor %}"


def tensor_shapes() -> Mapping[str, tuple[int, ...]]:
    shapes: dict[str, tuple[int, ...]] = {
        "token_embd.weight": (len(TOKENS), HIDDEN),
        "output_norm.weight": (HIDDEN,),
    }
    for layer in range(LAYERS):
        shapes |= {
            f"blk.{layer}.attn_norm.weight": (HIDDEN,),
            f"blk.{layer}.attn_q.weight": (HIDDEN, HIDDEN),
            f"blk.{layer}.attn_k.weight": (KV_HEADS * HEAD_DIM, HIDDEN),
            f"blk.{layer}.attn_v.weight": (KV_HEADS * HEAD_DIM, HIDDEN),
            f"blk.{layer}.attn_output.weight": (HIDDEN, HIDDEN),
            f"blk.{layer}.ffn_norm.weight": (HIDDEN,),
            f"blk.{layer}.ffn_gate.weight": (INNER, HIDDEN),
            f"blk.{layer}.ffn_up.weight": (INNER, HIDDEN),
            f"blk.{layer}.ffn_down.weight": (HIDDEN, INNER),
        }
    return shapes


def random_weights(seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {
        name: rng.normal(scale=0.3, size=shape).astype(np.float32)
        for name, shape in tensor_shapes().items()
    }


def default_keys() -> dict[str, Any]:
    types = [TokenType.CONTROL] * len(CONTROL) + [TokenType.USER_DEFINED] * len(USER_DEFINED)
    types += [TokenType.NORMAL] * (len(TOKENS) - len(types))
    return {
        "llama.block_count": LAYERS,
        "llama.context_length": 128,
        "llama.embedding_length": HIDDEN,
        "llama.feed_forward_length": INNER,
        "llama.attention.head_count": HEADS,
        "llama.attention.head_count_kv": KV_HEADS,
        "llama.attention.layer_norm_rms_epsilon": 1e-5,
        "llama.rope.freq_base": 10_000.0,
        "llama.rope.dimension_count": HEAD_DIM,
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "smollm",
        "tokenizer.ggml.tokens": list(TOKENS),
        "tokenizer.ggml.token_type": [int(type_) for type_ in types],
        "tokenizer.ggml.merges": list(MERGES),
        "tokenizer.ggml.bos_token_id": 1,
        "tokenizer.ggml.eos_token_id": 2,
        "tokenizer.ggml.unknown_token_id": 0,
        "tokenizer.ggml.padding_token_id": 2,
        "tokenizer.ggml.add_bos_token": False,
        "tokenizer.chat_template": CHAT_TEMPLATE,
    }


@dataclass
class TinyGguf:
    """What goes into the file; a test changes what it is about before `write`.

    `keys` holds metadata that a test adds or replaces (None removes a key), `types` how a tensor is
    stored (F32 without an entry), `weights` the float32 values by GGUF name, `blocks` the bytes
    (rows, bytes of a row) of tensors in a type that the package cannot write.
    """

    architecture: str = "llama"
    default_keys: Callable[[], dict[str, Any]] = default_keys
    keys: dict[str, Any] = field(default_factory=dict)
    types: dict[str, GGMLQuantizationType] = field(default_factory=dict)
    weights: dict[str, np.ndarray] = field(default_factory=random_weights)
    blocks: dict[str, np.ndarray] = field(default_factory=dict)

    def write(self, path: Path) -> Path:
        architecture = self.keys.get("general.architecture") or self.architecture
        writer = GGUFWriter(path, arch=architecture)
        for key, value in (self.default_keys() | self.keys).items():
            if value is not None and key != "general.architecture":
                _add(writer, key, value)
        for name, weight in self.weights.items():
            type_ = self.types.get(name, GGMLQuantizationType.F32)
            data = self.blocks[name] if name in self.blocks else quantize(weight, type_)
            writer.add_tensor(name, data, raw_dtype=type_)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        return path


def _add(writer: GGUFWriter, key: str, value: Any) -> None:
    if isinstance(value, bool):
        writer.add_bool(key, value)
    elif isinstance(value, int):
        writer.add_uint32(key, value)
    elif isinstance(value, float):
        writer.add_float32(key, value)
    elif isinstance(value, str):
        writer.add_string(key, value)
    else:
        writer.add_array(key, value)
