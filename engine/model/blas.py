"""OpenBLAS under MLX's CPU build, and how many threads it may use.

MLX's wheel for Linux carries a reference BLAS (4 GFLOP/s in float32 where OpenBLAS reaches 100 on
one core). Symbols of a library loaded globally before MLX win over those that MLX was linked with.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import math
import os
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from engine.errors import ConfigError
from engine.model import machine

LIBRARY_VARIABLE = "ONDOL_OPENBLAS"
THREADS_VARIABLE = "ONDOL_BLAS_THREADS"
CORE_TYPE_VARIABLE = "OPENBLAS_CORETYPE"

# The variant with its own threads comes first: one built on OpenMP cannot be resized between calls
# from every thread, a serial one uses one core.
_SONAMES = ("libopenblas.so.0", "libopenblasp.so.0", "libopenblas.so")
_FOLDERS = (
    "/usr/lib/{machine}-linux-gnu/openblas-pthread",
    "/usr/lib/{machine}-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
    "/home/linuxbrew/.linuxbrew/opt/openblas/lib",
)

SAMPLE_INTERVAL_S = 0.25
_QUIET_SAMPLES = 3
_FREE_SHARE = 0.75


@dataclass(frozen=True, slots=True)
class OpenBlas:
    """The loaded library. `core_type` is the kernel set that it chose, such as "SkylakeX"."""

    library: ctypes.CDLL
    core_type: str

    @property
    def num_threads(self) -> int:
        return int(self.library.openblas_get_num_threads())

    def set_num_threads(self, count: int) -> None:
        """Takes effect from the next matrix product on."""
        self.library.openblas_set_num_threads(count)


def load() -> OpenBlas | None:
    """Load OpenBLAS so that MLX, imported later, calls it; None where there is none.

    `ONDOL_OPENBLAS` names the library file, or is "off". Raises ConfigError when it names one that
    cannot be loaded.
    """
    chosen = os.environ.get(LIBRARY_VARIABLE, "")
    if chosen.lower() == "off":
        return None
    _set_core_type()
    library = _first_loadable([chosen] if chosen else _candidates())
    if library is None:
        if chosen:
            raise ConfigError(f"{LIBRARY_VARIABLE} names no OpenBLAS library that can be loaded.")
        return None
    library.openblas_get_corename.restype = ctypes.c_char_p
    return OpenBlas(library, library.openblas_get_corename().decode())


def _set_core_type() -> None:
    """Releases of OpenBLAS older than the processor take it for a far simpler one."""
    flags = machine.cpu_flags()
    if {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"} <= flags:
        os.environ.setdefault(CORE_TYPE_VARIABLE, "SKYLAKEX")
    elif {"avx2", "fma"} <= flags:
        os.environ.setdefault(CORE_TYPE_VARIABLE, "HASWELL")


def _candidates() -> Iterable[str]:
    folders = [Path(folder.format(machine=os.uname().machine)) for folder in _FOLDERS]
    for soname in _SONAMES:
        yield soname
        yield from (str(path) for folder in folders if (path := folder / soname).exists())
    if found := ctypes.util.find_library("openblas"):
        yield found


def _first_loadable(names: Iterable[str]) -> ctypes.CDLL | None:
    for name in names:
        try:
            library = ctypes.CDLL(name, ctypes.RTLD_GLOBAL)
        except OSError:
            continue
        if hasattr(library, "cblas_sgemm") and hasattr(library, "openblas_set_num_threads"):
            return library
    return None


class ThreadGovernor:
    """Gives OpenBLAS the cores that nobody else wants.

    Its threads wait for each other many times a second: one that has lost its core to another
    process holds up all (a prefill took three times as long on two threads as on one), while on a
    quiet machine two cores save a quarter. So the count falls at the first sign of others and rises
    after quiet samples only.
    """

    def __init__(
        self,
        openblas: OpenBlas,
        *,
        most: int,
        read_times: Callable[[], machine.CpuTimes | None] = machine.cpu_times,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._openblas = openblas
        self._most = most
        self._read_times = read_times
        self._clock = clock
        self._sampled_at = clock()
        self._last = read_times()
        self._quiet_samples = 0

    def adapt(self) -> None:
        """Call between steps; does nothing until `SAMPLE_INTERVAL_S` have passed since it last
        looked.
        """
        now = self._clock()
        if now - self._sampled_at < SAMPLE_INTERVAL_S:
            return
        self._sampled_at = now
        times, last = self._read_times(), self._last
        self._last = times
        wanted = 1 if times is None or last is None else self._free_cores(last, times)
        current = self._openblas.num_threads
        self._quiet_samples = self._quiet_samples + 1 if wanted > current else 0
        if wanted < current or self._quiet_samples >= _QUIET_SAMPLES:
            self._openblas.set_num_threads(wanted)
            self._quiet_samples = 0

    def _free_cores(self, last: machine.CpuTimes, times: machine.CpuTimes) -> int:
        """Whole cores that others left free between two samples, within [1, most]."""
        busy_s = times.busy_s - last.busy_s
        others_s = max(0.0, busy_s - (times.own_s - last.own_s))
        machine_s = times.machine_s - last.machine_s
        if machine_s <= 0:
            return 1
        num_cores = os.cpu_count() or 1
        free = num_cores * (1 - others_s / machine_s)
        # A core counts as free when others want less than a quarter of it.
        return max(1, min(self._most, math.floor(free + 1 - _FREE_SHARE)))


def initial_threads(most: int) -> int:
    """A first guess from the load of the last minute, before there are samples."""
    load, _, _ = os.getloadavg()
    return max(1, min(most, math.floor((os.cpu_count() or 1) - load + 0.5)))


def requested_threads() -> int | None:
    """`ONDOL_BLAS_THREADS`, or None when unset. Raises ConfigError when it is not a positive
    number.
    """
    text = os.environ.get(THREADS_VARIABLE, "")
    if not text:
        return None
    if not text.isdecimal() or int(text) < 1:
        raise ConfigError(f"{THREADS_VARIABLE} must be a whole number of at least 1, not {text!r}.")
    return int(text)
