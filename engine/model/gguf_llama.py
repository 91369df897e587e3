"""The Llama architecture as GGUF describes it, and the config.json that mlx-lm builds the same
model from.

Dense, with full attention. GGUF stores query and key weights for the interleaved form of RoPE, so
nothing is permuted and the config says `rope_traditional`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.errors import ModelError
from engine.model.gguf_file import GgufFile
from engine.model.gguf_tokenizer import GgufTokenizer
from engine.model.gguf_weights import WeightForm, WeightPlan, plan_weight

_TOP_MODULES = {
    "token_embd": "model.embed_tokens",
    "output_norm": "model.norm",
    "output": "lm_head",
}
_LAYER_MODULES = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}


@dataclass(frozen=True, slots=True)
class Llama:
    """The sizes of a Llama model, as its config.json names them."""

    num_layers: int
    hidden_size: int
    intermediate_size: int
    num_heads: int
    num_kv_heads: int
    head_dim: int
    context_tokens: int
    vocab_size: int
    rms_norm_eps: float
    rope_theta: float
    rope_factor: float
    tied: bool

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The row-major shape of every tensor the file must hold, by GGUF name."""
        hidden, inner = self.hidden_size, self.intermediate_size
        queries, keys = self.num_heads * self.head_dim, self.num_kv_heads * self.head_dim
        layer = {
            "attn_norm": (hidden,),
            "attn_q": (queries, hidden),
            "attn_k": (keys, hidden),
            "attn_v": (keys, hidden),
            "attn_output": (hidden, queries),
            "ffn_norm": (hidden,),
            "ffn_gate": (inner, hidden),
            "ffn_up": (inner, hidden),
            "ffn_down": (hidden, inner),
        }
        shapes: dict[str, tuple[int, ...]] = {
            "token_embd.weight": (self.vocab_size, hidden),
            "output_norm.weight": (hidden,),
        }
        if not self.tied:
            shapes["output.weight"] = (self.vocab_size, hidden)
        for index in range(self.num_layers):
            shapes |= {f"blk.{index}.{name}.weight": shape for name, shape in layer.items()}
        return shapes

    def config(
        self, tokenizer: GgufTokenizer, plans: list[WeightPlan], form: WeightForm
    ) -> dict[str, Any]:
        """config.json."""
        config: dict[str, Any] = {
            "architectures": ["LlamaForCausalLM"],
            "model_type": "llama",
            "hidden_size": self.hidden_size,
            "intermediate_size": self.intermediate_size,
            "num_hidden_layers": self.num_layers,
            "num_attention_heads": self.num_heads,
            "num_key_value_heads": self.num_kv_heads,
            "head_dim": self.head_dim,
            "max_position_embeddings": self.context_tokens,
            "vocab_size": self.vocab_size,
            "rms_norm_eps": self.rms_norm_eps,
            "rope_theta": self.rope_theta,
            "rope_traditional": True,
            "tie_word_embeddings": self.tied,
            "bos_token_id": tokenizer.bos_id,
            "eos_token_id": list(tokenizer.eos_ids),
            "torch_dtype": np.dtype(form.dtype).name,
        }
        if self.rope_factor != 1.0:
            config["rope_scaling"] = {"rope_type": "linear", "factor": self.rope_factor}
        return config | _quantization_config(plans)


def read_llama(file: GgufFile) -> Llama:
    """Raises ModelError for another architecture, a variant, or sizes that do not match."""
    architecture = file.require("general.architecture")
    if architecture != "llama":
        raise ModelError(
            f"{file.name} holds a model of the architecture {architecture!r}; "
            "only 'llama' can be imported."
        )
    _refuse_variants(file)
    embedding = file.tensors.get("token_embd.weight")
    if embedding is None or len(embedding.shape) != 2:
        raise ModelError(f"{file.name} lacks the tensor token_embd.weight.")
    num_heads = file.get_int("llama.attention.head_count", low=1, high=1 << 16)
    num_kv_heads = file.get_int("llama.attention.head_count_kv", num_heads, low=1, high=1 << 16)
    hidden_size = file.get_int("llama.embedding_length", low=1, high=1 << 20)
    head_dim = file.get_int(
        "llama.attention.key_length", hidden_size // num_heads, low=2, high=1 << 16
    )
    for key in ("llama.attention.value_length", "llama.rope.dimension_count"):
        if file.get_int(key, head_dim) != head_dim:
            raise ModelError(f"{file.name} has a {key} other than the head size {head_dim}.")
    if num_heads % num_kv_heads:
        raise ModelError(f"{file.name} is broken: {num_heads} heads share {num_kv_heads} KV heads.")
    return Llama(
        num_layers=file.get_int("llama.block_count", low=1, high=1 << 12),
        hidden_size=hidden_size,
        intermediate_size=file.get_int("llama.feed_forward_length", low=1, high=1 << 24),
        num_heads=num_heads,
        num_kv_heads=num_kv_heads,
        head_dim=head_dim,
        context_tokens=file.get_int("llama.context_length", low=1),
        vocab_size=embedding.shape[0],
        rms_norm_eps=_as_written(file.get_float("llama.attention.layer_norm_rms_epsilon")),
        rope_theta=_as_written(file.get_float("llama.rope.freq_base", 10_000.0)),
        rope_factor=_as_written(file.get_float("llama.rope.scaling.factor", 1.0)),
        tied="output.weight" not in file.tensors,
    )


def _refuse_variants(file: GgufFile) -> None:
    """What the file may ask for beyond a dense Llama, each refused by name."""
    if file.get_int("split.count", 1) > 1:
        raise ModelError(f"{file.name} is one piece of a split model; join the pieces first.")
    if file.get_int("llama.expert_count", 0) > 0:
        raise ModelError(f"{file.name} is a mixture of experts, which cannot be imported.")
    scaling = file.get("llama.rope.scaling.type", "none")
    if scaling not in ("none", "linear"):
        raise ModelError(f"{file.name} scales RoPE in the way {scaling!r}, which is not supported.")


def _as_written(value: float) -> float:
    """The short decimal behind a float32: 1e-05, not 9.999999747378752e-06."""
    return float(str(np.float32(value)))


def plan_weights(file: GgufFile, llama: Llama, form: WeightForm) -> list[WeightPlan]:
    """What becomes of each tensor, in file order of the target.

    Raises ModelError when a tensor is missing, unexpected, or of another shape than the sizes say.
    """
    shapes = llama.shapes()
    if extra := sorted(file.tensors.keys() - shapes.keys()):
        raise ModelError(f"{file.name} has the tensor {extra[0][:80]}, which is not supported.")
    plans = []
    for name, shape in shapes.items():
        source = file.tensors.get(name)
        if source is None:
            raise ModelError(f"{file.name} lacks the tensor {name}.")
        if source.shape != shape:
            raise ModelError(f"{file.name} is broken: {name} is {source.shape}, not {shape}.")
        plans.append(plan_weight(module_path(name), source, form))
    return plans


def module_path(tensor_name: str) -> str:
    """The mlx-lm module whose weight a GGUF tensor is: "blk.0.attn_q.weight" ->
    "model.layers.0.self_attn.q_proj".
    """
    name = tensor_name.removesuffix(".weight")
    if name in _TOP_MODULES:
        return _TOP_MODULES[name]
    _, index, part = name.split(".")
    return f"model.layers.{index}.{_LAYER_MODULES[part]}"


def _quantization_config(plans: list[WeightPlan]) -> dict[str, Any]:
    """`quantization` as mlx-lm reads it: the commonest setting at the top, the others by module."""
    kept = [plan for plan in plans if plan.bits]
    if not kept:
        return {}
    common = max(kept, key=lambda plan: sum(other.bits == plan.bits for other in kept))
    settings: dict[str, Any] = common.quantization()
    settings |= {plan.module: plan.quantization() for plan in kept if plan.bits != common.bits}
    return {"quantization": settings}
