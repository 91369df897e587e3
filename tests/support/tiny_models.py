"""Tiny random models of mlx-lm's architectures: real forward passes in milliseconds."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import mlx.core as mx
from mlx.utils import tree_map
from mlx_lm.models.cache import make_prompt_cache

from engine.cache.identity import ModelIdentity
from engine.cache.prefix_cache import PrefixCache
from engine.model.loader import LoadedModel, layout_of
from engine.model.runner import Runner
from tests.support.engine import word_tokenizer

VOCABULARY = 128
_COMMON: dict[str, Any] = {
    "hidden_size": 64,
    "num_hidden_layers": 3,
    "intermediate_size": 96,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "rms_norm_eps": 1e-5,
    "vocab_size": VOCABULARY,
    "max_position_embeddings": 4096,
    "rope_theta": 10000.0,
    "head_dim": 16,
    "tie_word_embeddings": False,
}
_HYBRID: dict[str, Any] = {  # gated delta net, every second layer attention
    "num_hidden_layers": 4,
    "linear_num_value_heads": 4,
    "linear_num_key_heads": 2,
    "linear_key_head_dim": 16,
    "linear_value_head_dim": 16,
    "linear_conv_kernel_dim": 4,
    "full_attention_interval": 2,
    "partial_rotary_factor": 0.5,
    "attention_bias": False,
}
_EXPERTS: dict[str, Any] = {
    "num_experts": 4,
    "num_experts_per_tok": 2,
    "decoder_sparse_step": 1,
    "shared_expert_intermediate_size": 48,
    "mlp_only_layers": [],
    "moe_intermediate_size": 48,
    "norm_topk_prob": True,
}
_MAMBA: dict[str, Any] = {
    "mamba_d_conv": 4,
    "mamba_d_state": 16,
    "mamba_expand": 2,
}
CONFIGS: dict[str, dict[str, Any]] = {
    "llama": {},
    "llama_mha": {"model_type": "llama", "num_key_value_heads": 4, "rope_traditional": True},
    "llama_mqa": {"model_type": "llama", "num_key_value_heads": 1},
    "qwen2": {},
    "qwen3": {},
    "gemma2": {
        "attn_logit_softcapping": 50.0,
        "final_logit_softcapping": 30.0,
        "query_pre_attn_scalar": 16.0,
    },
    "llama_sliding": {
        "model_type": "llama",
        "layer_types": ["sliding_attention", "full_attention", "sliding_attention"],
        "sliding_window": 8,
    },
    "gemma3_text": {
        "num_hidden_layers": 4,
        "sliding_window": 24,
        "sliding_window_pattern": 2,
        "query_pre_attn_scalar": 16.0,
    },
    "gpt_oss": {
        "num_hidden_layers": 4,
        "num_local_experts": 4,
        "num_experts_per_tok": 2,
        "sliding_window": 20,
        "layer_types": ["sliding_attention", "full_attention"] * 2,
        "rope_scaling": None,
    },
    "mixtral": {"num_local_experts": 4, "num_experts_per_tok": 2},
    "deepseek_v2": {  # multi-head latent attention
        "num_key_value_heads": 4,
        "kv_lora_rank": 32,
        "q_lora_rank": 32,
        "qk_rope_head_dim": 16,
        "v_head_dim": 16,
        "qk_nope_head_dim": 16,
        "n_routed_experts": None,
        "rope_scaling": {"type": "yarn", "factor": 1.0, "mscale_all_dim": 0},
    },
    "qwen3_next": {**_HYBRID, **_EXPERTS},
    "qwen3_5": {**_HYBRID, **_EXPERTS},
    "qwen3_5_moe": {**_HYBRID, **_EXPERTS},
    "mamba2": {
        "num_heads": 4,
        "head_dim": 32,
        "state_size": 16,
        "conv_kernel": 4,
        "n_groups": 1,
        "expand": 2,
        "time_step_limit": (0.001, 0.1),
        "time_step_rank": 4,
        "layer_norm_epsilon": 1e-5,
        "use_bias": False,
        "use_conv_bias": True,
    },
    "lfm2": {  # short convolutions
        "num_hidden_layers": 4,
        "norm_eps": 1e-5,
        "conv_bias": False,
        "conv_L_cache": 3,
        "block_dim": 64,
        "block_multiple_of": 16,
        "block_ffn_dim_multiplier": 1.0,
        "block_auto_adjust_ff_dim": True,
        "full_attn_idxs": [1, 3],
        "layer_types": ["conv", "full_attention"] * 2,
    },
    "jamba": {
        **_MAMBA,
        "num_hidden_layers": 4,
        "attn_layer_offset": 1,
        "attn_layer_period": 2,
        "expert_layer_offset": 1,
        "expert_layer_period": 2,
        "num_experts": 4,
        "num_experts_per_tok": 2,
        "mamba_dt_rank": 8,
    },
    "falcon_h1": {  # each layer is a state and attention side by side
        **_MAMBA,
        "mamba_d_head": 16,
        "mamba_d_ssm": 64,
        "mamba_n_heads": 4,
        "mamba_n_groups": 1,
        "mamba_chunk_size": 16,
    },
    "recurrent_gemma": {
        "attention_bias": False,
        "conv1d_width": 4,
        "logits_soft_cap": 30.0,
        "num_key_value_heads": 1,
        "attention_window_size": 24,
        "block_types": ["recurrent", "recurrent", "attention"],
    },
}
_INNER = frozenset({"qwen3_5", "qwen3_5_moe"})  # their configs nest the text model's


def tiny_model(name: str, dtype: mx.Dtype = mx.float32, seed: int = 7) -> LoadedModel:
    """A model with random weights, the same for the same arguments."""
    config = {**_COMMON, "model_type": name, **CONFIGS[name]}
    if name in _INNER:
        config = {"model_type": name, "text_config": config}
    module = importlib.import_module(f"mlx_lm.models.{config['model_type']}")
    mx.random.seed(seed)
    model = module.Model(module.ModelArgs.from_dict(config))
    # The usual initialisation leaves attention nearly uniform; larger weights make order matter.
    weights = tree_map(
        lambda x: (x + 0.2 * mx.random.normal(x.shape)).astype(dtype), model.parameters()
    )
    model.update(weights)
    model.eval()
    mx.eval(model.parameters())
    return LoadedModel(
        path=Path(name),
        model=model,
        config=config,
        tokenizer=word_tokenizer(),
        chat_template=None,
        special_tokens={},
        eos_ids=frozenset({0}),
        layout=layout_of(model),
        identity=ModelIdentity(weights=f"{name}{seed}", tokenizer="words"),
        fingerprint=f"{name}{seed}",
        quantization="",
        dtype=str(dtype).removeprefix("mlx.core."),
        weights_bytes=0,
    )


def make_runner(name: str, dtype: mx.Dtype = mx.float32) -> tuple[Runner, PrefixCache]:
    """A runner and a prefix cache for it."""
    return runner_of(tiny_model(name, dtype))


def runner_of(loaded: LoadedModel) -> tuple[Runner, PrefixCache]:
    """A runner of a model, and a prefix cache for it."""
    runner = Runner(loaded, loaded.path.name, created=0)
    cache = PrefixCache(
        loaded.identity,
        runner.new_storage,
        cost=runner.info.cost,
        enabled=runner.info.reuses,
    )
    return runner, cache


def fresh_logits(runner: Runner, tokens: list[int]) -> mx.array:
    """Logits after each token, [tokens, vocabulary] float32, by mlx-lm alone on a fresh cache."""
    model = runner._model
    logits = model(mx.array([tokens]), cache=make_prompt_cache(model))[0].astype(mx.float32)
    mx.eval(logits)
    return logits


def largest(difference: mx.array) -> float:
    return float(mx.abs(difference).max().item())
