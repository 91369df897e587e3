"""The device: prepared before MLX, described, and its defaults (design "Defaults", D6)."""

from __future__ import annotations

import sys
from typing import Any

import mlx.core as mx
import pytest

from engine.config import GIB, MIB
from engine.errors import ConfigError
from engine.model import blas, device, malloc
from tests.support.fresh import run_fresh

needs_openblas = pytest.mark.skipif(
    not device.describe().blas.startswith("OpenBLAS"), reason="MLX does not use OpenBLAS here"
)


@pytest.fixture
def machine_of(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Pretend to be a CPU with this much memory, or a Mac with this recommended working set."""

    def pretend(memory: int, recommended: int = 0) -> None:
        monkeypatch.setattr(device, "total_memory_bytes", lambda: memory)
        monkeypatch.setattr(device, "_recommended_bytes", lambda: recommended)
        monkeypatch.setattr(device, "kind", lambda: "apple-gpu" if recommended else "cpu")

    return pretend


@pytest.fixture
def unprepared(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a process that has neither prepared nor imported MLX."""
    monkeypatch.setattr(device, "_prepared", device._Prepared())
    monkeypatch.delitem(sys.modules, "mlx.core")
    monkeypatch.setattr(malloc, "tune", lambda: None)


class TestKvBudget:
    def test_mac_takes_60_percent_of_the_working_set_less_the_weights(
        self, machine_of: Any
    ) -> None:
        machine_of(memory=64 * GIB, recommended=48 * GIB)
        assert device.default_kv_budget(8 * GIB) == int(48 * GIB * 0.6) - 8 * GIB

    def test_elsewhere_a_quarter_of_the_memory(self, machine_of: Any) -> None:
        machine_of(memory=32 * GIB)
        assert device.default_kv_budget(GIB) == 8 * GIB

    def test_elsewhere_no_more_than_weights_and_system_leave(self, machine_of: Any) -> None:
        machine_of(memory=8 * GIB)
        assert device.default_kv_budget(3 * GIB) == GIB

    @pytest.mark.parametrize("recommended", [0, 3 * GIB])
    def test_never_less_than_256_mib(self, machine_of: Any, recommended: int) -> None:
        machine_of(memory=4 * GIB, recommended=recommended)
        assert device.default_kv_budget(8 * GIB) == 256 * MIB


class TestDefaults:
    def test_cpu(self, machine_of: Any) -> None:
        machine_of(memory=8 * GIB)
        assert (device.default_prefill_chunk(), device.default_step_target_s()) == (256, 0.6)

    def test_gpu(self, machine_of: Any) -> None:
        machine_of(memory=8 * GIB, recommended=6 * GIB)
        assert (device.default_prefill_chunk(), device.default_step_target_s()) == (2048, 0.1)


class TestLimits:
    @pytest.fixture(autouse=True)
    def restored(self) -> Any:
        memory, cache = mx.set_memory_limit(GIB), mx.set_cache_limit(GIB)
        yield
        mx.set_memory_limit(memory)
        mx.set_cache_limit(cache)

    def test_follow_the_budget(self, machine_of: Any) -> None:
        machine_of(memory=16 * GIB)
        limits = device.apply_limits(2 * GIB, GIB)
        assert limits == device.MemoryLimits(memory=4 * GIB, wired=0, reuse=0)
        assert mx.set_memory_limit(GIB) == limits.memory
        assert mx.set_cache_limit(GIB) == limits.reuse

    def test_never_exceed_the_machine(self, machine_of: Any) -> None:
        machine_of(memory=2 * GIB)
        assert device.apply_limits(2 * GIB, GIB).memory == 2 * GIB

    def test_freed_buffers_stay_few(self, machine_of: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        machine_of(memory=256 * GIB, recommended=200 * GIB)
        monkeypatch.setattr(mx, "set_wired_limit", lambda _: None)
        assert device.apply_limits(2 * GIB, GIB).reuse == 256 * MIB
        assert device.apply_limits(64 * GIB, GIB).reuse == GIB
        assert device.apply_limits(64 * MIB, GIB).reuse == 32 * MIB

    def test_wired_memory_stays_within_the_working_set(
        self, machine_of: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        wired: list[int] = []
        monkeypatch.setattr(mx, "set_wired_limit", wired.append)
        machine_of(memory=16 * GIB, recommended=12 * GIB)
        device.apply_limits(2 * GIB, GIB)
        device.apply_limits(12 * GIB, GIB)
        assert wired == [3 * GIB, 12 * GIB]


class TestPrepare:
    def test_imports_no_mlx_and_may_be_called_again(self) -> None:
        code = (
            "from engine.model import device\n"
            "device.prepare(); first = device._prepared.openblas; device.prepare()\n"
            "print(json.dumps(['mlx' in sys.modules, first is device._prepared.openblas]))"
        )
        assert run_fresh(code) == [False, True]

    @needs_openblas
    def test_mlx_finds_openblas_before_its_own(self) -> None:
        code = (
            "import ctypes\n"
            "from engine.model import device\n"
            "device.prepare()\n"
            "import mlx.core\n"
            "address = lambda lib: ctypes.cast(lib.cblas_sgemm, ctypes.c_void_p).value\n"
            "ours = device._prepared.openblas.library\n"
            "print(json.dumps(address(ctypes.CDLL(None)) == address(ours)))"
        )
        assert run_fresh(code) is True

    @needs_openblas
    def test_takes_the_thread_count_asked_for(self) -> None:
        code = (
            "from engine.model import device\n"
            "info = device.describe(); device.adapt()\n"
            "print(json.dumps([info.blas_threads, device._prepared.governor is None]))"
        )
        assert run_fresh(code, ONDOL_BLAS_THREADS="1") == [1, True]

    @pytest.mark.usefixtures("unprepared")
    def test_refuses_a_wrong_thread_count(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv(blas.THREADS_VARIABLE, "many")
        with pytest.raises(ConfigError):
            device.prepare()

    @pytest.mark.usefixtures("unprepared")
    def test_leaves_apple_silicon_alone(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(device, "is_apple_silicon", lambda: True)
        monkeypatch.setattr(blas, "load", lambda: pytest.fail("OpenBLAS was looked for"))
        device.prepare()

    @pytest.mark.usefixtures("unprepared")
    @pytest.mark.parametrize(
        ("system", "package"),
        [
            ({"ID": "debian"}, "libopenblas0-pthread"),
            ({"ID": "linuxmint", "ID_LIKE": "ubuntu debian"}, "libopenblas0-pthread"),
            ({"ID": "fedora"}, "openblas-threads"),
            ({"ID": "arch"}, "openblas"),
        ],
    )
    def test_says_what_to_install(
        self, monkeypatch: pytest.MonkeyPatch, system: dict[str, str], package: str
    ) -> None:
        monkeypatch.setattr(blas, "load", lambda: None)
        monkeypatch.setattr(device.platform, "freedesktop_os_release", lambda: system)
        device.prepare()
        (warning,) = device._prepared.warnings
        assert f"install {package}:" in warning

    @needs_openblas
    def test_too_late_is_a_warning(self) -> None:
        code = (
            "import mlx.core\n"
            "from engine.model import device\n"
            "info = device.describe()\n"
            "print(json.dumps([info.blas, len(info.warnings), info.kind]))"
        )
        assert run_fresh(code) == ["reference BLAS", 1, "cpu"]


def test_description() -> None:
    info = device.describe()
    assert info.kind in ("cpu", "cuda", "apple-gpu")
    assert info.name
    assert info.mlx_version == "0.32.4"
    assert 0 < info.memory_bytes <= device.total_memory_bytes() or info.kind == "cuda"
