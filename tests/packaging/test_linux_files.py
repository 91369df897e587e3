"""What `make install-desktop` and `make install-service` write for the current user."""

from __future__ import annotations

import configparser
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HARD_FOLDER = 'a "hard" $folder 100%'


class User:
    """A user whose folders start out empty, with an Ondol in a folder that is hard to quote."""

    def __init__(self, home: Path) -> None:
        self.data, self.config, self.runtime = home / "data", home / "config", home / "run"
        self.runtime.mkdir()
        self.ondol = home / HARD_FOLDER / "ondol"
        self.ondol.parent.mkdir()
        self.ondol.write_text("#!/bin/sh\n")
        self.ondol.chmod(0o755)
        self.environment = {
            "PATH": "/usr/bin:/bin",
            "HOME": str(home),
            "XDG_DATA_HOME": str(self.data),
            "XDG_CONFIG_HOME": str(self.config),
            "XDG_RUNTIME_DIR": str(self.runtime),
        }

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command, check=False, capture_output=True, text=True, env=self.environment
        )

    def install(self, what: str, *options: str) -> str:
        script = str(ROOT / "packaging/linux/install.py")
        done = self.run(sys.executable, script, what, "--ondol", str(self.ondol), *options)
        assert done.returncode == 0, done.stderr
        return done.stdout

    @property
    def entry(self) -> Path:
        return self.data / "applications" / "ondol.desktop"

    @property
    def unit(self) -> Path:
        return self.config / "systemd" / "user" / "ondol.service"

    def files(self) -> list[Path]:
        return [
            path for root in (self.data, self.config) for path in root.rglob("*") if path.is_file()
        ]


@pytest.fixture
def user(tmp_path: Path) -> User:
    return User(tmp_path)


def _read(path: Path) -> configparser.ConfigParser:
    parser = configparser.ConfigParser(interpolation=None, strict=True)
    parser.optionxform = str  # type: ignore[method-assign,assignment]
    parser.read(path, encoding="utf-8")
    return parser


def test_the_menu_entry_is_complete(user: User) -> None:
    user.install("desktop")
    entry = _read(user.entry)["Desktop Entry"]
    assert (entry["Type"], entry["Name"], entry["Name[ko]"]) == ("Application", "Ondol", "온돌")
    assert entry["Icon"] == "ondol"
    assert entry["Terminal"] == "false"


def test_the_menu_entry_starts_ondol_wherever_it_is(user: User) -> None:
    user.install("desktop")
    written = _read(user.entry)["Desktop Entry"]["Exec"]
    # As the desktop entry specification reads it: a string's escapes, then the quotes, then codes.
    string = written.replace("\\\\", "\\")
    assert (string[0], string[-1]) == ('"', '"')
    unquoted = string[1:-1].replace('\\"', '"').replace("\\$", "$")
    assert unquoted.replace("%%", "%") == str(user.ondol)


def test_the_menu_entry_is_valid(user: User) -> None:
    if shutil.which("desktop-file-validate") is None:
        pytest.skip("desktop-file-validate is not installed")
    user.install("desktop")
    checked = user.run("desktop-file-validate", str(user.entry))
    assert (checked.returncode, checked.stdout) == (0, "")


def test_icons_come_in_a_large_and_a_small_drawing(user: User) -> None:
    user.install("desktop")
    icons = user.data / "icons" / "hicolor"
    large = (icons / "scalable" / "apps" / "ondol.svg").read_text()
    small = (icons / "16x16" / "apps" / "ondol.svg").read_text()
    assert 'viewBox="0 0 512 512"' in large
    assert 'viewBox="0 0 16 16"' in small


def test_the_service_runs_without_a_window(user: User) -> None:
    said = user.install("service")
    service = _read(user.unit)["Service"]
    path = service["ExecStart"].removeprefix("/usr/bin/env ").removesuffix(" serve")
    unquoted = path[1:-1].replace("%%", "%").replace("$$", "$").replace('\\"', '"')
    assert unquoted == str(user.ondol)
    assert service["Restart"] == "on-failure"
    assert service["RestartPreventExitStatus"] == "2"
    assert "systemctl --user enable --now ondol" in said


def test_the_service_is_valid(user: User) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed")
    user.install("service")
    checked = user.run("systemd-analyze", "verify", "--user", str(user.unit))
    assert (checked.returncode, checked.stderr) == (0, "")


@pytest.mark.parametrize("what", ["desktop", "service"])
def test_removing_leaves_no_file(user: User, what: str) -> None:
    user.install(what)
    assert user.files()
    user.install(what, "--remove")
    assert user.files() == []


@pytest.mark.parametrize("what", ["desktop", "service"])
def test_removing_what_is_not_there_is_no_error(user: User, what: str) -> None:
    assert "removed" not in user.install(what, "--remove")


def test_installing_again_changes_nothing(user: User) -> None:
    user.install("desktop")
    before = {path: path.read_bytes() for path in user.files()}
    user.install("desktop")
    assert {path: path.read_bytes() for path in user.files()} == before


def test_a_relative_folder_in_the_environment_is_ignored(user: User, tmp_path: Path) -> None:
    user.environment["XDG_DATA_HOME"] = "relative"
    user.install("desktop")
    assert (tmp_path / ".local/share/applications/ondol.desktop").is_file()
