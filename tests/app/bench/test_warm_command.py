"""The options of `ondol bench warm`, and one whole run on a small model."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from app.bench import lock
from app.bench.command import main
from app.bench.errors import BenchError
from app.bench.model_setup import Setup
from app.bench.warm import Scheme, WarmBench
from app.bench.warm_command import SIZES, WarmOptions, run
from engine.errors import ModelError
from engine.model import machine

CORES = machine.usable_cores()


@pytest.fixture
def children(monkeypatch: pytest.MonkeyPatch) -> list[subprocess.Popen[str]]:
    """Every child that is started."""
    started: list[subprocess.Popen[str]] = []

    class Recorded(subprocess.Popen[str]):
        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options)
            if options.get("start_new_session"):  # the standard library runs commands too
                started.append(self)

    monkeypatch.setattr(subprocess, "Popen", Recorded)
    return started


def options(model: Path, *sizes: int, json_file: Path | None = None) -> WarmOptions:
    return WarmOptions(Scheme(sizes, rounds=1, repeats=2), Setup(1, model, json_file=json_file))


@pytest.mark.parametrize(
    ("words", "scheme"),
    [
        ("", Scheme(SIZES, rounds=3, repeats=5)),
        ("--quick", Scheme(SIZES, rounds=1, repeats=3)),
        ("--sizes 500,10 --rounds 2", Scheme((10, 500), rounds=2, repeats=5)),
        ("--sizes 10 --source", Scheme((10, 241, 459, 681, 904), rounds=3, repeats=5)),
        ("--sizes 500 --pairs 15", Scheme((500,), rounds=15, repeats=1)),
    ],
)
def test_what_is_measured(asked: list[Any], words: str, scheme: Scheme) -> None:
    assert main(["warm", *words.split()]) == 0
    assert asked == [WarmOptions(scheme, Setup(CORES))]


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ("--sizes 10,x", "'x'"),
        ("--sizes 0", "at least 1"),
        ("--rounds -1", "-1"),
        ("--threads 0", "at least 1"),
        ("--pairs 15", "--sizes 500"),
        ("--pairs 15 --sizes 10,500", "--sizes 500"),
        ("--pairs 15 --sizes 500 --source", "--sizes 500"),
        ("--pairs 15 --sizes 500 --rounds 3", "--rounds"),
        ("--pairs 15 --sizes 500 --quick", "--quick"),
        ("--json /", "is a folder"),
        ("--loud", "--loud"),
    ],
)
def test_what_makes_no_sense_ends_with_2(
    refused: Callable[[str], str], words: str, complaint: str
) -> None:
    assert complaint in refused(f"warm {words}")


def test_a_folder_that_is_no_model_starts_nothing(
    tmp_path: Path, children: list[subprocess.Popen[str]]
) -> None:
    with pytest.raises(ModelError, match=r"config\.json"):
        run(options(tmp_path, 10))
    assert children == []


def test_a_busy_machine_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(lock, "load_average", lambda: 64.0)
    with pytest.raises(ModelError):
        run(options(tmp_path, 10))
    assert "This machine is busy (load average 64.00)" in capsys.readouterr().out


def test_a_failed_run_leaves_no_child(
    tiny_model: Path, children: list[subprocess.Popen[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_bench: WarmBench, _scheme: Scheme) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(WarmBench, "run", fail)
    with pytest.raises(KeyboardInterrupt):
        run(options(tiny_model, 12))
    assert [process.returncode is not None for process in children] == [True, True]


def test_a_prompt_beyond_the_window_is_told_before_anything_is_measured(tiny_model: Path) -> None:
    with pytest.raises(BenchError, match="Prompts of 1000 tokens do not fit"):
        run(options(tiny_model, 1000))


def test_a_whole_run(
    tiny_model: Path,
    tmp_path: Path,
    children: list[subprocess.Popen[str]],
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = tmp_path / "bench.json"
    results = run(options(tiny_model, 12, 60, json_file=file))
    greeting, longer = results.sizes
    for size in (greeting, longer):
        (one,) = size.rounds
        assert one.prompt_tokens == pytest.approx(size.target, abs=6)
        assert one.cold_cached_tokens == 0
        assert [warm.computed_tokens for warm in one.same] == [1, 1]
        assert len(one.another) == 2
        assert min(one.cold_s, one.plain_s, *(warm.limit_s for warm in one.same)) > 0
    assert all(warm.cached_tokens > 0 for warm in longer.rounds[0].another)
    out = capsys.readouterr().out
    assert "round 1 of 1, " in out
    assert "Against the bars" in out
    data = json.loads(file.read_text())
    assert [size["target"] for size in data["sizes"]] == [12, 60]
    assert data["conditions"]["threads"] == 1
    assert data["conditions"]["device"]["blas_threads"] in (0, 1)
    server, _worker = children
    assert server.returncode == 0
