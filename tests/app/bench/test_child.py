"""Children end with the bench, whatever ends it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from app.bench.child import child, log_tail, python_command
from app.bench.command import _termination_interrupts

SLEEPER = [sys.executable, "-c", "import signal; print('up', flush=True); signal.pause()"]
STUBBORN = [
    sys.executable,
    "-c",
    "import signal, time\n"
    "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    "print('up', flush=True)\n"
    "while True: time.sleep(60)",
]


def started(process: subprocess.Popen[str]) -> subprocess.Popen[str]:
    """The child once it runs its own code."""
    assert process.stdout is not None
    assert process.stdout.readline() == "up\n"
    return process


def test_it_gets_sigterm_at_the_end(tmp_path: Path) -> None:
    with child(SLEEPER, tmp_path / "log", {}, piped=True) as process:
        started(process)
    assert process.returncode == -signal.SIGTERM


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_it_ends_when_the_bench_fails(tmp_path: Path, error: type[BaseException]) -> None:
    def bench() -> None:
        with child(SLEEPER, tmp_path / "log", {}, piped=True) as process:
            children.append(started(process))
            raise error

    children: list[subprocess.Popen[str]] = []
    with pytest.raises(error):
        bench()
    assert children[0].returncode == -signal.SIGTERM


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_it_ends_when_the_bench_is_ended(tmp_path: Path, number: signal.Signals) -> None:
    def bench() -> None:
        with (
            _termination_interrupts(),
            child(SLEEPER, tmp_path / "log", {}, piped=True) as process,
        ):
            children.append(started(process))
            os.kill(os.getpid(), number)
            started(process)  # nothing comes: the signal ends the wait

    children: list[subprocess.Popen[str]] = []
    before = signal.getsignal(number)
    with pytest.raises(KeyboardInterrupt):
        bench()
    assert children[0].returncode == -signal.SIGTERM
    assert signal.getsignal(number) == before


def test_one_that_stays_is_killed(tmp_path: Path) -> None:
    with child(STUBBORN, tmp_path / "log", {}, piped=True, end_limit_s=0.1) as process:
        started(process)
    assert process.returncode == -signal.SIGKILL


def test_one_that_is_gone_already_is_no_trouble(tmp_path: Path) -> None:
    with child([sys.executable, "-c", "raise SystemExit(3)"], tmp_path / "log", {}) as process:
        process.wait(20)
    assert process.returncode == 3


def test_ctrl_c_does_not_reach_it(tmp_path: Path) -> None:
    with child(SLEEPER, tmp_path / "log", {}, piped=True) as process:
        assert os.getpgid(started(process).pid) != os.getpgid(0)


def test_its_words_and_its_variables(tmp_path: Path) -> None:
    code = "import os, sys; print('out', os.environ['FUEL']); sys.stderr.write('err\\n')"
    log = tmp_path / "log"
    with child([sys.executable, "-c", code], log, {"FUEL": "wood"}) as process:
        process.wait(20)
    assert sorted(log_tail(log).splitlines()) == ["err", "out wood"]


def test_only_the_end_of_a_log_is_shown(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("\n".join(f"line {number}" for number in range(100)))
    assert log_tail(log).splitlines() == [f"line {number}" for number in range(88, 100)]
    assert log_tail(tmp_path / "none") == ""


def test_it_runs_this_ondol_from_any_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, decoy: Callable[[Path], None]
) -> None:
    decoy(tmp_path)
    monkeypatch.chdir(tmp_path)
    log = tmp_path / "log"
    with child(python_command("app", "--version"), log, {}) as process:
        process.wait(20)
    assert log_tail(log).startswith("ondol ")


@pytest.fixture
def decoy() -> Callable[[Path], None]:
    """Puts a foreign package called app into a folder."""

    def make(folder: Path) -> None:
        (folder / "app").mkdir()
        (folder / "app" / "__main__.py").write_text("print('foreign')")

    return make
