"""Ondol.app as `make app` makes it. It cannot be opened here, but it can be read."""

from __future__ import annotations

import plistlib
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from PySide6.QtGui import QImage

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def contents(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("a folder of apps")
    _make(folder, folder / "the house's" / "ondol")
    return folder / "Ondol.app" / "Contents"


def _make(output: Path, ondol: Path) -> None:
    script = ROOT / "packaging/macos/make_app.py"
    subprocess.run(
        [sys.executable, str(script), "--output", str(output), "--ondol", str(ondol)],
        check=True,
        capture_output=True,
    )


def test_says_what_macos_needs_to_know(contents: Path) -> None:
    info = plistlib.loads((contents / "Info.plist").read_bytes())
    assert info["LSUIElement"] is True
    assert info["LSMinimumSystemVersion"] == "14.0"
    assert info["CFBundlePackageType"] == "APPL"
    assert info["CFBundleName"] == "Ondol"
    assert info["CFBundleIdentifier"].count(".") >= 2
    assert set(info["CFBundleLocalizations"]) == {"en", "ko"}
    assert all(part.isdecimal() for part in info["CFBundleShortVersionString"].split("."))


def test_names_files_that_are_there(contents: Path) -> None:
    info = plistlib.loads((contents / "Info.plist").read_bytes())
    launcher = contents / "MacOS" / info["CFBundleExecutable"]
    assert launcher.stat().st_mode & 0o111 == 0o111
    assert (contents / "Resources" / f"{info['CFBundleIconFile']}.icns").is_file()


def test_runs_as_a_native_program_though_its_executable_is_a_script(contents: Path) -> None:
    info = plistlib.loads((contents / "Info.plist").read_bytes())
    assert info["LSArchitecturePriority"] == ["arm64"]
    assert info["LSRequiresNativeExecution"] is True


def test_the_icon_has_a_picture_for_every_size(contents: Path) -> None:
    icon = (contents / "Resources" / "Ondol.icns").read_bytes()
    widths = {}
    assert icon[:4] == b"icns"
    assert struct.unpack(">I", icon[4:8])[0] == len(icon)
    at = 8
    while at < len(icon):
        kind, length = icon[at : at + 4].decode(), struct.unpack(">I", icon[at + 4 : at + 8])[0]
        image = QImage.fromData(icon[at + 8 : at + length])
        widths[kind] = image.width()
        assert image.pixelColor(0, 0).alpha() == 0, "the corners are free"
        assert image.pixelColor(image.width() // 2, image.height() // 2).alpha() == 255
        at += length
    assert widths == {
        "ic11": 32,
        "ic12": 64,
        "ic07": 128,
        "ic08": 256,
        "ic13": 256,
        "ic09": 512,
        "ic14": 512,
        "ic10": 1024,
    }


def test_the_launcher_starts_ondol_with_its_arguments(tmp_path: Path) -> None:
    ondol = tmp_path / 'the "house" of $HOME' / "ondol"
    ondol.parent.mkdir()
    ondol.write_text('#!/bin/sh\nprintf "%s|" "$@"\npwd\n')
    ondol.chmod(0o755)
    _make(tmp_path, ondol)
    started = subprocess.run(
        [str(tmp_path / "Ondol.app/Contents/MacOS/Ondol"), "--port", "90 00"],
        check=True,
        capture_output=True,
        text=True,
        env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)},
        cwd="/",
    )
    assert started.stdout == f"--port|90 00|{tmp_path}\n"


def test_the_launcher_says_so_where_ondol_has_gone(contents: Path, tmp_path: Path) -> None:
    alert = tmp_path / "osascript"
    alert.write_text('#!/bin/sh\necho "$@"\n')
    alert.chmod(0o755)
    started = subprocess.run(
        [str(contents / "MacOS/Ondol")],
        check=False,
        capture_output=True,
        text=True,
        env={"PATH": f"{tmp_path}:/usr/bin:/bin", "HOME": str(tmp_path)},
    )
    assert started.returncode == 1
    assert "make app" in started.stdout


def test_replaces_an_older_app(tmp_path: Path) -> None:
    (tmp_path / "Ondol.app").mkdir()
    (tmp_path / "Ondol.app" / "old").touch()
    _make(tmp_path, tmp_path / "ondol")
    assert [path.name for path in tmp_path.iterdir()] == ["Ondol.app"]
    assert not (tmp_path / "Ondol.app" / "old").exists()
