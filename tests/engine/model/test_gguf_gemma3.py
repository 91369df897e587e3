"""GGUF import of Gemma 3 and of K-quants, on files of random weights. The real model is in
tests/e2e/test_gemma3_import.py.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import mlx.core as mx
import numpy as np
import pytest
from gguf import GGMLQuantizationType, dequantize
from mlx_lm.models.cache import KVCache, RotatingKVCache, make_prompt_cache
from mlx_lm.utils import load_model

from engine.errors import ModelError
from engine.model.catalog import check_folder
from engine.model.gguf import WeightForm, import_gguf
from engine.model.gguf_file import GgufFile
from engine.model.gguf_gemma3 import read_gemma3
from engine.model.gguf_weights import plan_weight
from tests.support import tiny_gemma3 as tiny
from tests.support.gemma3_reference import Gemma3Reference
from tests.support.tiny_gemma3 import K_TYPES, tiny_gemma3
from tests.support.tiny_gguf import TinyGguf

PROMPT = [2, 280, 281, 17, 285, 4, 279, 290]


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "models" / "Tiny"


def imported(model: TinyGguf, target: Path, form: WeightForm = WeightForm.FLOAT32) -> Path:
    return import_gguf(model.write(target.parent.parent / "tiny.gguf"), target, form)


def config_of(folder: Path) -> dict[str, Any]:
    config = json.loads((folder / "config.json").read_text())
    assert isinstance(config, dict)
    return config


def logits_of(folder: Path) -> np.ndarray:
    model, _ = load_model(folder)
    return np.array(model(mx.array([PROMPT]), cache=make_prompt_cache(model))[0], np.float32)


def reference_of(model: TinyGguf) -> np.ndarray:
    def weight(name: str) -> np.ndarray:
        blocks = model.blocks.get(name)
        return model.weights[name] if blocks is None else dequantize(blocks, model.types[name])

    reference = Gemma3Reference(
        weight,
        num_layers=tiny.LAYERS,
        num_heads=tiny.HEADS,
        num_kv_heads=tiny.KV_HEADS,
        head_dim=tiny.HEAD_DIM,
        layers_per_full=6,
    )
    return reference.logits(PROMPT)


class TestModel:
    @pytest.mark.parametrize("k_quants", [False, True])
    def test_logits_are_those_of_a_reference_in_numpy(self, target: Path, k_quants: bool) -> None:
        model = tiny_gemma3(k_quants=k_quants)
        expected = reference_of(model)
        assert np.abs(expected).max() > 1
        assert np.abs(logits_of(imported(model, target)) - expected).max() < 1e-4

    def test_config_says_what_the_file_said(self, target: Path) -> None:
        folder = imported(tiny_gemma3(), target)
        check_folder(folder)
        config = config_of(folder)
        expected = {
            "model_type": "gemma3_text",
            "hidden_size": tiny.HIDDEN,
            "intermediate_size": tiny.INNER,
            "num_hidden_layers": tiny.LAYERS,
            "num_attention_heads": tiny.HEADS,
            "num_key_value_heads": tiny.KV_HEADS,
            "head_dim": tiny.HEAD_DIM,
            "query_pre_attn_scalar": tiny.HEAD_DIM,
            "sliding_window": tiny.WINDOW,
            "sliding_window_pattern": 6,
            "rope_theta": 1_000_000.0,
            "rope_local_base_freq": 10_000.0,
            "rms_norm_eps": 1e-6,
            "max_position_embeddings": 128,
            "tie_word_embeddings": True,
            "eos_token_id": [1, 5],
            "bos_token_id": 2,
        }
        assert {key: config[key] for key in expected} == expected
        assert "rope_scaling" not in config

    def test_only_the_largest_scales_queries_by_its_width(self, tmp_path: Path) -> None:
        scalars = {}
        for num_layers in (48, 62):
            keys = {"gemma3.block_count": num_layers}
            file = GgufFile(tiny_gemma3(keys).write(tmp_path / "tiny.gguf"))
            scalars[num_layers] = read_gemma3(file).config()["query_pre_attn_scalar"]
        assert scalars == {48: tiny.HEAD_DIM, 62: tiny.HIDDEN // tiny.HEADS}

    def test_every_number_of_layers_has_one_full(self, target: Path) -> None:
        keys = {"gemma3.attention.sliding_window_pattern": 3}
        model, _ = load_model(imported(tiny_gemma3(keys), target))
        kinds = [RotatingKVCache, RotatingKVCache, KVCache]
        assert [type(cache) for cache in make_prompt_cache(model)] == kinds * 2

    def test_norms_have_the_one_taken_off_that_mlx_lm_adds(self, target: Path) -> None:
        model = tiny_gemma3()
        weights = mx.load(str(imported(model, target) / "model.safetensors"))
        places = {
            "output_norm": "model.norm",
            "blk.3.attn_norm": "model.layers.3.input_layernorm",
            "blk.3.attn_q_norm": "model.layers.3.self_attn.q_norm",
            "blk.3.attn_k_norm": "model.layers.3.self_attn.k_norm",
            "blk.3.post_attention_norm": "model.layers.3.post_attention_layernorm",
            "blk.3.ffn_norm": "model.layers.3.pre_feedforward_layernorm",
            "blk.3.post_ffw_norm": "model.layers.3.post_feedforward_layernorm",
        }
        for name, module in places.items():
            expected = model.weights[f"{name}.weight"] - np.float32(1)
            assert np.array_equal(np.array(weights[f"{module}.weight"]), expected), name
        assert sum("norm" in name for name in weights) == 6 * tiny.LAYERS + 1

    def test_rope_scaling_is_of_the_full_layers_alone(self, target: Path) -> None:
        keys = {
            "gemma3.rope.scaling.type": "linear",
            "gemma3.rope.scaling.factor": 8.0,
            "gemma3.rope.freq_base_swa": 20_000.0,
        }
        model, _ = load_model(imported(tiny_gemma3(keys), target))
        windowed, full = model.layers[0].self_attn.rope, model.layers[5].self_attn.rope
        assert (windowed.scale, windowed.base) == (1.0, 20_000.0)
        assert (full.scale, full.base) == (0.125, 1_000_000.0)

    def test_kept_form_is_float32_as_float16_has_not_the_range(self, target: Path) -> None:
        model = tiny_gemma3()
        model.types = {"blk.0.ffn_up.weight": GGMLQuantizationType.Q8_0}
        folder = imported(model, target, WeightForm.KEPT)
        assert config_of(folder)["torch_dtype"] == "float32"
        assert "quantization" not in config_of(folder)
        weights = mx.load(str(folder / "model.safetensors"))
        assert {weight.dtype for weight in weights.values()} == {mx.float32}

    def test_untied_output_becomes_lm_head(self, target: Path) -> None:
        model = tiny_gemma3()
        model.weights["output.weight"] = 2 * model.weights["token_embd.weight"]
        assert np.allclose(logits_of(imported(model, target)), 2 * reference_of(model), atol=1e-4)


class TestKQuants:
    def test_float_form_is_what_the_gguf_package_dequantises(self, target: Path) -> None:
        model = tiny_gemma3(k_quants=True)
        weights = mx.load(str(imported(model, target) / "model.safetensors"))
        for layer, (name, type_) in enumerate(K_TYPES.items()):
            expected = dequantize(model.blocks[name], type_)
            actual = np.array(weights[f"model.layers.{layer}.mlp.down_proj.weight"])
            assert actual.shape == (tiny.HIDDEN, tiny.INNER)
            assert np.unique(actual).size > 1000
            assert np.array_equal(actual, expected), name

    @pytest.mark.parametrize("type_", K_TYPES.values())
    def test_kept_form_rounds_them_to_half_precision(
        self, tmp_path: Path, type_: GGMLQuantizationType
    ) -> None:
        name = next(name for name, own_type in K_TYPES.items() if own_type == type_)
        file = GgufFile(tiny_gemma3(k_quants=True).write(tmp_path / "tiny.gguf"))
        plan = plan_weight("mlp.down_proj", file.tensors[name], WeightForm.KEPT)
        (actual,) = plan.arrays()
        (spec,) = plan.specs
        assert (spec.name, spec.dtype, spec.shape) == ("mlp.down_proj.weight", "F16", (64, 256))
        expected = dequantize(file.tensors[name].data, type_).astype(np.float16)
        assert np.array_equal(actual, expected)

    def test_scales_of_a_k_type_need_more_than_half_precision(self) -> None:
        """Why Q4_K is not kept: its scale is a float16 times a whole number up to 63."""
        scale, factor = np.float16(1 + 2**-10), 63
        assert np.float32(np.float16(np.float32(scale) * factor)) != np.float32(scale) * factor


class TestRefused:
    @pytest.mark.parametrize(
        ("keys", "message"),
        [
            ({"gemma3.final_logit_softcapping": 30.0}, "caps logits (gemma3.final_logit_softc"),
            ({"gemma3.attn_logit_softcapping": 50.0}, "caps logits (gemma3.attn_logit_softcap"),
            ({"gemma3.rope.scaling.type": "yarn"}, "scales RoPE in the way 'yarn'"),
            ({"gemma3.attention.sliding_window": None}, "lacks the key gemma3.attention.sliding_w"),
            ({"gemma3.attention.sliding_window": 0}, "gemma3.attention.sliding_window is 0"),
            ({"gemma3.attention.sliding_window_pattern": 7}, "has 6 layers, all windowed"),
            ({"gemma3.attention.sliding_window_pattern": 0}, "sliding_window_pattern is 0"),
            ({"gemma3.block_count": 5}, "has 5 layers, all windowed"),
            ({"gemma3.block_count": 7}, "lacks the tensor blk.6.attn_norm.weight"),
            ({"gemma3.attention.key_length": None}, "value_length other than the head size 16"),
            ({"gemma3.attention.value_length": 64}, "value_length other than the head size 32"),
            ({"gemma3.attention.head_count_kv": 1}, "blk.0.attn_k.weight is (64, 64), not (32, 6"),
            ({"gemma3.feed_forward_length": 128}, "blk.0.ffn_gate.weight is (256, 64), not (128"),
            ({"split.count": 2}, "one piece of a split model"),
        ],
        ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
    )
    def test_by_name(self, keys: dict[str, object], message: str, target: Path) -> None:
        with pytest.raises(ModelError) as caught:
            imported(tiny_gemma3(keys), target)
        assert message in str(caught.value)
        assert not target.exists()

    def test_a_tensor_of_another_gemma(self, target: Path) -> None:
        model = tiny_gemma3()
        model.weights["blk.0.laurel_l.weight"] = np.ones((8, tiny.HIDDEN), np.float32)
        with pytest.raises(ModelError, match=r"has the tensor blk\.0\.laurel_l\.weight"):
            imported(model, target)
