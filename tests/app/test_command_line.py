"""The `ondol` command: options, refusals, and what is not imported."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import app.doctor
import app.gui.run
import app.serve
from app.__main__ import main
from app.settings import Settings
from engine.config import AdmissionMode


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[Settings]:
    """What `serve` was called with, instead of serving."""
    calls: list[Settings] = []

    def serve(settings: Settings) -> int:
        calls.append(settings)
        return 0

    monkeypatch.setattr(app.serve, "serve", serve)
    return calls


def test_serve_takes_its_options(served: list[Settings]) -> None:
    options = "--host [::1] --port 1234 --model ~/m --data-dir /d --kv-budget 4GiB"
    assert main(["serve", *options.split()]) == 0
    assert served == [Settings("::1", 1234, Path.home() / "m", Path("/d"), 4 * 1024**3)]


def test_who_may_run_is_an_option_too(served: list[Settings]) -> None:
    assert main(["--max-running", "3", "serve", "--admission", "max-throughput"]) == 0
    assert served == [Settings(max_running=3, admission=AdmissionMode.MAX_THROUGHPUT)]


def test_without_a_display_ondol_serves_and_says_so(
    served: list[Settings], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        monkeypatch.delenv(name, raising=False)
    assert main(["--port", "1234"]) == 0
    assert served == [Settings(port=1234)]
    out = capsys.readouterr().out
    assert out == "There is no display here. Running `ondol serve`.\n"


def test_with_a_display_ondol_is_an_app(
    served: list[Settings], monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[tuple[Settings, bool, Path | None]] = []

    def run(settings: Settings, *, hidden: bool, probe: Path | None) -> int:
        calls.append((settings, hidden, probe))
        return 0

    monkeypatch.setenv("QT_QPA_PLATFORM", "offscreen")
    monkeypatch.setattr(app.gui.run, "run", run)
    assert main([]) == 0
    assert main(["--hidden", "--data-dir", "/d", "--probe", "/p"]) == 0
    assert calls == [(Settings(), False, None), (Settings(data_dir=Path("/d")), True, Path("/p"))]
    assert served == []


def test_what_stands_before_the_command_holds_for_it(served: list[Settings]) -> None:
    assert main(["--port", "1", "--model", "/m", "serve", "--port", "2"]) == 0
    assert served == [Settings(port=2, model=Path("/m"))]


@pytest.mark.parametrize(
    "options",
    [
        ["serve", "--host", "0.0.0.0"],
        ["serve", "--port", "70000"],
        ["serve", "--port", "http"],
        ["serve", "--kv-budget", "4 elephants"],
        ["serve", "--kv-budget", "4"],
        ["serve", "--max-running", "0"],
        ["serve", "--admission", "all"],
        ["serve", "--model", ""],
        ["serve", "--data-dir", ""],
        ["serve", "--verbose"],
        ["dance"],
    ],
)
def test_what_makes_no_sense_ends_with_2(
    options: list[str], served: list[Settings], capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        code = main(options)
    except SystemExit as exit_:
        code = exit_.code if isinstance(exit_.code, int) else -1
    assert code == 2
    assert served == []
    err = capsys.readouterr().err
    assert "ondol" in err
    assert "Traceback" not in err


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["--version"])
    assert caught.value.code == 0
    assert capsys.readouterr().out.startswith("ondol ")


def test_doctor_takes_the_same_options(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[Settings, bool]] = []

    def doctor(settings: Settings, load: bool) -> int:
        calls.append((settings, load))
        return 1

    monkeypatch.setattr(app.doctor, "doctor", doctor)
    assert main(["doctor", "--data-dir", "/d", "--no-load"]) == 1
    assert calls == [(Settings(data_dir=Path("/d")), False)]


def test_the_command_line_imports_neither_mlx_nor_qt_nor_transformers() -> None:
    """Every start pays for what is imported here, and MLX must wait for `device.prepare`."""
    code = (
        "import sys, app.__main__, app.serve, app.home, app.server.app, engine.engine\n"
        "heavy = {'mlx', 'mlx_lm', 'transformers', 'PySide6', 'torch'} & set(sys.modules)\n"
        "sys.exit(f'imported: {sorted(heavy)}' if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
