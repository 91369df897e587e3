"""The safetensors format: written as others read it, and headers from strangers (security S9)."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from engine.errors import ModelError
from engine.model.safetensors_file import TensorSpec, file_size, read_header, write

TENSORS = {
    "a": np.arange(6, dtype=np.float32).reshape(2, 3),
    "b": np.array([1.5, -2.0], np.float16),
    "c": np.array([[7]], np.uint32),
}
SPECS = [
    TensorSpec("a", "F32", (2, 3)),
    TensorSpec("b", "F16", (2,)),
    TensorSpec("c", "U32", (1, 1)),
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "model.safetensors"


def test_the_safetensors_package_reads_what_is_written(path: Path) -> None:
    write(path, SPECS, TENSORS.values(), {"format": "mlx"})
    loaded = load_file(path)
    assert loaded.keys() == TENSORS.keys()
    assert all(np.array_equal(loaded[name], TENSORS[name]) for name in TENSORS)
    assert path.stat().st_size == file_size(SPECS, {"format": "mlx"})


def test_reads_what_the_safetensors_package_writes(path: Path) -> None:
    save_file(TENSORS, path)
    assert sorted(read_header(path), key=lambda spec: spec.name) == SPECS


def test_writes_tensors_that_are_not_contiguous(path: Path) -> None:
    write(path, [TensorSpec("a", "F32", (3, 2))], [TENSORS["a"].T], {})
    assert np.array_equal(load_file(path)["a"], TENSORS["a"].T)


def test_holds_one_tensor_at_a_time(path: Path) -> None:
    alive: list[str] = []

    def tensors() -> Any:
        for name, tensor in TENSORS.items():
            alive.append(name)
            yield tensor
            # The writer comes back for the next tensor only once this one is in the file.
            assert path.exists()

    write(path, SPECS, tensors(), {})
    assert alive == ["a", "b", "c"]


@pytest.mark.parametrize(
    "tensor", [np.zeros((3, 2), np.float32), np.zeros((2, 3), np.float16)], ids=["shape", "dtype"]
)
def test_a_tensor_unlike_its_spec_is_a_bug(path: Path, tensor: np.ndarray) -> None:
    with pytest.raises(ValueError, match="does not describe"):
        write(path, SPECS[:1], [tensor], {})


def entry(
    dtype: object = "F32", shape: object = (2,), offsets: object = (0, 8)
) -> dict[str, object]:
    return {"dtype": dtype, "shape": shape, "data_offsets": offsets}


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ({"w": entry(dtype="F99")}, "tensor 'w' has the unknown dtype 'F99'"),
        ({"w": entry(shape=[-2])}, "no valid shape"),
        ({"w": entry(shape=[2.0])}, "no valid shape"),
        ({"w": entry(shape=[True, 2])}, "no valid shape"),
        ({"w": entry(offsets=[0])}, "no valid shape and byte range"),
        ({"w": entry(offsets=[8, 0])}, "claims bytes 8 to 0 of 8"),
        ({"w": entry(offsets=[0, 1 << 40])}, f"claims bytes 0 to {1 << 40} of 8"),
        ({"w": entry(shape=[3])}, "has 8 bytes, its dtype and shape ask for 12"),
        ({"w": entry(shape=[1 << 62, 1 << 62])}, "its dtype and shape ask for"),
        ({"w": [1]}, "tensor 'w' has no description"),
        ({"v": entry(), "w": entry()}, "the bytes of 'w' start at 0, not at 8"),
        ({"w": entry(shape=[1], offsets=[4, 8])}, "start at 4, not at 0"),
        ({"w": entry(shape=[1], offsets=[0, 4])}, "tensors take 4 bytes, the file holds 8"),
        ([1, 2], "its header is not a JSON object"),
        ("{", "its header is not JSON"),
        ("[" * 100_000, "its header is not JSON"),
    ],
)
def test_broken_headers_are_refused(path: Path, header: object, message: str) -> None:
    encoded = (header if isinstance(header, str) else json.dumps(header)).encode()
    path.write_bytes(struct.pack("<Q", len(encoded)) + encoded + bytes(8))
    with pytest.raises(ModelError) as caught:
        read_header(path)
    assert message in str(caught.value)
    assert str(path.parent) not in str(caught.value)


@pytest.mark.parametrize("data", [b"", b"abc", struct.pack("<Q", 1 << 60) + b"{}"])
def test_truncated_files_are_refused(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    with pytest.raises(ModelError, match=r"model\.safetensors is (truncated|broken)"):
        read_header(path)


def test_a_file_cut_short_is_refused(path: Path) -> None:
    save_file(TENSORS, path)
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(ModelError, match="claims bytes"):
        read_header(path)
