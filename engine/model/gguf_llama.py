"""The Llama architecture: dense, with full attention.

GGUF stores query and key weights for the interleaved form of RoPE, so nothing is permuted and the
config says `rope_traditional`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from engine.errors import ModelError
from engine.model.gguf_architecture import (
    Sizes,
    TensorPlace,
    read_decimal,
    read_rope_scaling,
    read_sizes,
)
from engine.model.gguf_file import GgufFile

NAME = "llama"


@dataclass(frozen=True, slots=True)
class Llama:
    """A Llama model. `rope_scaling` is that entry of config.json, or empty."""

    fits_float16: ClassVar[bool] = True

    sizes: Sizes
    rope_theta: float
    rope_scaling: dict[str, Any]

    def places(self) -> dict[str, TensorPlace]:
        norm = (self.sizes.hidden_size,)
        layer = {
            "attn_norm": TensorPlace("input_layernorm", norm),
            "ffn_norm": TensorPlace("post_attention_layernorm", norm),
        }
        return self.sizes.places(layer | self.sizes.projections())

    def config(self) -> dict[str, Any]:
        return {
            "architectures": ["LlamaForCausalLM"],
            "model_type": "llama",
            "rope_theta": self.rope_theta,
            "rope_traditional": True,
            **self.rope_scaling,
            **self.sizes.config(),
        }


def read_llama(file: GgufFile) -> Llama:
    """Raises ModelError for a variant, or sizes that do not match."""
    if file.get_int(f"{NAME}.expert_count", 0) > 0:
        raise ModelError(f"{file.name} is a mixture of experts, which cannot be imported.")
    return Llama(
        rope_scaling=read_rope_scaling(file, NAME),
        sizes=read_sizes(file, NAME),
        rope_theta=read_decimal(file, f"{NAME}.rope.freq_base", 10_000.0),
    )
