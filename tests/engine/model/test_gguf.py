"""GGUF import (issue item 3): the same numbers and tokens as the file, or one clear error and
nothing left.
"""

from __future__ import annotations

import errno
import json
import multiprocessing
import random
import re
import shutil
import struct
from pathlib import Path

import mlx.core as mx
import numpy as np
import pytest
from gguf import GGMLQuantizationType, dequantize, quantize
from mlx.utils import tree_unflatten
from mlx_lm.models import llama
from mlx_lm.utils import load as load_model

from engine.errors import DiskFull, ModelError
from engine.model import safetensors_file
from engine.model.catalog import check_folder
from engine.model.gguf import WeightForm, import_gguf
from engine.model.gguf_file import GgufFile
from engine.model.gguf_llama import read_llama
from tests.support import tiny_gguf
from tests.support.tiny_gguf import TinyGguf

BLOCK_TYPES = {
    "blk.0.attn_q.weight": GGMLQuantizationType.Q4_1,
    "blk.0.attn_k.weight": GGMLQuantizationType.Q4_0,
    "blk.0.ffn_up.weight": GGMLQuantizationType.Q8_0,
    "blk.1.ffn_down.weight": GGMLQuantizationType.Q4_1,
    "blk.1.ffn_up.weight": GGMLQuantizationType.Q5_1,
    "blk.1.attn_v.weight": GGMLQuantizationType.F16,
    "token_embd.weight": GGMLQuantizationType.Q8_0,
}


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "models" / "Tiny"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A sound file to break."""
    return TinyGguf().write(tmp_path_factory.mktemp("gguf") / "tiny.gguf").read_bytes()


def assert_nothing_left(target: Path) -> None:
    """No folder and no half of one; the lock file is no model."""
    names = [path.name for path in target.parent.glob("*")] if target.parent.exists() else []
    assert [name for name in names if not name.endswith(".lock")] == []


def import_error(tiny: TinyGguf, target: Path) -> str:
    source = tiny.write(target.parent.parent / "tiny.gguf")
    with pytest.raises(ModelError) as caught:
        import_gguf(source, target, WeightForm.FLOAT32)
    assert_nothing_left(target)
    return str(caught.value)


class TestWeights:
    def test_logits_are_those_of_the_model_that_was_written(
        self, tmp_path: Path, target: Path
    ) -> None:
        tiny = TinyGguf()
        import_gguf(tiny.write(tmp_path / "tiny.gguf"), target, WeightForm.FLOAT32)
        imported, tokenizer = load_model(str(target))
        original = llama.Model(
            llama.ModelArgs(
                model_type="llama",
                hidden_size=tiny_gguf.HIDDEN,
                num_hidden_layers=tiny_gguf.LAYERS,
                intermediate_size=tiny_gguf.INNER,
                num_attention_heads=tiny_gguf.HEADS,
                num_key_value_heads=tiny_gguf.KV_HEADS,
                rms_norm_eps=1e-5,
                vocab_size=len(tiny_gguf.TOKENS),
                rope_theta=10_000.0,
                rope_traditional=True,
            )
        )
        places = read_llama(GgufFile(tmp_path / "tiny.gguf")).places()
        weights = {
            f"{places[name].module}.weight": mx.array(value) for name, value in tiny.weights.items()
        }
        original.update(tree_unflatten(list(weights.items())))
        prompt = mx.array([tokenizer.encode("hello world 42")])
        assert mx.array_equal(imported(prompt), original(prompt))

    def test_float_form_is_what_the_gguf_package_dequantises(
        self, tmp_path: Path, target: Path
    ) -> None:
        tiny = TinyGguf(types=BLOCK_TYPES)
        import_gguf(tiny.write(tmp_path / "tiny.gguf"), target, WeightForm.FLOAT32)
        places = read_llama(GgufFile(tmp_path / "tiny.gguf")).places()
        imported = mx.load(str(target / "model.safetensors"))
        for name, type_ in BLOCK_TYPES.items():
            expected = dequantize(quantize(tiny.weights[name], type_), type_)
            actual = np.array(imported[f"{places[name].module}.weight"])
            assert np.array_equal(actual, expected), name

    def test_kept_form_holds_exactly_the_same_numbers(self, tmp_path: Path, target: Path) -> None:
        source = TinyGguf(types=BLOCK_TYPES).write(tmp_path / "tiny.gguf")
        kept = import_gguf(source, target, WeightForm.KEPT)
        floats = import_gguf(source, target.with_name("Floats"), WeightForm.FLOAT32)
        assert largest_difference(kept, floats, expected_quantised=5) == 0.0

    def test_mlx_lm_reads_the_kept_bits_of_each_layer(self, tmp_path: Path, target: Path) -> None:
        tiny = TinyGguf(types=BLOCK_TYPES)
        import_gguf(tiny.write(tmp_path / "tiny.gguf"), target, WeightForm.KEPT)
        model, _ = load_model(str(target))
        first, second = model.model.layers
        assert (first.self_attn.q_proj.bits, first.self_attn.q_proj.group_size) == (4, 32)
        assert (first.mlp.up_proj.bits, model.model.embed_tokens.bits) == (8, 8)
        assert second.mlp.down_proj.bits == 4
        assert second.mlp.up_proj.weight.dtype == mx.float16

    def test_starter_kept_in_four_bits_equals_the_float_starter(
        self, starter_gguf: Path, starter_model: Path, target: Path
    ) -> None:
        kept = import_gguf(starter_gguf, target, WeightForm.KEPT)
        assert largest_difference(kept, starter_model, expected_quantised=211) == 0.0
        assert sum(file.stat().st_size for file in kept.iterdir()) < 105e6
        prompt = mx.array([[1, 4093, 198, 1780, 314, 260, 3575, 282, 4649, 47, 2]])
        logits = []
        for folder in (kept, starter_model):
            model, _ = load_model(str(folder))
            model.set_dtype(mx.float32)
            logits.append(model(prompt))
        assert mx.abs(logits[0] - logits[1]).max().item() < 1e-3

    def test_numbers_beyond_half_precision_are_refused_in_the_kept_form(
        self, tmp_path: Path, target: Path
    ) -> None:
        tiny = TinyGguf()
        tiny.weights["output_norm.weight"][3] = 1e6
        source = tiny.write(tmp_path / "tiny.gguf")
        with pytest.raises(ModelError, match=r"output_norm\.weight holds numbers that float16"):
            import_gguf(source, target, WeightForm.KEPT)
        assert_nothing_left(target)

    def test_untied_output_becomes_lm_head(self, tmp_path: Path, target: Path) -> None:
        tiny = TinyGguf()
        tiny.weights["output.weight"] = 2 * tiny.weights["token_embd.weight"]
        import_gguf(tiny.write(tmp_path / "tiny.gguf"), target, WeightForm.FLOAT32)
        model, _ = load_model(str(target))
        assert mx.array_equal(model.lm_head.weight, 2 * model.model.embed_tokens.weight)

    def test_linear_rope_scaling_is_kept(self, tmp_path: Path, target: Path) -> None:
        tiny = TinyGguf(
            keys={"llama.rope.scaling.type": "linear", "llama.rope.scaling.factor": 4.0}
        )
        import_gguf(tiny.write(tmp_path / "tiny.gguf"), target, WeightForm.FLOAT32)
        model, _ = load_model(str(target))
        assert model.layers[0].self_attn.rope.scale == 0.25


def largest_difference(kept: Path, floats: Path, expected_quantised: int) -> float:
    """Largest |Δ| between the dequantised weights of one folder and the floats of another."""
    packed = mx.load(str(kept / "model.safetensors"))
    worst, quantised = 0.0, 0
    for name, weight in mx.load(str(floats / "model.safetensors")).items():
        value = packed[name]
        module = name.removesuffix(".weight")
        if f"{module}.scales" in packed:
            quantised += 1
            value = mx.dequantize(
                value,
                packed[f"{module}.scales"].astype(mx.float32),
                packed[f"{module}.biases"].astype(mx.float32),
                group_size=32,
                bits=value.shape[-1] * 32 // weight.shape[-1],
            )
        worst = max(worst, mx.abs(value - weight.astype(value.dtype)).max().item())
    assert quantised == expected_quantised
    return worst


class TestFolder:
    def test_is_a_folder_that_ondol_accepts(self, tmp_path: Path, target: Path) -> None:
        import_gguf(TinyGguf().write(tmp_path / "tiny.gguf"), target, WeightForm.FLOAT32)
        check_folder(target)
        assert sorted(path.name for path in target.iterdir()) == [
            "config.json",
            "generation_config.json",
            "model.safetensors",
            "tokenizer.json",
            "tokenizer_config.json",
        ]

    def test_config_says_what_the_file_said(self, tmp_path: Path, target: Path) -> None:
        import_gguf(TinyGguf().write(tmp_path / "tiny.gguf"), target, WeightForm.FLOAT32)
        config = json.loads((target / "config.json").read_text())
        expected = {
            "model_type": "llama",
            "rope_traditional": True,
            "rms_norm_eps": 1e-5,
            "num_key_value_heads": tiny_gguf.KV_HEADS,
            "head_dim": tiny_gguf.HEAD_DIM,
            "max_position_embeddings": 128,
            "tie_word_embeddings": True,
            "eos_token_id": [2, 0],
        }
        assert {key: config[key] for key in expected} == expected
        generation = json.loads((target / "generation_config.json").read_text())
        assert generation["eos_token_id"] == [2, 0]

    def test_an_existing_folder_is_left_as_it_is(self, tmp_path: Path, target: Path) -> None:
        target.mkdir(parents=True)
        (target / "mine").write_text("kept")
        import_gguf(TinyGguf().write(tmp_path / "tiny.gguf"), target, WeightForm.FLOAT32)
        assert [path.name for path in target.iterdir()] == ["mine"]

    def test_too_little_disk_is_said_with_both_figures(
        self, tmp_path: Path, target: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        source = TinyGguf().write(tmp_path / "tiny.gguf")
        usage = shutil.disk_usage(tmp_path)._replace(free=7_000_000)
        monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
        with pytest.raises(DiskFull, match=r"needs 34 MB of free disk; there are 7 MB"):
            import_gguf(source, target, WeightForm.FLOAT32)
        assert_nothing_left(target)

    def test_a_disk_that_fills_up_meanwhile_leaves_nothing(
        self, tmp_path: Path, target: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fill_up(path: Path, *_: object) -> None:
            path.write_bytes(b"half")
            raise OSError(errno.ENOSPC, "No space left on device")

        source = TinyGguf().write(tmp_path / "tiny.gguf")
        monkeypatch.setattr(safetensors_file, "write", fill_up)
        with pytest.raises(DiskFull, match="Tiny"):
            import_gguf(source, target, WeightForm.FLOAT32)
        assert_nothing_left(target)

    def test_an_interrupted_import_leaves_nothing(
        self, tmp_path: Path, target: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def interrupt(path: Path, *_: object) -> None:
            path.write_bytes(b"half")
            raise KeyboardInterrupt

        source = TinyGguf().write(tmp_path / "tiny.gguf")
        monkeypatch.setattr(safetensors_file, "write", interrupt)
        with pytest.raises(KeyboardInterrupt):
            import_gguf(source, target, WeightForm.FLOAT32)
        assert_nothing_left(target)

    def test_remains_of_a_killed_import_are_swept_away(self, tmp_path: Path, target: Path) -> None:
        remains = target.parent / ".Tiny.abc123.partial"
        remains.mkdir(parents=True)
        (remains / "model.safetensors").write_bytes(b"half")
        import_gguf(TinyGguf().write(tmp_path / "tiny.gguf"), target, WeightForm.FLOAT32)
        assert not remains.exists()
        check_folder(target)

    def test_two_processes_at_once_make_one_whole_folder(
        self, tmp_path: Path, target: Path
    ) -> None:
        source = TinyGguf().write(tmp_path / "tiny.gguf")
        context = multiprocessing.get_context("spawn")
        processes = [
            context.Process(target=import_gguf, args=(source, target, WeightForm.FLOAT32))
            for _ in range(2)
        ]
        for process in processes:
            process.start()
        for process in processes:
            process.join(60)
        assert [process.exitcode for process in processes] == [0, 0]
        check_folder(target)
        assert [path.name for path in target.parent.iterdir() if path.is_dir()] == ["Tiny"]


class TestRefused:
    @pytest.mark.parametrize(
        ("keys", "message"),
        [
            (
                {"general.architecture": "qwen3"},
                "architecture 'qwen3'; only 'llama' and 'gemma3' can be imported",
            ),
            ({"llama.expert_count": 8}, "mixture of experts"),
            ({"split.count": 4}, "one piece of a split model"),
            ({"llama.rope.scaling.type": "yarn"}, "scales RoPE in the way 'yarn'"),
            ({"llama.rope.dimension_count": 8}, "llama.rope.dimension_count other than"),
            ({"llama.block_count": None}, "lacks the key llama.block_count"),
            ({"llama.block_count": 3}, "lacks the tensor blk.2.attn_norm.weight"),
            ({"llama.block_count": 1}, "has the tensor blk.1.attn_k.weight"),
            ({"llama.block_count": 1 << 30}, "llama.block_count is 1073741824"),
            ({"llama.attention.head_count": "four"}, "llama.attention.head_count is 'four'"),
            ({"llama.attention.head_count_kv": 3}, "4 heads share 3 KV heads"),
            ({"llama.feed_forward_length": 64}, "blk.0.ffn_gate.weight is (96, 64), not (64, 64)"),
            ({"llama.attention.layer_norm_rms_epsilon": float("nan")}, "rms_epsilon is nan"),
            ({"tokenizer.ggml.model": "t5"}, "tokenizer of the kind 't5'"),
            ({"tokenizer.ggml.model": ["gpt2"]}, "tokenizer of the kind ['gpt2']"),
            ({"tokenizer.ggml.pre": "tekken"}, "splits words in the way 'tekken'"),
            ({"tokenizer.ggml.merges": ["h z"]}, "the merge 'h z' is not of its vocabulary"),
            ({"tokenizer.ggml.token_type": [1, 1]}, "tokens have 2 types"),
            ({"tokenizer.ggml.eos_token_id": 9999}, "tokenizer.ggml.eos_token_id is 9999"),
            ({"tokenizer.ggml.tokens": ["a", "a"]}, "names a token twice"),
            ({"tokenizer.chat_template": 5}, "its chat template is not text"),
        ],
        ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
    )
    def test_by_name(self, keys: dict[str, object], message: str, target: Path) -> None:
        error = import_error(TinyGguf(keys=keys), target)
        assert message in error
        assert str(target.parent.parent) not in error

    def test_another_vocabulary_size_than_the_embedding(self, target: Path) -> None:
        tiny = TinyGguf()
        tiny.weights["token_embd.weight"] = tiny.weights["token_embd.weight"][:-1]
        assert "264 tokens, 263 embeddings" in import_error(tiny, target)

    def test_frequency_factors_of_long_context_variants(self, target: Path) -> None:
        tiny = TinyGguf()
        tiny.weights["rope_freqs.weight"] = np.ones(8, np.float32)
        assert "has the tensor rope_freqs.weight" in import_error(tiny, target)

    def test_a_tensor_type_without_a_dequantiser(self, tmp_path: Path, target: Path) -> None:
        data = bytearray(TinyGguf().write(tmp_path / "tiny.gguf").read_bytes())
        set_tensor_type(data, "output_norm.weight", GGMLQuantizationType.I32)
        assert "output_norm.weight is stored as I32" in error_of(data, target)

    def test_a_missing_file(self, tmp_path: Path, target: Path) -> None:
        with pytest.raises(ModelError, match=r"gone\.gguf cannot be read: No such file"):
            import_gguf(tmp_path / "gone.gguf", target, WeightForm.FLOAT32)

    def test_a_folder(self, tmp_path: Path, target: Path) -> None:
        with pytest.raises(ModelError, match="cannot be read: Is a directory"):
            import_gguf(tmp_path, target, WeightForm.FLOAT32)


def set_tensor_type(data: bytearray, name: str, type_: int) -> None:
    """Rewrite the type of a one-dimensional tensor: name, number of dimensions, dimension, type."""
    at = data.index(struct.pack("<Q", len(name)) + name.encode()) + 8 + len(name) + 4 + 8
    data[at : at + 4] = struct.pack("<I", type_)


def error_of(data: bytes, target: Path) -> str:
    source = target.parent.parent / "changed.gguf"
    source.write_bytes(data)
    with pytest.raises(ModelError) as caught:
        import_gguf(source, target, WeightForm.FLOAT32)
    assert_nothing_left(target)
    return str(caught.value)


class TestBrokenFiles:
    """Security S9: lengths and counts from a stranger."""

    def test_empty(self, target: Path) -> None:
        assert "is not a GGUF file" in error_of(b"", target)

    def test_wrong_magic(self, whole: bytes, target: Path) -> None:
        assert "is not a GGUF file" in error_of(b"GGML" + whole[4:], target)

    def test_unknown_version(self, whole: bytes, target: Path) -> None:
        assert "is GGUF version 9" in error_of(whole[:4] + struct.pack("<I", 9) + whole[8:], target)

    def test_other_byte_order(self, whole: bytes, target: Path) -> None:
        data = whole[:4] + struct.pack(">I", 3) + whole[8:]
        assert "of the other byte order" in error_of(data, target)

    @pytest.mark.parametrize(("at", "what"), [(8, "tensors"), (16, "keys")])
    def test_absurd_counts(self, whole: bytes, target: Path, at: int, what: str) -> None:
        data = whole[:at] + struct.pack("<Q", 1 << 62) + whole[at + 8 :]
        assert f"claims {1 << 62} {what}" in error_of(data, target)

    def test_absurd_array_length(self, whole: bytes, target: Path) -> None:
        at = whole.index(b"tokenizer.ggml.token_type") + len("tokenizer.ggml.token_type") + 8
        data = whole[:at] + struct.pack("<Q", 1 << 60) + whole[at + 8 :]
        assert f"claims {1 << 60} items of tokenizer.ggml.token_type" in error_of(data, target)

    def test_absurd_string_length(self, whole: bytes, target: Path) -> None:
        at = whole.index(b"tokenizer.ggml.pre") + len("tokenizer.ggml.pre") + 4
        data = whole[:at] + struct.pack("<Q", 1 << 63) + whole[at + 8 :]
        assert "is truncated" in error_of(data, target)

    def test_unknown_tensor_type(self, whole: bytes, target: Path) -> None:
        data = bytearray(whole)
        set_tensor_type(data, "output_norm.weight", 4711)
        assert "output_norm.weight in the unknown type 4711" in error_of(data, target)

    def test_a_key_twice(self, whole: bytes, target: Path) -> None:
        data = whole.replace(b"tokenizer.ggml.bos_token_id", b"tokenizer.ggml.eos_token_id")
        assert "is a broken GGUF file: 'Duplicate" in error_of(data, target)

    def test_truncated_anywhere(self, whole: bytes, target: Path) -> None:
        rng = random.Random(1)
        for length in sorted(rng.sample(range(1, len(whole) - 1), 150)):
            error = error_of(whole[:length], target)
            assert re.search("truncated|is not a GGUF file|is broken", error), (length, error)

    def test_random_damage_never_gets_past_a_model_error(self, whole: bytes, target: Path) -> None:
        rng = random.Random(2)
        header_bytes = whole.index(b"output_norm.weight") + 2000
        refused = 0
        for _ in range(200):
            data = bytearray(whole)
            for _ in range(rng.randint(1, 4)):
                data[rng.randrange(header_bytes)] = rng.choice(
                    [0, 1, 0x7F, 0xFF, rng.randrange(256)]
                )
            source = target.parent.parent / "damaged.gguf"
            source.write_bytes(data)
            try:
                import_gguf(source, target, WeightForm.KEPT)
            except ModelError:
                refused += 1
                assert_nothing_left(target)
            else:
                shutil.rmtree(target)
        assert 20 < refused < 200
