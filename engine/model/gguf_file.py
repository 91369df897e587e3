"""Open a GGUF file from a stranger: lengths are checked before the reader believes them (S9).

The `gguf` package's reader trusts the counts in a file, so one lying array length can make it loop
for hours. The walk here touches only lengths and offsets; the reader then parses what is known to
be sound.
"""

from __future__ import annotations

import math
import mmap
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy.typing as npt
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType, GGUFReader, GGUFValueType

from engine.errors import ModelError

MAX_KEYS = 1 << 16
MAX_TENSORS = 1 << 16
MAX_ARRAY_ITEMS = 1 << 22
MAX_DIMS = 4
_MAX_ALIGNMENT = 1 << 16
_VERSIONS = (2, 3)

_SCALAR_BYTES = {
    GGUFValueType.UINT8: 1,
    GGUFValueType.INT8: 1,
    GGUFValueType.BOOL: 1,
    GGUFValueType.UINT16: 2,
    GGUFValueType.INT16: 2,
    GGUFValueType.UINT32: 4,
    GGUFValueType.INT32: 4,
    GGUFValueType.FLOAT32: 4,
    GGUFValueType.UINT64: 8,
    GGUFValueType.INT64: 8,
    GGUFValueType.FLOAT64: 8,
}


@dataclass(frozen=True, slots=True)
class GgufTensor:
    """A tensor as stored. `shape` is row-major (outputs, inputs); `data` maps the file.

    `data` is (rows, bytes of a row) uint8 for block types and has the tensor's own dtype otherwise.
    """

    name: str
    type: GGMLQuantizationType
    shape: tuple[int, ...]
    data: npt.NDArray[Any]


class GgufFile:
    """The metadata and tensors of one GGUF file. `name` is the file's name, for messages."""

    def __init__(self, path: Path) -> None:
        """Raises ModelError: the file is missing, no GGUF, truncated, or of an unknown version."""
        self.name = path.name
        try:
            _Structure(path).check()
            reader = GGUFReader(path)
        except OSError as error:
            raise ModelError(f"{path.name} cannot be read: {error.strerror}.") from error
        except (ValueError, KeyError, IndexError, TypeError, OverflowError) as error:
            raise ModelError(f"{path.name} is a broken GGUF file: {error}") from error
        self._fields = reader.fields
        self.tensors = {
            tensor.name: GgufTensor(
                name=tensor.name,
                type=tensor.tensor_type,
                shape=tuple(reversed(tensor.shape.tolist())),
                data=tensor.data,
            )
            for tensor in reader.tensors
        }

    def get(self, key: str, default: Any = None) -> Any:
        """The value of a metadata key as a plain Python object, or `default` without the key."""
        field = self._fields.get(key)
        if field is None:
            return default
        try:
            return field.contents()
        except (ValueError, IndexError) as error:
            raise ModelError(
                f"{self.name} is broken: the value of {key} cannot be read."
            ) from error

    def require(self, key: str) -> Any:
        """Like `get`; raises ModelError without the key."""
        if key not in self._fields:
            raise ModelError(f"{self.name} lacks the key {key}.")
        return self.get(key)

    def get_int(
        self, key: str, default: int | None = None, *, low: int = 0, high: int = 1 << 31
    ) -> int:
        """A whole number in [low, high). Raises ModelError otherwise, or without a value."""
        value = self.require(key) if default is None else self.get(key, default)
        if not isinstance(value, int) or not low <= value < high:
            raise ModelError(f"{self.name} is broken: {key} is {_shown(value)}.")
        return value

    def get_float(self, key: str, default: float | None = None) -> float:
        """A positive finite number. Raises ModelError otherwise, or without a value."""
        value = self.require(key) if default is None else self.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ModelError(f"{self.name} is broken: {key} is {_shown(value)}.")
        if not math.isfinite(value) or value <= 0:
            raise ModelError(f"{self.name} is broken: {key} is {value}.")
        return float(value)

    def get_list(self, key: str, item_type: type) -> list[Any]:
        """A list of `item_type`. Raises ModelError without the key or for anything else."""
        value = self.require(key)
        if not isinstance(value, list) or not all(isinstance(item, item_type) for item in value):
            raise ModelError(f"{self.name} is broken: {key} is not a list of {item_type.__name__}.")
        return value


def _shown(value: object) -> str:
    return repr(value)[:60]


class _Structure:
    """A walk over a GGUF file's lengths, counts, types and offsets."""

    def __init__(self, path: Path) -> None:
        self._name = path.name
        with path.open("rb") as file:
            if file.read(4) != b"GGUF":
                raise ModelError(f"{path.name} is not a GGUF file.")
            self._bytes = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self._at = 4
        self._alignment = 32

    def check(self) -> None:
        """Raises ModelError naming the first thing that cannot be right."""
        with self._bytes:
            version = self._number("<I")
            if version not in _VERSIONS:
                raise ModelError(
                    f"{self._name} is GGUF version {version} (or of the other byte order); "
                    f"versions {_VERSIONS[0]} and {_VERSIONS[1]} can be read."
                )
            num_tensors = self._count("<Q", MAX_TENSORS, "tensors")
            num_keys = self._count("<Q", MAX_KEYS, "keys")
            for _ in range(num_keys):
                self._check_key()
            extents = [self._tensor_extent() for _ in range(num_tensors)]
            data_start = self._at + -self._at % self._alignment
            for name, offset, num_bytes in extents:
                if data_start + offset + num_bytes > len(self._bytes):
                    raise ModelError(
                        f"{self._name} is truncated: tensor {name} ends at byte "
                        f"{data_start + offset + num_bytes} of {len(self._bytes)}."
                    )

    def _number(self, layout: str) -> int:
        self._need(struct.calcsize(layout))
        (value,) = struct.unpack_from(layout, self._bytes, self._at)
        self._at += struct.calcsize(layout)
        return int(value)

    def _need(self, num_bytes: int) -> None:
        if num_bytes > len(self._bytes) - self._at:
            raise ModelError(
                f"{self._name} is truncated: {num_bytes} bytes are announced at byte {self._at}, "
                f"the file ends at {len(self._bytes)}."
            )

    def _skip(self, num_bytes: int) -> None:
        self._need(num_bytes)
        self._at += num_bytes

    def _count(self, layout: str, limit: int, what: str) -> int:
        count = self._number(layout)
        if count > limit:
            raise ModelError(f"{self._name} is broken: it claims {count} {what}.")
        return count

    def _text(self) -> str:
        num_bytes = self._number("<Q")
        self._need(num_bytes)
        text = self._bytes[self._at : self._at + num_bytes]
        self._at += num_bytes
        return text.decode()

    def _check_key(self) -> None:
        key = self._text()
        value_type = self._number("<I")
        if key == "general.alignment":
            self._check_alignment(value_type)
        self._check_value(key, value_type)

    def _check_alignment(self, value_type: int) -> None:
        if value_type != GGUFValueType.UINT32:
            raise ModelError(f"{self._name} is broken: general.alignment is no 32-bit number.")
        self._need(4)
        (alignment,) = struct.unpack_from("<I", self._bytes, self._at)
        if not 0 < alignment <= _MAX_ALIGNMENT or alignment & (alignment - 1):
            raise ModelError(f"{self._name} is broken: general.alignment is {alignment}.")
        self._alignment = alignment

    def _check_value(self, key: str, value_type: int) -> None:
        if value_type == GGUFValueType.ARRAY:
            item_type = self._number("<I")
            num_items = self._count("<Q", MAX_ARRAY_ITEMS, f"items of {key[:80]}")
            if item_type == GGUFValueType.STRING:
                for _ in range(num_items):
                    self._skip(self._number("<Q"))
            else:
                self._skip(num_items * self._scalar_bytes(key, item_type))
        elif value_type == GGUFValueType.STRING:
            self._skip(self._number("<Q"))
        else:
            self._skip(self._scalar_bytes(key, value_type))

    def _scalar_bytes(self, key: str, value_type: int) -> int:
        try:
            return _SCALAR_BYTES[GGUFValueType(value_type)]
        except (ValueError, KeyError) as error:
            raise ModelError(
                f"{self._name} is broken: {key[:80]} has a value of the unknown type {value_type}."
            ) from error

    def _tensor_extent(self) -> tuple[str, int, int]:
        name = self._text()[:80]
        dims = [
            self._number("<Q") for _ in range(self._count("<I", MAX_DIMS, f"dimensions of {name}"))
        ]
        raw_type = self._number("<I")
        offset = self._number("<Q")
        try:
            block_items, block_bytes = GGML_QUANT_SIZES[GGMLQuantizationType(raw_type)]
        except (ValueError, KeyError) as error:
            raise ModelError(
                f"{self._name} stores tensor {name} in the unknown type {raw_type}."
            ) from error
        num_items = math.prod(dims)
        if not dims or num_items == 0 or dims[0] % block_items or offset % self._alignment:
            raise ModelError(
                f"{self._name} is broken: tensor {name} has dimensions {dims} at offset {offset}."
            )
        return name, offset, num_items // block_items * block_bytes
