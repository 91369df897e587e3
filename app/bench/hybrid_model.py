"""A small hybrid model with random weights, written as a folder like any other.

Gated delta nets and full attention in the layout of Qwen3-Next, without experts. What it says is
noise; what it costs is real.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from engine.model import safetensors_file
from engine.model.safetensors_file import TensorSpec

_EXPANSION = 3  # of the MLP, relative to the hidden size
_CONV_TOKENS = 4
_SEED = 1


@dataclass(frozen=True, slots=True)
class HybridShape:
    """Sizes of the model. Each `attention_interval`-th layer is full attention, the others are
    gated delta nets; `heads` and `head_dim` are both kinds'."""

    hidden: int = 512
    layers: int = 4
    attention_interval: int = 4
    heads: int = 4
    head_dim: int = 64
    vocabulary: int = 4096
    context_window: int = 32_768

    @property
    def kv_heads(self) -> int:
        """Heads of keys and values in attention, and of keys in a delta net."""
        return self.heads // 2


def write(folder: Path, shape: HybridShape | None = None) -> Path:
    """Write the model into a new `folder` and return it: float32, the same for the same shape.

    Raises OSError.
    """
    shape = shape or HybridShape()
    folder.mkdir()
    specs = list(_specs(shape))
    texts = {
        "config.json": json.dumps(_config(shape), indent=1),
        "tokenizer.json": _tokenizer(shape.vocabulary).to_str(),
        "tokenizer_config.json": json.dumps({"tokenizer_class": "PreTrainedTokenizerFast"}),
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    safetensors_file.write(
        folder / "model.safetensors", specs, _weights(specs), metadata={"format": "mlx"}
    )
    return folder


def _config(shape: HybridShape) -> dict[str, object]:
    return {
        "model_type": "qwen3_next",
        "hidden_size": shape.hidden,
        "num_hidden_layers": shape.layers,
        "intermediate_size": _EXPANSION * shape.hidden,
        "full_attention_interval": shape.attention_interval,
        "num_attention_heads": shape.heads,
        "num_key_value_heads": shape.kv_heads,
        "head_dim": shape.head_dim,
        "linear_num_value_heads": shape.heads,
        "linear_num_key_heads": shape.kv_heads,
        "linear_key_head_dim": shape.head_dim,
        "linear_value_head_dim": shape.head_dim,
        "linear_conv_kernel_dim": _CONV_TOKENS,
        "num_experts": 0,
        "num_experts_per_tok": 0,
        "decoder_sparse_step": 1,
        "shared_expert_intermediate_size": 0,
        "moe_intermediate_size": 0,
        "mlp_only_layers": [],
        "rms_norm_eps": 1e-6,
        "rope_theta": 10_000.0,
        "partial_rotary_factor": 0.25,
        "vocab_size": shape.vocabulary,
        "max_position_embeddings": shape.context_window,
        "tie_word_embeddings": True,
        "eos_token_id": 0,
    }


def _specs(shape: HybridShape) -> Iterator[TensorSpec]:
    """Every tensor, in the order of the layers."""
    hidden, inner = shape.hidden, _EXPANSION * shape.hidden
    yield _tensor("model.embed_tokens.weight", shape.vocabulary, hidden)
    for number in range(shape.layers):
        at = f"model.layers.{number}"
        yield _tensor(f"{at}.input_layernorm.weight", hidden)
        if (number + 1) % shape.attention_interval:
            yield from _delta_net(f"{at}.linear_attn", shape)
        else:
            yield from _attention(f"{at}.self_attn", shape)
        yield _tensor(f"{at}.post_attention_layernorm.weight", hidden)
        yield _tensor(f"{at}.mlp.gate_proj.weight", inner, hidden)
        yield _tensor(f"{at}.mlp.up_proj.weight", inner, hidden)
        yield _tensor(f"{at}.mlp.down_proj.weight", hidden, inner)
    yield _tensor("model.norm.weight", hidden)


def _delta_net(at: str, shape: HybridShape) -> Iterator[TensorSpec]:
    keys, values = shape.kv_heads * shape.head_dim, shape.heads * shape.head_dim
    yield _tensor(f"{at}.in_proj_qkvz.weight", 2 * keys + 2 * values, shape.hidden)
    yield _tensor(f"{at}.in_proj_ba.weight", 2 * shape.heads, shape.hidden)
    yield _tensor(f"{at}.conv1d.weight", 2 * keys + values, _CONV_TOKENS, 1)
    yield _tensor(f"{at}.A_log", shape.heads)
    yield _tensor(f"{at}.dt_bias", shape.heads)
    yield _tensor(f"{at}.norm.weight", shape.head_dim)
    yield _tensor(f"{at}.out_proj.weight", shape.hidden, values)


def _attention(at: str, shape: HybridShape) -> Iterator[TensorSpec]:
    queries, keys = shape.heads * shape.head_dim, shape.kv_heads * shape.head_dim
    yield _tensor(f"{at}.q_proj.weight", 2 * queries, shape.hidden)  # with an output gate
    yield _tensor(f"{at}.k_proj.weight", keys, shape.hidden)
    yield _tensor(f"{at}.v_proj.weight", keys, shape.hidden)
    yield _tensor(f"{at}.o_proj.weight", shape.hidden, queries)
    yield _tensor(f"{at}.q_norm.weight", shape.head_dim)
    yield _tensor(f"{at}.k_norm.weight", shape.head_dim)


def _tensor(name: str, *shape: int) -> TensorSpec:
    return TensorSpec(name, "F32", shape)


def _weights(specs: list[TensorSpec]) -> Iterator[npt.NDArray[np.float32]]:
    chance = np.random.default_rng(_SEED)
    for spec in specs:
        if len(spec.shape) == 1:  # gains of norms, and of a delta net its decay
            yield np.ones(spec.shape, np.float32)
        else:
            deviation = np.float32(1 / np.sqrt(spec.shape[1]))
            yield deviation * chance.standard_normal(spec.shape, np.float32)


def _tokenizer(vocabulary: int) -> Tokenizer:
    """Token n is the word "wn"."""
    words = {f"w{number}": number for number in range(vocabulary)}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="w0"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.decoder = decoders.Fuse()
    return tokenizer
