"""The hybrid model that the bench makes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from app.bench.hybrid_model import HybridShape, write
from engine.model import catalog
from engine.model.safetensors_file import read_header

SHAPE = HybridShape(hidden=32, layers=3, attention_interval=3, heads=2, head_dim=16, vocabulary=64)


def test_mlx_lm_loads_it_as_a_hybrid(tmp_path: Path) -> None:
    from engine.model.loader import load

    folder = write(tmp_path / "hybrid", SHAPE)
    catalog.check_folder(folder)
    loaded = load(folder)
    assert loaded.layout.describe() == "2 recurrent, 1 full attention"
    assert (loaded.dtype, loaded.context_window) == ("float32", SHAPE.context_window)
    assert loaded.tokenizer.get_vocab_size() == 64
    assert loaded.tokenizer.encode("w3 w63 elsewhere").ids == [3, 63, 0]


def test_the_same_shape_gives_the_same_model(tmp_path: Path) -> None:
    one, other = write(tmp_path / "one", SHAPE), write(tmp_path / "other", SHAPE)
    for file in sorted(one.iterdir()):
        assert file.read_bytes() == (other / file.name).read_bytes()


def test_sizes_are_those_asked_for(tmp_path: Path) -> None:
    folder = write(tmp_path / "hybrid", SHAPE)
    shapes = {spec.name: spec.shape for spec in read_header(folder / "model.safetensors")}
    assert shapes["model.embed_tokens.weight"] == (64, 32)
    assert shapes["model.layers.0.linear_attn.conv1d.weight"] == (2 * 16 + 32, 4, 1)
    assert shapes["model.layers.2.self_attn.q_proj.weight"] == (2 * 32, 32)
    assert "model.layers.3.input_layernorm.weight" not in shapes
    assert json.loads((folder / "config.json").read_text())["full_attention_interval"] == 3


def test_a_folder_that_is_there_is_left_alone(tmp_path: Path) -> None:
    with pytest.raises(FileExistsError):
        write(tmp_path, SHAPE)
    assert list(tmp_path.iterdir()) == []
