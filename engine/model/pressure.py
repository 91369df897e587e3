"""Whether the machine is short of memory, as its system sees it.

The macOS side is untested here.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import sys
from pathlib import Path

PSI_FILE = Path("/proc/pressure/memory")
STALLED_PERCENT = 10.0  # of the last ten seconds, somebody waited for memory
_MACOS_LEVEL = "kern.memorystatus_vm_pressure_level"
_MACOS_WARNING = 2  # 1 is normal, 4 critical


def memory_is_short() -> bool:
    """Linux: pressure stall information; macOS: the level that applications are warned with.
    Elsewhere, and where neither can be read, never."""
    if sys.platform == "darwin":
        return _macos_level() >= _MACOS_WARNING
    return stalled_percent(PSI_FILE) >= STALLED_PERCENT


def stalled_percent(file: Path) -> float:
    """`some avg10` of a pressure file of Linux; 0.0 where it has none."""
    try:
        lines = file.read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return 0.0
    for line in lines:
        kind, *fields = line.split() or [""]
        values = dict(field.split("=", 1) for field in fields if "=" in field)
        if kind == "some" and "avg10" in values:
            try:
                return float(values["avg10"])
            except ValueError:
                return 0.0
    return 0.0


def _macos_level() -> int:
    library = ctypes.CDLL(ctypes.util.find_library("c"), use_errno=True)
    level, size = ctypes.c_int(0), ctypes.c_size_t(ctypes.sizeof(ctypes.c_int))
    failed = library.sysctlbyname(
        _MACOS_LEVEL.encode(), ctypes.byref(level), ctypes.byref(size), None, ctypes.c_size_t(0)
    )
    return 0 if failed else level.value
