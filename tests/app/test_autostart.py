"""The login item: written whole, read back, removed again."""

from __future__ import annotations

import os
import plistlib
import re
import sys
from pathlib import Path

import pytest

from app.autostart import BUNDLE_ID, BUNDLE_VARIABLE, LoginItem, find_login_item
from app.paths import find_paths

PATHS = find_paths()


@pytest.fixture(params=["darwin", "linux"])
def item(request: pytest.FixtureRequest, tmp_path: Path) -> LoginItem:
    return find_login_item(PATHS, platform=request.param, home=tmp_path, environment={})


def test_on_and_off_again(item: LoginItem) -> None:
    assert not item.is_on()
    item.turn_on()
    assert item.is_on()
    item.turn_on()
    assert item.is_on()
    item.turn_off()
    assert not item.is_on()
    assert list(item.path.parent.iterdir()) == []
    item.turn_off()


def test_a_file_that_starts_something_else_counts_as_off(item: LoginItem) -> None:
    other = type(item)(item.path, ("/old/place/ondol",))
    other.turn_on()
    assert not item.is_on()
    item.turn_on()
    assert item.is_on()
    assert not other.is_on()


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"{", b"Exec", b"<?xml"])
def test_a_damaged_file_counts_as_off(item: LoginItem, content: bytes) -> None:
    item.path.parent.mkdir(parents=True)
    item.path.write_bytes(content)
    assert not item.is_on()


def test_nothing_is_left_where_it_cannot_be_written(
    item: LoginItem, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_fd: int) -> None:
        raise OSError(28, "No space left on device")

    item.turn_on()
    before = item.path.read_bytes()
    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(OSError, match="No space"):
        type(item)(item.path, ("other",)).turn_on()
    assert item.path.read_bytes() == before
    assert list(item.path.parent.iterdir()) == [item.path]


def test_switched_off_by_the_desktop(tmp_path: Path) -> None:
    item = find_login_item(PATHS, platform="linux", home=tmp_path, environment={})
    item.turn_on()
    text = item.path.read_text()
    item.path.write_text(text.replace("enabled=true", "enabled=false"))
    assert not item.is_on()
    item.path.write_text(text + "Hidden=true\n")
    assert not item.is_on()


def test_disabled_launch_agent(tmp_path: Path) -> None:
    item = find_login_item(PATHS, platform="darwin", home=tmp_path, environment={})
    item.turn_on()
    agent = plistlib.loads(item.path.read_bytes())
    item.path.write_bytes(plistlib.dumps(agent | {"Disabled": True}))
    assert not item.is_on()


def test_launch_agent_starts_once_at_login(tmp_path: Path) -> None:
    item = find_login_item(PATHS, platform="darwin", home=tmp_path, environment={})
    item.turn_on()
    agent = plistlib.loads(item.path.read_bytes())
    assert item.path.name == agent["Label"] + ".plist"
    assert agent["RunAtLoad"] is True
    assert "KeepAlive" not in agent
    assert item.path.stat().st_mode & 0o022 == 0


def test_a_bundle_is_opened_as_an_application(tmp_path: Path) -> None:
    item = find_login_item(
        find_paths(Path("/d")),
        platform="darwin",
        home=tmp_path,
        environment={BUNDLE_VARIABLE: BUNDLE_ID},
    )
    assert item.command[:4] == ("/usr/bin/open", "-g", "-b", BUNDLE_ID)
    assert item.command[4:] == ("--args", "--hidden", "--data-dir", "/d")


def test_exec_line_survives_odd_folders(tmp_path: Path) -> None:
    folder = '/home/a "b" 100%/$x\\`y'
    item = find_login_item(
        find_paths(Path(folder)), platform="linux", home=tmp_path, environment={}
    )
    item.turn_on()
    assert item.is_on()
    (line,) = (line for line in item.path.read_text().splitlines() if line.startswith("Exec="))
    as_string = line.removeprefix("Exec=").replace("\\\\", "\\")
    last = re.findall(r'"((?:\\.|[^"\\])*)"', as_string.replace("%%", "%"))[-1]
    assert re.sub(r"\\(.)", r"\1", last) == folder


def test_the_configured_folder_wins_if_it_is_absolute(tmp_path: Path) -> None:
    def folder(value: str) -> Path:
        environment = {"XDG_CONFIG_HOME": value}
        item = find_login_item(PATHS, platform="linux", home=tmp_path, environment=environment)
        return item.path.parent

    assert folder("/etc/mine") == Path("/etc/mine/autostart")
    assert folder("mine") == tmp_path / ".config" / "autostart"


def test_starts_what_runs_now(tmp_path: Path) -> None:
    item = find_login_item(PATHS, platform="linux", home=tmp_path, environment={})
    assert Path(item.command[0]).parent == Path(sys.executable).parent
    assert item.command[-1] == "--hidden"
