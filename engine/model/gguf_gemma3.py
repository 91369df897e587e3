"""The Gemma 3 architecture, text only: windowed layers with a full one after every few.

GGUF adds 1 to the weight of every norm, as Gemma computes with 1 + weight; mlx-lm adds it itself,
so the import takes it off again. RoPE is in the halved form on both sides: nothing is permuted.
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

NAME = "gemma3"

_NORM_SHIFT = -1.0
# The pattern of all Gemma 3 models; files from before the key existed do not name it.
_LAYERS_PER_FULL = 6
# The largest Gemma 3 scales queries by hidden size over heads, all others by the head size. No key
# says so: readers know it by its number of layers.
_LARGEST_NUM_LAYERS = 62
_SOFT_CAPS = ("attn_logit_softcapping", "final_logit_softcapping")


@dataclass(frozen=True, slots=True)
class Gemma3:
    """A Gemma 3 model. Every `pattern`th layer attends to everything, the others to the last
    `window` tokens. `rope_scaling` is that entry of config.json, or empty.
    """

    # A text's first token carries numbers of 100,000 through the layers. Cut to the range of
    # float16, they change what all later tokens see of it.
    fits_float16: ClassVar[bool] = False

    sizes: Sizes
    window: int
    pattern: int
    rope_theta: float
    rope_local_theta: float
    rope_scaling: dict[str, Any]

    def places(self) -> dict[str, TensorPlace]:
        hidden, head = (self.sizes.hidden_size,), (self.sizes.head_dim,)
        norms = {
            "attn_norm": ("input_layernorm", hidden),
            "attn_q_norm": ("self_attn.q_norm", head),
            "attn_k_norm": ("self_attn.k_norm", head),
            "post_attention_norm": ("post_attention_layernorm", hidden),
            "ffn_norm": ("pre_feedforward_layernorm", hidden),
            "post_ffw_norm": ("post_feedforward_layernorm", hidden),
        }
        layer = {
            name: TensorPlace(module, shape, _NORM_SHIFT) for name, (module, shape) in norms.items()
        }
        return self.sizes.places(layer | self.sizes.projections(), _NORM_SHIFT)

    def config(self) -> dict[str, Any]:
        sizes = self.sizes
        is_largest = sizes.num_layers == _LARGEST_NUM_LAYERS
        return {
            "architectures": ["Gemma3ForCausalLM"],
            "model_type": "gemma3_text",
            "query_pre_attn_scalar": (
                sizes.hidden_size // sizes.num_heads if is_largest else sizes.head_dim
            ),
            "sliding_window": self.window,
            "sliding_window_pattern": self.pattern,
            "rope_theta": self.rope_theta,
            "rope_local_base_freq": self.rope_local_theta,
            **self.rope_scaling,
            **sizes.config(),
        }


def read_gemma3(file: GgufFile) -> Gemma3:
    """Raises ModelError for a variant, or sizes that do not match."""
    for key in _SOFT_CAPS:
        if file.get(f"{NAME}.{key}"):
            raise ModelError(f"{file.name} caps logits ({NAME}.{key}), which is not supported.")
    sizes = read_sizes(file, NAME)
    pattern = file.get_int(
        f"{NAME}.attention.sliding_window_pattern", _LAYERS_PER_FULL, low=1, high=1 << 12
    )
    if pattern > sizes.num_layers:
        raise ModelError(
            f"{file.name} has {sizes.num_layers} layers, all windowed (a full one would be the "
            f"{pattern}th), which is not supported."
        )
    return Gemma3(
        sizes=sizes,
        window=file.get_int(f"{NAME}.attention.sliding_window", low=1),
        pattern=pattern,
        rope_theta=read_decimal(file, f"{NAME}.rope.freq_base", 1_000_000.0),
        rope_local_theta=read_decimal(file, f"{NAME}.rope.freq_base_swa", 10_000.0),
        rope_scaling=read_rope_scaling(file, NAME),
    )
