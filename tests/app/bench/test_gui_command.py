"""The options of `ondol bench gui`, the screen, and one whole run on a small model."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import app.bench.gui
import app.bench.gui_command
from app.bench import display
from app.bench.command import main
from app.bench.gui_command import GuiOptions, run
from app.bench.model_setup import Setup
from engine.errors import ModelError
from engine.model import machine

CORES = machine.usable_cores()


@pytest.mark.parametrize(
    ("words", "rounds", "threads"),
    [("", 5, CORES), ("--quick", 2, CORES), ("--rounds 15 --threads 1", 15, 1)],
)
def test_what_is_measured(asked: list[Any], words: str, rounds: int, threads: int) -> None:
    assert main(["gui", *words.split()]) == 0
    assert asked == [GuiOptions(rounds, Setup(threads))]


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ("--quick --rounds 3", "--rounds"),
        ("--rounds 0", "at least 1"),
        ("--sizes 10", "--sizes"),
    ],
)
def test_what_makes_no_sense_ends_with_2(
    refused: Callable[[str], str], words: str, complaint: str
) -> None:
    assert complaint in refused(f"gui {words}")


def test_a_folder_that_is_no_model_starts_nothing(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"config\.json"):
        run(GuiOptions(1, Setup(1, tmp_path)))


def test_a_screen_of_its_own_ends_with_the_block(monkeypatch: pytest.MonkeyPatch) -> None:
    if shutil.which("Xvfb") is None:
        pytest.skip("Xvfb is not installed")
    started: list[subprocess.Popen[str]] = []

    class Recorded(subprocess.Popen[str]):
        def __init__(self, *args: object, **options: object) -> None:
            super().__init__(*args, **options)  # type: ignore[call-overload]
            started.append(self)

    monkeypatch.setattr(subprocess, "Popen", Recorded)
    with display.display() as screen:
        assert screen.name == "Xvfb"
        assert screen.variables["DISPLAY"].startswith(":")
        assert started[0].poll() is None
    assert started[0].returncode is not None


def test_without_xvfb_the_window_is_drawn_into_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _name: None)
    with display.display() as screen:
        assert screen.variables == {"QT_QPA_PLATFORM": "offscreen"}


def test_a_whole_run(
    tiny_model: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(shutil, "which", lambda _name: None)
    monkeypatch.setattr(app.bench.gui_command, "PROMPT_WORDS", 12)
    monkeypatch.setattr(app.bench.gui_command, "CLIENTS", 2)
    monkeypatch.setattr(app.bench.gui, "_IDLE_S", 0.5)
    file = tmp_path / "gui.json"
    results = run(GuiOptions(1, Setup(1, tiny_model, json_file=file)))
    assert 0 < results.first_paint_s < 60
    assert {"idle", "visible", "hidden"} <= set(results.sections)
    assert all(results.sections[name].num_gaps > 0 for name in ("idle", "visible", "hidden"))
    assert json.loads(file.read_text())["conditions"]["display"] == "offscreen"
    said = capsys.readouterr().out
    assert "round 1 of 1" in said
    assert "bars met" in said
