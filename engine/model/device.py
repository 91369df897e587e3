"""The device that runs the model: how to prepare it, what it is, and what its size suggests.

Nothing here imports MLX before a function needs it, because OpenBLAS must be loaded first.
"""

from __future__ import annotations

import platform
import sys
import threading
from dataclasses import dataclass
from importlib.metadata import version
from typing import Literal

from engine.config import GIB, MIB, MIN_KV_BUDGET_BYTES
from engine.model import blas, machine, malloc
from engine.model.machine import total_memory_bytes

__all__ = [
    "DeviceInfo",
    "DeviceKind",
    "MemoryLimits",
    "adapt",
    "apply_limits",
    "default_kv_budget",
    "default_prefill_chunk",
    "default_step_target_s",
    "describe",
    "free_unused",
    "is_apple_silicon",
    "kind",
    "peak_memory_bytes",
    "prepare",
    "total_memory_bytes",
    "workspace_bytes",
]

DeviceKind = Literal["apple-gpu", "cuda", "cpu"]

_SYSTEM_RESERVE_BYTES = 4 * GIB
_MAC_SHARE = 0.6
_OTHER_SHARE = 0.25
_MAX_REUSE_BYTES = GIB
_WORKSPACE_BYTES = {"apple-gpu": 2 * GIB, "cuda": 2 * GIB, "cpu": GIB}
_RECOMMENDED_BYTES = "max_recommended_working_set_size"


@dataclass(frozen=True, slots=True)
class DeviceInfo:
    """What runs the model. `memory_bytes` is what this process may have at most; `blas` is empty on
    a GPU.
    """

    kind: DeviceKind
    name: str
    memory_bytes: int
    mlx_version: str
    blas: str = ""
    blas_threads: int = 0
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MemoryLimits:
    """Bytes given to MLX. `wired` is 0 where memory cannot be wired."""

    memory: int
    wired: int
    reuse: int


class _Prepared:
    """What `prepare` did: the process has one set of loaded libraries."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.done = False
        self.openblas: blas.OpenBlas | None = None
        self.governor: blas.ThreadGovernor | None = None
        self.warnings: tuple[str, ...] = ()


_prepared = _Prepared()


def is_apple_silicon() -> bool:
    return sys.platform == "darwin" and platform.machine() == "arm64"


def prepare() -> None:
    """Make MLX's CPU build fast. Call before anything imports MLX; a second call does nothing.

    Does nothing on Apple silicon. Raises ConfigError for an unusable `ONDOL_OPENBLAS` or
    `ONDOL_BLAS_THREADS`.
    """
    if is_apple_silicon():
        return
    with _prepared.lock:
        if not _prepared.done:
            _prepare_cpu()
            _prepared.done = True


def _prepare_cpu() -> None:
    requested = blas.requested_threads()
    malloc.tune()
    if "mlx.core" in sys.modules:
        _prepared.warnings = ("MLX was imported before OpenBLAS could be loaded: it stays slow.",)
        return
    openblas = blas.load()
    if openblas is None:
        _prepared.warnings = (
            f"OpenBLAS is missing, install {_openblas_package()}: the CPU is 25 times slower.",
        )
        return
    most = machine.usable_cores()
    _prepared.openblas = openblas
    openblas.set_num_threads(requested or blas.initial_threads(most))
    if requested is None:
        _prepared.governor = blas.ThreadGovernor(openblas, most=most)


def _openblas_package() -> str:
    try:
        system = platform.freedesktop_os_release()
    except OSError:
        return "OpenBLAS"
    family = {system.get("ID", ""), *system.get("ID_LIKE", "").split()}
    if family & {"debian", "ubuntu"}:
        return "libopenblas0-pthread"
    return "openblas-threads" if family & {"fedora", "rhel", "centos"} else "openblas"


def adapt() -> None:
    """Let the CPU's matrix library take or give back cores. Cheap; call between steps."""
    if _prepared.governor is not None:
        _prepared.governor.adapt()


def describe() -> DeviceInfo:
    """What is there. Imports MLX, on the first call from the thread that will use it."""
    prepare()
    import mlx.core as mx

    runs_on = kind()
    facts = mx.device_info()
    openblas = _prepared.openblas if runs_on == "cpu" else None
    return DeviceInfo(
        kind=runs_on,
        name=str(facts.get("device_name") or platform.processor() or platform.machine()),
        memory_bytes=_memory_bytes(runs_on),
        mlx_version=version("mlx"),
        blas=f"OpenBLAS ({openblas.core_type})" if openblas else _blas_without_openblas(runs_on),
        blas_threads=openblas.num_threads if openblas else int(runs_on == "cpu"),
        warnings=_prepared.warnings if runs_on == "cpu" else (),
    )


def _blas_without_openblas(runs_on: DeviceKind) -> str:
    return "reference BLAS" if runs_on == "cpu" else ""


def kind() -> DeviceKind:
    """What MLX computes on."""
    import mlx.core as mx

    if mx.metal.is_available():
        return "apple-gpu"
    return "cuda" if mx.cuda.is_available() else "cpu"


def _memory_bytes(runs_on: DeviceKind) -> int:
    """Unified or main memory; a discrete GPU's own."""
    import mlx.core as mx

    if runs_on == "cuda" and (own := int(mx.device_info().get("total_memory", 0))):
        return own
    return total_memory_bytes()


def _recommended_bytes() -> int:
    """The working set macOS recommends for the GPU, 0 elsewhere."""
    import mlx.core as mx

    return int(mx.device_info().get(_RECOMMENDED_BYTES, 0)) if mx.metal.is_available() else 0


def default_kv_budget(weights_bytes: int) -> int:
    """Bytes of KV that leave room for the weights, the system and everybody else."""
    prepare()
    if recommended := _recommended_bytes():
        budget = int(recommended * _MAC_SHARE) - weights_bytes
    else:
        memory = _memory_bytes(kind())
        budget = min(int(memory * _OTHER_SHARE), memory - weights_bytes - _SYSTEM_RESERVE_BYTES)
    return max(MIN_KV_BUDGET_BYTES, budget)


def default_prefill_chunk() -> int:
    """Prompt tokens in one forward pass: on a CPU long chunks only cost memory traffic."""
    prepare()
    return 256 if kind() == "cpu" else 2048


def default_step_target_s() -> float:
    """Seconds that a step may take while others are being answered."""
    prepare()
    return 0.6 if kind() == "cpu" else 0.1


def workspace_bytes() -> int:
    """What is kept beside weights and KV for the arrays of one forward pass, freed buffers that MLX
    holds for the next one, Python and its libraries."""
    prepare()
    return _WORKSPACE_BYTES[kind()]


def peak_memory_bytes() -> int:
    """No less than the most memory that this process ever had: with a GPU, the most that was
    resident and the most that its arrays took, be it at another moment. Does not load MLX."""
    peak = machine.peak_process_bytes()
    if (mlx := sys.modules.get("mlx.core")) is not None and kind() != "cpu":
        peak += mlx.get_peak_memory()  # these lie outside of what is resident
    return peak


def free_unused() -> None:
    """Give the memory of dropped arrays back to the machine. Does not load MLX."""
    if (mlx := sys.modules.get("mlx.core")) is not None:
        mlx.clear_cache()
    malloc.give_back()


def apply_limits(kv_budget: int, weights_bytes: int) -> MemoryLimits:
    """Tell MLX what it may take: weights, KV and the arrays of one forward pass.

    `reuse` bounds freed buffers that MLX holds for the next allocation; they are nobody's KV, so
    they must not grow to the size of the budget. On a CPU it holds none: they fit the next
    allocation only if that is no larger, so arrays that grow every step would take fresh pages each
    time, while the C library's allocator puts together what was freed.
    """
    prepare()
    import mlx.core as mx

    needed = weights_bytes + kv_budget
    limits = MemoryLimits(
        memory=min(needed + _WORKSPACE_BYTES[kind()], _memory_bytes(kind())),
        wired=min(needed, _recommended_bytes()),
        reuse=0 if kind() == "cpu" else max(32 * MIB, min(kv_budget // 8, _MAX_REUSE_BYTES)),
    )
    mx.set_memory_limit(limits.memory)
    mx.set_cache_limit(limits.reuse)
    if limits.wired:
        mx.set_wired_limit(limits.wired)
    return limits
