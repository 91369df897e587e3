"""The safetensors file format: a checked look at a header, and a writer that holds one tensor at a
time.

The file is an unsigned 64-bit header length, a JSON header that gives every tensor's dtype, shape
and byte range, and the bytes themselves. The `safetensors` package writes only from a full
dictionary, which would need the whole model in memory beside the file it is converted from.
"""

from __future__ import annotations

import json
import math
import os
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.errors import ModelError

if TYPE_CHECKING:
    import numpy.typing as npt

MAX_HEADER_BYTES = 100_000_000
_HEADER_ALIGNMENT = 8

_DTYPE_BITS = {
    "BOOL": 8, "U8": 8, "I8": 8, "F8_E4M3": 8, "F8_E5M2": 8, "F8_E8M0": 8,
    "U16": 16, "I16": 16, "F16": 16, "BF16": 16,
    "U32": 32, "I32": 32, "F32": 32,
    "U64": 64, "I64": 64, "F64": 64,
}  # fmt: skip
_DTYPE_OF_NUMPY = {"float32": "F32", "float16": "F16", "uint32": "U32"}


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """One tensor as the header names it. `shape` is row-major, `dtype` a safetensors name such as
    "F32".
    """

    name: str
    dtype: str
    shape: tuple[int, ...]

    @property
    def num_bytes(self) -> int:
        return math.prod(self.shape) * _DTYPE_BITS[self.dtype] // 8


def dtype_name(dtype: npt.DTypeLike) -> str:
    """The safetensors name of a NumPy dtype that Ondol writes. Raises KeyError for any other."""
    import numpy as np  # 0.1 s that only a conversion needs

    return _DTYPE_OF_NUMPY[np.dtype(dtype).name]


def write(
    path: Path,
    specs: Iterable[TensorSpec],
    tensors: Iterable[npt.NDArray[Any]],
    metadata: dict[str, str],
) -> None:
    """Write `tensors`, which come in the order of `specs`, and flush them to the disk.

    Each tensor is dropped before the next one is asked for. Raises ValueError when a tensor does
    not match its spec, OSError as the disk does; the file is then incomplete and for the caller to
    remove.
    """
    import numpy as np

    specs = list(specs)
    header = _encode_header(specs, metadata)
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(header)))
        file.write(header)
        for spec, tensor in zip(specs, tensors, strict=True):
            if tensor.shape != spec.shape or dtype_name(tensor.dtype) != spec.dtype:
                raise ValueError(f"{spec} does not describe {tensor.dtype} {tensor.shape}")
            file.write(np.ascontiguousarray(tensor).data)
        file.flush()
        os.fsync(file.fileno())


def file_size(specs: Iterable[TensorSpec], metadata: dict[str, str]) -> int:
    """Bytes that `write` would put on the disk."""
    specs = list(specs)
    return 8 + len(_encode_header(specs, metadata)) + sum(spec.num_bytes for spec in specs)


def _encode_header(specs: list[TensorSpec], metadata: dict[str, str]) -> bytes:
    entries: dict[str, object] = {"__metadata__": metadata}
    end = 0
    for spec in specs:
        start, end = end, end + spec.num_bytes
        entries[spec.name] = {
            "dtype": spec.dtype,
            "shape": list(spec.shape),
            "data_offsets": [start, end],
        }
    encoded = json.dumps(entries, separators=(",", ":")).encode()
    return encoded + b" " * (-len(encoded) % _HEADER_ALIGNMENT)


def read_header(path: Path) -> list[TensorSpec]:
    """The tensors of a safetensors file, its whole header checked against the file's size (security
    S9).

    Raises ModelError: the header is larger than the file, is not JSON of the expected form, or a
    tensor's dtype is unknown, its byte range leaves the file, overlaps another, leaves a gap, or
    does not equal dtype × shape.
    """
    try:
        with path.open("rb") as file:
            file_bytes = os.fstat(file.fileno()).st_size
            prefix = file.read(8)
            if len(prefix) < 8:
                raise ModelError(f"{path.name} is truncated: it has {len(prefix)} bytes.")
            (header_bytes,) = struct.unpack("<Q", prefix)
            if header_bytes > min(MAX_HEADER_BYTES, file_bytes - 8):
                raise ModelError(
                    f"{path.name} is broken: its header claims {header_bytes} bytes "
                    f"in a file of {file_bytes}."
                )
            encoded = file.read(header_bytes)
    except OSError as error:
        raise ModelError(f"{path.name} cannot be read: {error.strerror}.") from error
    return _checked_specs(path.name, encoded, file_bytes - 8 - header_bytes)


def _checked_specs(file_name: str, encoded: bytes, data_bytes: int) -> list[TensorSpec]:
    try:
        header = json.loads(encoded)
    except (ValueError, RecursionError) as error:
        raise ModelError(f"{file_name} is broken: its header is not JSON.") from error
    if not isinstance(header, dict):
        raise ModelError(f"{file_name} is broken: its header is not a JSON object.")
    header.pop("__metadata__", None)
    ranges: list[tuple[int, int, str]] = []
    specs: list[TensorSpec] = []
    for name, entry in header.items():
        spec, start, end = _checked_entry(file_name, name, entry, data_bytes)
        specs.append(spec)
        ranges.append((start, end, name))
    expected_start = 0
    for start, end, name in sorted(ranges):
        if start != expected_start:
            raise ModelError(
                f"{file_name} is broken: the bytes of {_short(name)} start at {start}, "
                f"not at {expected_start} where the tensor before them ends."
            )
        expected_start = end
    if expected_start != data_bytes:
        raise ModelError(
            f"{file_name} is broken: its tensors take {expected_start} bytes, "
            f"the file holds {data_bytes}."
        )
    return specs


def _checked_entry(
    file_name: str, name: str, entry: object, data_bytes: int
) -> tuple[TensorSpec, int, int]:
    broken = f"{file_name} is broken: tensor {_short(name)}"
    if not isinstance(entry, dict):
        raise ModelError(f"{broken} has no description.")
    dtype = entry.get("dtype")
    if not isinstance(dtype, str) or dtype not in _DTYPE_BITS:
        raise ModelError(f"{broken} has the unknown dtype {_short(str(dtype))}.")
    shape, offsets = _counts(entry.get("shape")), _counts(entry.get("data_offsets"))
    if shape is None or offsets is None or len(offsets) != 2:
        raise ModelError(f"{broken} has no valid shape and byte range.")
    start, end = offsets
    if not start <= end <= data_bytes:
        raise ModelError(f"{broken} claims bytes {start} to {end} of {data_bytes}.")
    spec = TensorSpec(name, dtype, shape)
    if spec.num_bytes != end - start:
        raise ModelError(
            f"{broken} has {end - start} bytes, its dtype and shape ask for {spec.num_bytes}."
        )
    return spec, start, end


def _counts(value: object) -> tuple[int, ...] | None:
    """A list of whole numbers from 0 on; None for anything else."""
    if not isinstance(value, list):
        return None
    if not all(type(item) is int and item >= 0 for item in value):
        return None
    return tuple(value)


def _short(text: str) -> str:
    return repr(text if len(text) <= 80 else text[:77] + "...")
