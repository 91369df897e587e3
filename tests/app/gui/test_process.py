"""`ondol` as a process: starting it again, signals, its exit codes, the probe."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from app.instance import Instance, find_holder
from app.storage.store import FILE_NAME, Store
from tests.support.waiting import wait_until

Start = Callable[..., subprocess.Popen[str]]

LIMIT_S = 30


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def start(tmp_path: Path, data: Path) -> Iterator[Start]:
    started: list[subprocess.Popen[str]] = []

    def run(*options: str) -> subprocess.Popen[str]:
        folders = ["--data-dir", str(data), "--model", str(tmp_path)]
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.app_scripted", *folders, "--port", "0", *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "QT_QPA_PLATFORM": "offscreen"},
        )
        started.append(process)
        return process

    yield run
    for process in started:
        process.kill()
        process.communicate()


def end(process: subprocess.Popen[str], number: signal.Signals = signal.SIGTERM) -> int:
    process.send_signal(number)
    process.communicate(timeout=LIMIT_S)
    return process.returncode


def tell(process: subprocess.Popen[str], line: str) -> None:
    assert process.stdin is not None
    process.stdin.write(line + "\n")
    process.stdin.flush()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_it_well(start: Start, data: Path, number: signal.Signals) -> None:
    process = start()
    wait_until(lambda: find_holder(data) is not None)
    assert end(process, number) == 0
    assert find_holder(data) is None
    store = Store(data)
    store.open()
    assert store.preferences().result(LIMIT_S).last_run_clean
    store.close()


def test_starting_it_again_shows_the_window_of_the_first(
    start: Start, data: Path, tmp_path: Path
) -> None:
    report = tmp_path / "probe.json"
    first = start("--hidden", "--probe", str(report))
    wait_until(lambda: find_holder(data) is not None)
    second = start()
    _out, err = second.communicate(timeout=LIMIT_S)
    assert (second.returncode, "Traceback" in err) == (0, False)
    assert end(first) == 0
    assert read(report)["first_paint_at"] > 0


def read(report: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(report.read_text(encoding="utf-8"))
    return found


def test_a_headless_one_cannot_be_shown(start: Start, data: Path) -> None:
    data.mkdir()
    with Instance(data) as headless:
        headless.announce("127.0.0.1", 8642)
        process = start("--nobody-reads")
        _out, err = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 2
    assert f"process {os.getpid()}, http://127.0.0.1:8642" in err
    assert not (data / FILE_NAME).exists()


def test_a_data_folder_that_cannot_be(start: Start, data: Path) -> None:
    data.write_text("a file is in the way")
    process = start("--nobody-reads")
    _out, err = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 1
    assert "The data folder cannot be used" in err


def test_the_probe_obeys_the_bench(start: Start, data: Path, tmp_path: Path) -> None:
    report = tmp_path / "probe.json"
    process = start("--probe", str(report))
    wait_until(lambda: find_holder(data) is not None)
    for order in ("hide", "mark hidden", "mark visible", "show", "dance", "mark hidden"):
        tell(process, order)
    assert end(process) == 0
    sections = read(report)["sections"]
    assert list(sections) == ["start", "hidden", "visible"]
    assert set(sections["start"]) == {
        *("seconds", "num_gaps", "gap_p50_s", "gap_p99_s", "gap_max_s", "cpu_share")
    }
    assert sections["start"]["num_gaps"] > 0
    assert 0 < sections["start"]["gap_p50_s"] <= sections["start"]["gap_max_s"]
