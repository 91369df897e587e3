"""What an architecture says of itself so that its GGUF files can be imported.

An architecture is a small module: it reads a file's sizes, refuses by name what it does not know,
and says where each tensor goes and what config.json tells mlx-lm.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from engine.errors import ModelError
from engine.model.gguf_file import GgufFile
from engine.model.gguf_weights import WeightForm, WeightPlan, plan_weight


@dataclass(frozen=True, slots=True)
class TensorPlace:
    """Where a GGUF tensor goes: it is the weight of the mlx-lm module `module`.

    `shape` is row-major (outputs, inputs); `shift` is added to each of its numbers.
    """

    module: str
    shape: tuple[int, ...]
    shift: float = 0.0


@dataclass(frozen=True, slots=True)
class Sizes:
    """What dense transformers with grouped queries have in common, as config.json names it.

    `tied` says that the embeddings are the output matrix too.
    """

    num_layers: int
    hidden_size: int
    intermediate_size: int
    num_heads: int
    num_kv_heads: int
    head_dim: int
    context_tokens: int
    vocab_size: int
    rms_norm_eps: float
    tied: bool

    def projections(self) -> dict[str, TensorPlace]:
        """The matrices of one layer's attention and gated MLP, by their names within it."""
        hidden, inner = self.hidden_size, self.intermediate_size
        queries, keys = self.num_heads * self.head_dim, self.num_kv_heads * self.head_dim
        return {
            "attn_q": TensorPlace("self_attn.q_proj", (queries, hidden)),
            "attn_k": TensorPlace("self_attn.k_proj", (keys, hidden)),
            "attn_v": TensorPlace("self_attn.v_proj", (keys, hidden)),
            "attn_output": TensorPlace("self_attn.o_proj", (hidden, queries)),
            "ffn_gate": TensorPlace("mlp.gate_proj", (inner, hidden)),
            "ffn_up": TensorPlace("mlp.up_proj", (inner, hidden)),
            "ffn_down": TensorPlace("mlp.down_proj", (hidden, inner)),
        }

    def places(
        self, layer: Mapping[str, TensorPlace], norm_shift: float = 0.0
    ) -> dict[str, TensorPlace]:
        """The whole model: `layer`, which names modules within a layer, for each of them, and what
        stands before and after. `norm_shift` is that of the last norm.
        """
        embedding = (self.vocab_size, self.hidden_size)
        places = {
            "token_embd.weight": TensorPlace("model.embed_tokens", embedding),
            "output_norm.weight": TensorPlace("model.norm", (self.hidden_size,), norm_shift),
        }
        if not self.tied:
            places["output.weight"] = TensorPlace("lm_head", embedding)
        for index in range(self.num_layers):
            places |= {
                f"blk.{index}.{name}.weight": TensorPlace(
                    f"model.layers.{index}.{place.module}", place.shape, place.shift
                )
                for name, place in layer.items()
            }
        return places

    def config(self) -> dict[str, Any]:
        """The sizes in config.json."""
        return {
            "hidden_size": self.hidden_size,
            "intermediate_size": self.intermediate_size,
            "num_hidden_layers": self.num_layers,
            "num_attention_heads": self.num_heads,
            "num_key_value_heads": self.num_kv_heads,
            "head_dim": self.head_dim,
            "max_position_embeddings": self.context_tokens,
            "vocab_size": self.vocab_size,
            "rms_norm_eps": self.rms_norm_eps,
            "tie_word_embeddings": self.tied,
        }


class Architecture(Protocol):
    """One model, as far as its file's metadata describes it."""

    @property
    def sizes(self) -> Sizes: ...

    @property
    def fits_float16(self) -> bool:
        """Activations stay within the range of float16."""
        ...

    def places(self) -> dict[str, TensorPlace]:
        """Every tensor that the file must hold, by GGUF name, in the order of the target."""
        ...

    def config(self) -> dict[str, Any]:
        """What config.json says of the architecture, in mlx-lm's names."""
        ...


def read_sizes(file: GgufFile, prefix: str) -> Sizes:
    """The sizes under the keys `prefix`.….

    Raises ModelError when they are missing or do not match each other.
    """
    embedding = file.tensors.get("token_embd.weight")
    if embedding is None or len(embedding.shape) != 2:
        raise ModelError(f"{file.name} lacks the tensor token_embd.weight.")
    num_heads = file.get_int(f"{prefix}.attention.head_count", low=1, high=1 << 16)
    num_kv_heads = file.get_int(f"{prefix}.attention.head_count_kv", num_heads, low=1, high=1 << 16)
    hidden_size = file.get_int(f"{prefix}.embedding_length", low=1, high=1 << 20)
    head_dim = file.get_int(
        f"{prefix}.attention.key_length", hidden_size // num_heads, low=2, high=1 << 16
    )
    for key in (f"{prefix}.attention.value_length", f"{prefix}.rope.dimension_count"):
        if file.get_int(key, head_dim) != head_dim:
            raise ModelError(f"{file.name} has a {key} other than the head size {head_dim}.")
    if num_heads % num_kv_heads:
        raise ModelError(f"{file.name} is broken: {num_heads} heads share {num_kv_heads} KV heads.")
    return Sizes(
        num_layers=file.get_int(f"{prefix}.block_count", low=1, high=1 << 12),
        hidden_size=hidden_size,
        intermediate_size=file.get_int(f"{prefix}.feed_forward_length", low=1, high=1 << 24),
        num_heads=num_heads,
        num_kv_heads=num_kv_heads,
        head_dim=head_dim,
        context_tokens=file.get_int(f"{prefix}.context_length", low=1),
        vocab_size=embedding.shape[0],
        rms_norm_eps=read_decimal(file, f"{prefix}.attention.layer_norm_rms_epsilon"),
        tied="output.weight" not in file.tensors,
    )


def read_rope_scaling(file: GgufFile, prefix: str) -> dict[str, Any]:
    """`rope_scaling` of config.json, or nothing where positions are not scaled.

    Raises ModelError for a way other than linear.
    """
    scaling = file.get(f"{prefix}.rope.scaling.type", "none")
    if scaling not in ("none", "linear"):
        raise ModelError(f"{file.name} scales RoPE in the way {scaling!r}, which is not supported.")
    factor = read_decimal(file, f"{prefix}.rope.scaling.factor", 1.0)
    return {} if factor == 1.0 else {"rope_scaling": {"rope_type": "linear", "factor": factor}}


def read_decimal(file: GgufFile, key: str, default: float | None = None) -> float:
    """The short decimal behind a float32: 1e-05, not 9.999999747378752e-06."""
    return float(str(np.float32(file.get_float(key, default))))


def plan_weights(file: GgufFile, model: Architecture, form: WeightForm) -> list[WeightPlan]:
    """What becomes of each tensor, in file order of the target.

    Raises ModelError when a tensor is missing, unexpected, or of another shape than the sizes say.
    """
    places = model.places()
    if extra := sorted(file.tensors.keys() - places.keys()):
        raise ModelError(f"{file.name} has the tensor {extra[0][:80]}, which is not supported.")
    plans = []
    for name, place in places.items():
        source = file.tensors.get(name)
        if source is None:
            raise ModelError(f"{file.name} lacks the tensor {name}.")
        if source.shape != place.shape:
            raise ModelError(f"{file.name} is broken: {name} is {source.shape}, not {place.shape}.")
        plans.append(plan_weight(place.module, source, form, shift=place.shift))
    return plans
