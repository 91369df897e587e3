"""GGUF tensors as MLX wants them: plain floats, or the same small integers in MLX's own packing.

MLX's affine quantisation is w = scale · q + bias over groups of inputs, with q unsigned and packed
into 32-bit words, the first input in the lowest bits. GGUF's simplest block types say the same in
other bytes, so they can be kept without losing a bit. Not so the K types: their groups' scales are
products of 17 significant bits, and MLX's are float16 where activations are.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from gguf import GGMLQuantizationType, dequantize

from engine.errors import ModelError
from engine.model.gguf_file import GgufTensor
from engine.model.safetensors_file import TensorSpec, dtype_name

GROUP_SIZE = 32

Array = npt.NDArray[Any]


class WeightForm(enum.Enum):
    """What an import makes of quantised weights.

    FLOAT32  everything dequantised: the fast form on a CPU, whose matrix library knows floats only
    KEPT     4- and 8-bit weights stay as they are, exactly; the rest becomes float16: for a GPU
    """

    FLOAT32 = "float32"
    KEPT = "kept"

    @property
    def dtype(self) -> npt.DTypeLike:
        """The dtype of everything that is not kept quantised."""
        return np.float32 if self is WeightForm.FLOAT32 else np.float16


@dataclass(frozen=True, slots=True)
class WeightPlan:
    """How one GGUF tensor becomes the tensors of one module.

    `module` is the path before ".weight"; `bits` is 0 for a weight of floats, to which `shift` is
    added.
    """

    module: str
    source: GgufTensor
    form: WeightForm
    bits: int
    specs: tuple[TensorSpec, ...]
    shift: float

    def quantization(self) -> dict[str, int | str]:
        """The entry of config.json for a weight kept quantised."""
        return {"group_size": GROUP_SIZE, "bits": self.bits, "mode": "affine"}

    def arrays(self) -> Iterator[Array]:
        """The tensors in the order of `specs`.

        Raises ModelError when a number does not fit the target dtype.
        """
        if self.bits:
            yield from _PACKERS[self.source.type].pack(self.source)
        else:
            yield _floats(self.source, self.form.dtype, self.shift)


def plan_weight(
    module: str, source: GgufTensor, form: WeightForm, shift: float = 0.0
) -> WeightPlan:
    """Decide dtypes and shapes without reading the weights. `shift` is added to each number.

    Raises ModelError for a tensor type that cannot be dequantised.
    """
    packer = _PACKERS.get(source.type)
    is_matrix = len(source.shape) == 2
    if form is WeightForm.KEPT and packer is not None and is_matrix and not shift:
        rows, columns = source.shape
        groups = (rows, columns // GROUP_SIZE)
        specs: tuple[TensorSpec, ...] = (
            TensorSpec(f"{module}.weight", "U32", (rows, columns * packer.bits // 32)),
            TensorSpec(f"{module}.scales", "F16", groups),
            TensorSpec(f"{module}.biases", "F16", groups),
        )
        return WeightPlan(module, source, form, packer.bits, specs, shift)
    try:
        dequantize(source.data[:1], source.type)
    except NotImplementedError as error:
        raise ModelError(
            f"Tensor {source.name} is stored as {source.type.name}, which is not supported."
        ) from error
    specs = (TensorSpec(f"{module}.weight", dtype_name(form.dtype), source.shape),)
    return WeightPlan(module, source, form, 0, specs, shift)


def quantization_config(plans: list[WeightPlan]) -> dict[str, Any]:
    """`quantization` as mlx-lm reads it: the commonest setting at the top, the others by module."""
    kept = [plan for plan in plans if plan.bits]
    if not kept:
        return {}
    common = max(kept, key=lambda plan: sum(other.bits == plan.bits for other in kept))
    settings: dict[str, Any] = common.quantization()
    settings |= {plan.module: plan.quantization() for plan in kept if plan.bits != common.bits}
    return {"quantization": settings}


def _floats(source: GgufTensor, dtype: npt.DTypeLike, shift: float) -> Array:
    with np.errstate(over="ignore", invalid="ignore"):
        floats = dequantize(source.data, source.type).reshape(source.shape)
        if shift:
            floats = floats + np.float32(shift)
        return _finite(source, floats.astype(dtype, copy=False))


def _finite(source: GgufTensor, floats: Array) -> Array:
    if not np.isfinite(floats).all():
        raise ModelError(f"Tensor {source.name} holds numbers that {floats.dtype} cannot.")
    return floats


def _split_blocks(source: GgufTensor, header_halves: int) -> tuple[list[Array], Array]:
    """Each block's leading float16 numbers, (rows, groups), and its (rows, groups, n) bytes."""
    rows, columns = source.shape
    blocks = source.data.reshape(rows, columns // GROUP_SIZE, -1)
    header = np.ascontiguousarray(blocks[..., : 2 * header_halves]).view(np.dtype("<f2"))
    return [header[..., index] for index in range(header_halves)], blocks[..., 2 * header_halves :]


def _words(codes: Array) -> Array:
    """(rows, groups, bytes) with the first input in the lowest bits -> (rows, words) uint32."""
    words: Array = np.ascontiguousarray(codes).reshape(codes.shape[0], -1).view(np.dtype("<u4"))
    return words


def _nibbles_in_order(payload: Array) -> Array:
    """GGUF puts inputs i and i + 16 of a block into one byte; MLX wants inputs 2i and 2i + 1."""
    codes = np.concatenate([payload & 0x0F, payload >> 4], axis=-1)
    pairs: Array = codes[..., 0::2] | codes[..., 1::2] << 4
    return pairs


def _pack_q4_1(source: GgufTensor) -> tuple[Array, Array, Array]:
    (scales, minima), payload = _split_blocks(source, 2)
    return _words(_nibbles_in_order(payload)), _finite(source, scales), _finite(source, minima)


def _pack_q4_0(source: GgufTensor) -> tuple[Array, Array, Array]:
    (scales,), payload = _split_blocks(source, 1)
    return _words(_nibbles_in_order(payload)), *_symmetric(source, scales, 8)


def _pack_q8_0(source: GgufTensor) -> tuple[Array, Array, Array]:
    (scales,), payload = _split_blocks(source, 1)
    # Flipping the sign bit turns two's complement into the same number plus 128.
    return _words(payload ^ 0x80), *_symmetric(source, scales, 128)


def _symmetric(source: GgufTensor, scales: Array, zero_code: int) -> tuple[Array, Array]:
    with np.errstate(over="ignore"):
        biases = scales * np.float16(-zero_code)
    return _finite(source, scales), _finite(source, biases)


@dataclass(frozen=True, slots=True)
class _Packer:
    bits: int
    pack: Callable[[GgufTensor], tuple[Array, Array, Array]]


_PACKERS = {
    GGMLQuantizationType.Q4_0: _Packer(4, _pack_q4_0),
    GGMLQuantizationType.Q4_1: _Packer(4, _pack_q4_1),
    GGMLQuantizationType.Q8_0: _Packer(8, _pack_q8_0),
}
