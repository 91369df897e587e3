"""The diagnostics report: whole even with holes, and without anybody's words or name."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from app.diagnostics import LOG_LINES, diagnose, shorten_home
from app.logs import start_logging, stop_logging
from app.paths import Paths, find_paths
from app.storage.errors import DiskFull
from app.storage.settings_store import Preferences
from engine.snapshot import EngineState, Memory, PinState, PinStatus, Snapshot, Totals
from tests.support.fake_desk import MODEL

URL = "http://127.0.0.1:8642"
SNAPSHOT = Snapshot(
    seq=3,
    state=EngineState.BUSY,
    memory=Memory(budget=1024**3, resident=300 * 1024**2, pinned=100 * 1024**2),
    totals=Totals(requests=12, hits=9, cached_tokens=4321),
    num_running=2,
    pins=(PinStatus("template-1", PinState.READY), PinStatus("template-2", PinState.READY)),
)


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    paths = find_paths(tmp_path / "data")
    paths.create()
    return paths


def test_has_what_a_helper_asks_for(paths: Paths) -> None:
    report = diagnose(SNAPSHOT, MODEL, Preferences(port=9000), paths, url=URL)
    for part in (
        "mlx-lm", "Python", MODEL.id, "8192 tokens", "1.0 GiB, room for 23301 tokens",
        "busy", "2 running, 0 waiting", "2 ready", "4321", "9000", URL, "free disk",
    ):  # fmt: skip
        assert part in report


def test_without_a_model_and_a_database(paths: Paths) -> None:
    trouble = DiskFull("The disk is full.")
    report = diagnose(Snapshot(), None, None, paths, url=URL, storage_trouble=trouble)
    assert "none is loaded" in report
    assert "DiskFull: The disk is full." in report
    assert "cannot be read: No such file" in report


def test_a_section_that_fails_leaves_the_others(tmp_path: Path) -> None:
    report = diagnose(SNAPSHOT, MODEL, Preferences(), find_paths(tmp_path / "gone"), url=URL)
    assert "cannot be found out (FileNotFoundError)" in report
    assert MODEL.id in report


def test_the_last_lines_of_a_long_log(paths: Paths) -> None:
    paths.log_file.write_text("".join(f"line {n:06d} {'x' * 80}\n" for n in range(20_000)))
    report = diagnose(SNAPSHOT, MODEL, Preferences(), paths, url=URL)
    log = report.split("lines of the log\n")[1].splitlines()
    assert len(log) == LOG_LINES
    assert log[-1].startswith("line 019999 ")
    assert log[0].startswith(f"line {20_000 - LOG_LINES:06d} ")


def test_a_short_log_whole(paths: Paths) -> None:
    paths.log_file.write_text("one\ntwo\n")
    report = diagnose(SNAPSHOT, MODEL, Preferences(), paths, url=URL)
    assert report.endswith("log\none\ntwo\n")


def test_a_library_that_logs_a_prompt_does_not_get_it_into_the_report(paths: Paths) -> None:
    handler = start_logging(paths.log_file)
    try:
        logging.getLogger("somebody.else").warning("prompt was: %s", "my secret diary")
    finally:
        stop_logging(handler)
    report = diagnose(SNAPSHOT, MODEL, Preferences(), paths, url=URL)
    assert "(message withheld)" in report
    assert "diary" not in report


def test_the_home_folder_is_a_tilde(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "home", lambda: paths.data.parent)
    report = diagnose(SNAPSHOT, MODEL, Preferences(), paths, url=URL)
    assert str(paths.data.parent) not in report
    assert "~/data" in report


@pytest.mark.parametrize(
    ("text", "shortened"),
    [
        ("/home/jo", "~"),
        ("/home/jo/x y", "~/x y"),
        ("'/home/jo', /home/jo:", "'~', ~:"),
        ("In /home/jo.", "In ~."),
        ("/home/joan/x /home/jo-2 /home/jo.bak", "/home/joan/x /home/jo-2 /home/jo.bak"),
    ],
)
def test_only_the_home_folder_is_shortened(text: str, shortened: str) -> None:
    assert shorten_home(text, Path("/home/jo")) == shortened


def test_a_home_at_the_root_shortens_nothing() -> None:
    assert shorten_home("/etc/x", Path("/")) == "/etc/x"
