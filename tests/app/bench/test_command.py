"""The command line that all benches share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from app.bench import warm_command
from app.bench.command import BENCHES, main
from app.bench.errors import BenchError
from app.bench.model_setup import Setup
from app.bench.warm_command import WarmOptions
from engine.errors import ModelError

ON_THE_STARTER = ("warm", "batch", "churn", "flights", "gui", "house", "shared")


@pytest.mark.parametrize("name", ON_THE_STARTER)
def test_where_things_are(asked: list[Any], tmp_path: Path, name: str) -> None:
    file = tmp_path / "bench.json"
    words = f"--quick --threads 1 --model ~/m --data-dir ~/d --json {file}"
    assert main([name, *words.split()]) == 0
    (found,) = asked
    assert found.setup == Setup(1, Path.home() / "m", Path.home() / "d", file)


@pytest.mark.parametrize("name", [bench.name for bench in BENCHES])
def test_samples_that_could_not_be_written_are_told_at_once(
    refused: Callable[[str], str], name: str
) -> None:
    assert "there is no folder /nowhere" in refused(f"{name} --json /nowhere/bench.json")


@pytest.mark.parametrize(
    ("words", "complaint"), [("", "required"), ("cold", "invalid choice: 'cold'")]
)
def test_what_makes_no_sense_ends_with_2(
    refused: Callable[[str], str], words: str, complaint: str
) -> None:
    assert complaint in refused(words)


def test_help_names_every_bench(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["--help"])
    assert caught.value.code == 0
    said = " ".join(capsys.readouterr().out.split())
    assert all(f" {bench.name} {bench.help}" in said for bench in BENCHES)


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (BenchError("`ondol serve` ended."), 1, "ondol: `ondol serve` ended.\n"),
        (ModelError("There is no model."), 1, "ondol: There is no model.\n"),
        (
            OSError(28, "No space left"),
            1,
            "ondol: The bench cannot run: [Errno 28] No space left\n",
        ),
        (KeyboardInterrupt(), 130, "ondol: The bench was interrupted.\n"),
    ],
)
def test_failures_are_told_in_a_line(
    asked: list[Any],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    error: BaseException,
    code: int,
    words: str,
) -> None:
    def fail(_options: WarmOptions) -> None:
        raise error

    monkeypatch.setattr(warm_command, "run", fail)
    assert main(["warm"]) == code
    assert capsys.readouterr().err == words
