"""OpenBLAS: found, told its core type, and given the cores that nobody else wants."""

from __future__ import annotations

import os

import pytest

from engine.errors import ConfigError
from engine.model import blas, machine
from engine.model.blas import SAMPLE_INTERVAL_S, ThreadGovernor
from engine.model.machine import CpuTimes


class CountedThreads:
    """The part of OpenBLAS that a governor uses."""

    def __init__(self, num_threads: int) -> None:
        self.num_threads = num_threads

    def set_num_threads(self, count: int) -> None:
        self.num_threads = count


class Machine:
    """A machine of four cores whose time passes only in `run`."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.busy_s = 0.0
        self.own_s = 0.0
        self.tells = True

    def run(self, own_cores: float, other_cores: float, seconds: float = SAMPLE_INTERVAL_S) -> None:
        self.now_s += seconds
        self.own_s += own_cores * seconds
        self.busy_s += (own_cores + other_cores) * seconds

    def times(self) -> CpuTimes | None:
        return CpuTimes(4 * self.now_s, self.busy_s, self.own_s) if self.tells else None


class TestGovernor:
    @pytest.fixture
    def box(self, monkeypatch: pytest.MonkeyPatch) -> Machine:
        monkeypatch.setattr(os, "cpu_count", lambda: 4)
        return Machine()

    def govern(
        self, box: Machine, threads: int, most: int = 4
    ) -> tuple[ThreadGovernor, CountedThreads]:
        library = CountedThreads(threads)
        governor = ThreadGovernor(
            library,  # type: ignore[arg-type]
            most=most,
            read_times=box.times,
            clock=lambda: box.now_s,
        )
        return governor, library

    def test_gives_a_core_back_at_the_first_sign_of_others(self, box: Machine) -> None:
        governor, library = self.govern(box, threads=4)
        box.run(own_cores=3, other_cores=1)
        governor.adapt()
        assert library.num_threads == 3

    def test_takes_cores_only_after_three_quiet_samples(self, box: Machine) -> None:
        governor, library = self.govern(box, threads=1)
        counts = []
        for _ in range(3):
            box.run(own_cores=1, other_cores=0.1)
            governor.adapt()
            counts.append(library.num_threads)
        assert counts == [1, 1, 4]

    def test_a_busy_sample_starts_the_quiet_time_anew(self, box: Machine) -> None:
        governor, library = self.govern(box, threads=1)
        for others in (0, 0, 3.5, 0, 0):
            box.run(own_cores=0.5, other_cores=others)
            governor.adapt()
        assert library.num_threads == 1

    def test_its_own_work_is_no_reason_to_yield(self, box: Machine) -> None:
        governor, library = self.govern(box, threads=4)
        for _ in range(10):
            box.run(own_cores=4, other_cores=0)
            governor.adapt()
        assert library.num_threads == 4

    def test_always_keeps_one_and_never_exceeds_its_share(self, box: Machine) -> None:
        governor, library = self.govern(box, threads=2, most=2)
        box.run(own_cores=0, other_cores=4)
        governor.adapt()
        assert library.num_threads == 1
        for _ in range(5):
            box.run(own_cores=1, other_cores=0)
            governor.adapt()
        assert library.num_threads == 2

    def test_looks_only_once_an_interval(self, box: Machine) -> None:
        governor, library = self.govern(box, threads=4)
        box.run(own_cores=0, other_cores=4, seconds=SAMPLE_INTERVAL_S / 2)
        governor.adapt()
        assert library.num_threads == 4

    def test_uses_one_thread_where_the_kernel_tells_nothing(self, box: Machine) -> None:
        governor, library = self.govern(box, threads=4)
        box.tells = False
        box.run(own_cores=1, other_cores=0)
        governor.adapt()
        assert library.num_threads == 1


class TestCoreType:
    @pytest.mark.parametrize(
        ("flags", "core_type"),
        [
            ("avx2 fma avx512f avx512bw avx512cd avx512dq avx512vl", "SKYLAKEX"),
            ("avx2 fma avx512f", "HASWELL"),
            ("sse4_2", None),
        ],
    )
    def test_follows_the_flags(
        self, monkeypatch: pytest.MonkeyPatch, flags: str, core_type: str | None
    ) -> None:
        monkeypatch.setattr(machine, "cpu_flags", lambda: frozenset(flags.split()))
        monkeypatch.setattr(blas, "_first_loadable", lambda _: None)
        # Set and deleted, so that what `load` sets is undone even where it was unset.
        monkeypatch.setenv(blas.CORE_TYPE_VARIABLE, "")
        monkeypatch.delenv(blas.CORE_TYPE_VARIABLE)
        blas.load()
        assert os.environ.get(blas.CORE_TYPE_VARIABLE) == core_type

    def test_leaves_a_choice_of_the_user_alone(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv(blas.CORE_TYPE_VARIABLE, "ZEN")
        monkeypatch.setattr(blas, "_first_loadable", lambda _: None)
        blas.load()
        assert os.environ[blas.CORE_TYPE_VARIABLE] == "ZEN"


class TestSettings:
    def test_off(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv(blas.LIBRARY_VARIABLE, "off")
        assert blas.load() is None

    @pytest.mark.parametrize("name", ["/nowhere/libopenblas.so", "libm.so.6"])
    def test_a_library_that_is_none(self, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
        monkeypatch.setenv(blas.LIBRARY_VARIABLE, name)
        with pytest.raises(ConfigError, match="ONDOL_OPENBLAS names no OpenBLAS"):
            blas.load()

    @pytest.mark.parametrize("text", ["0", "-1", "two", "1.5"])
    def test_thread_count_must_be_a_positive_number(
        self, monkeypatch: pytest.MonkeyPatch, text: str
    ) -> None:
        monkeypatch.setenv(blas.THREADS_VARIABLE, text)
        with pytest.raises(ConfigError, match=f"ONDOL_BLAS_THREADS .* not '{text}'"):
            blas.requested_threads()

    def test_thread_count(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv(blas.THREADS_VARIABLE, "3")
        assert blas.requested_threads() == 3

    @pytest.mark.parametrize(("load", "threads"), [(0.2, 4), (1.0, 3), (9.0, 1)])
    def test_first_guess_from_the_load(
        self, monkeypatch: pytest.MonkeyPatch, load: float, threads: int
    ) -> None:
        monkeypatch.setattr(os, "cpu_count", lambda: 4)
        monkeypatch.setattr(os, "getloadavg", lambda: (load, 0, 0))
        assert blas.initial_threads(8) == threads
