"""What the machine lets this process have: memory, cores, and how busy the others are."""

from __future__ import annotations

import math
import os
import resource
import time
from dataclasses import dataclass
from pathlib import Path

_CGROUP_ROOT = Path("/sys/fs/cgroup")
_CGROUP_OF_PROCESS = Path("/proc/self/cgroup")
_CPU_STATISTICS = Path("/proc/stat")
_CPU_INFO = Path("/proc/cpuinfo")
_STATUS = Path("/proc/self/status")


@dataclass(frozen=True, slots=True)
class CpuTimes:
    """Seconds since some fixed moment. `machine_s` sums all cores, `busy_s` and `own_s` are parts
    of it.
    """

    machine_s: float
    busy_s: float
    own_s: float


def total_memory_bytes() -> int:
    """Physical memory, or the control group's limit where that is smaller."""
    physical = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return min([physical, *_cgroup_memory_limits()])


def usable_cores() -> int:
    """Cores this process may use: the scheduler's affinity and the control group's quota, at least
    1.
    """
    if hasattr(os, "sched_getaffinity"):
        allowed = len(os.sched_getaffinity(0))
    else:
        allowed = os.cpu_count() or 1
    return max(1, min([allowed, *(math.ceil(quota) for quota in _cgroup_core_quotas())]))


def peak_process_bytes() -> int:
    """The most memory that this process ever had resident."""
    # Under Linux ru_maxrss would count what the process had been before it became this program.
    for line in _read(_STATUS).splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # in bytes where there is no VmHWM


def cpu_flags() -> frozenset[str]:
    """The instruction sets of an x86 processor under Linux; elsewhere nothing."""
    for line in _read(_CPU_INFO).splitlines():
        if line.startswith("flags"):
            return frozenset(line.partition(":")[2].split())
    return frozenset()


def cpu_times() -> CpuTimes | None:
    """How long the cores were busy, or None where the kernel does not say."""
    fields = _read(_CPU_STATISTICS).partition("\n")[0].split()
    if len(fields) < 9 or fields[0] != "cpu":
        return None
    user, nice, system, idle, waiting, hard_irq, soft_irq, stolen = map(int, fields[1:9])
    # Time stolen by the hypervisor's other guests cannot be had either, so it counts as busy.
    busy = user + nice + system + hard_irq + soft_irq + stolen
    ticks = os.sysconf("SC_CLK_TCK")
    return CpuTimes((busy + idle + waiting) / ticks, busy / ticks, time.process_time())


def _cgroup_memory_limits() -> list[int]:
    """Limits in bytes of this process's control group and all above it, in both versions."""
    texts = _cgroup_values("memory.max", "memory", "memory.limit_in_bytes")
    return [int(text) for text in texts if text.isdigit() and int(text) > 0]


def _cgroup_core_quotas() -> list[float]:
    quotas = [text.split() for text in _cgroup_values("cpu.max", "cpu", None)]
    return [
        int(quota[0]) / int(quota[1])
        for quota in quotas
        if len(quota) == 2 and quota[0].isdigit() and quota[1].isdigit() and int(quota[1]) > 0
    ]


def _cgroup_values(v2_file: str, v1_controller: str, v1_file: str | None) -> list[str]:
    """The content of one control file in this process's group and in each group above it."""
    values = []
    for line in _read(_CGROUP_OF_PROCESS).splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if not controllers:
            base, name = _CGROUP_ROOT, v2_file
        elif v1_file is not None and v1_controller in controllers.split(","):
            base, name = _CGROUP_ROOT / v1_controller, v1_file
        else:
            continue
        group = base / path.lstrip("/")
        values += [_read(folder / name).strip() for folder in (group, *group.parents)]
    return [value for value in values if value]


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
