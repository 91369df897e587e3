"""Memory and cores as the kernel and its control groups tell them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from engine.model import machine

GIB = 1024**3


@pytest.fixture
def system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty /proc and /sys/fs/cgroup to fill."""
    monkeypatch.setattr(machine, "_CGROUP_ROOT", tmp_path / "cgroup")
    monkeypatch.setattr(machine, "_CGROUP_OF_PROCESS", tmp_path / "self-cgroup")
    monkeypatch.setattr(machine, "_CPU_STATISTICS", tmp_path / "stat")
    monkeypatch.setattr(machine, "_CPU_INFO", tmp_path / "cpuinfo")
    return tmp_path


def put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def physical_bytes() -> int:
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


class TestMemory:
    def test_without_control_groups_is_the_physical_memory(self, system: Path) -> None:
        assert machine.total_memory_bytes() == physical_bytes()

    def test_version_2_limit_of_a_group_above_counts(self, system: Path) -> None:
        put(system / "self-cgroup", "0::/box/inner\n")
        put(system / "cgroup/box/inner/memory.max", "max\n")
        put(system / "cgroup/box/memory.max", f"{GIB}\n")
        assert machine.total_memory_bytes() == GIB

    def test_version_1_limit(self, system: Path) -> None:
        put(system / "self-cgroup", "5:cpu,cpuacct:/\n4:memory:/box\n0::/\n")
        put(system / "cgroup/memory/box/memory.limit_in_bytes", f"{GIB // 2}\n")
        put(system / "cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n")
        assert machine.total_memory_bytes() == GIB // 2

    def test_a_limit_above_the_physical_memory_changes_nothing(self, system: Path) -> None:
        put(system / "self-cgroup", "0::/box\n")
        put(system / "cgroup/box/memory.max", str(1 << 62))
        assert machine.total_memory_bytes() == physical_bytes()


class TestCores:
    @pytest.fixture(autouse=True)
    def eight_cores(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)

    def test_affinity(self, system: Path) -> None:
        assert machine.usable_cores() == 8

    @pytest.mark.parametrize(
        ("quota", "cores"), [("150000 100000", 2), ("50000 100000", 1), ("max 100000", 8)]
    )
    def test_version_2_quota_rounds_up(self, system: Path, quota: str, cores: int) -> None:
        put(system / "self-cgroup", "0::/box\n")
        put(system / "cgroup/box/cpu.max", quota)
        assert machine.usable_cores() == cores


class TestProcessor:
    def test_flags(self, system: Path) -> None:
        put(system / "cpuinfo", "processor\t: 0\nflags\t\t: fpu avx2 fma\n\nflags\t\t: other\n")
        assert machine.cpu_flags() == {"fpu", "avx2", "fma"}

    def test_no_flags_where_the_kernel_gives_none(self, system: Path) -> None:
        assert machine.cpu_flags() == frozenset()

    def test_times_count_stolen_time_as_busy(self, system: Path) -> None:
        put(system / "stat", "cpu  100 20 30 400 50 6 7 8 0 0\ncpu0 1 1 1 1 1 1 1 1\n")
        times = machine.cpu_times()
        assert times is not None
        ticks = os.sysconf("SC_CLK_TCK")
        assert times.busy_s == (100 + 20 + 30 + 6 + 7 + 8) / ticks
        assert times.machine_s == 621 / ticks

    @pytest.mark.parametrize("text", ["", "cpu 1 2 3\n", "intr 1 2 3 4 5 6 7 8 9\n"])
    def test_no_times_where_the_kernel_gives_none(self, system: Path, text: str) -> None:
        put(system / "stat", text)
        assert machine.cpu_times() is None
