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
from engine.model.info import AttentionMode
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
CONFIGS: dict[str, dict[str, Any]] = {
    "llama": {},
    "llama_mha": {"model_type": "llama", "num_key_value_heads": 4, "rope_traditional": True},
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
}


def tiny_model(name: str, dtype: mx.Dtype = mx.float32, seed: int = 7) -> LoadedModel:
    """A model with random weights, the same for the same arguments."""
    config = {**_COMMON, "model_type": name, **CONFIGS[name]}
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
    loaded = tiny_model(name, dtype)
    runner = Runner(loaded, name, created=0)
    cache = PrefixCache(
        loaded.identity,
        runner.new_storage,
        bytes_per_token=runner.info.bytes_per_token,
        enabled=runner.info.attention is not AttentionMode.PRIVATE,
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
