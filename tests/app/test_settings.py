from __future__ import annotations

from pathlib import Path

import pytest

from app.paths import APP_NAME, find_paths
from app.settings import (
    Settings,
    SettingsError,
    format_size,
    format_url,
    parse_host,
    parse_size,
)


@pytest.mark.parametrize(
    ("text", "num_bytes"),
    [
        ("4GiB", 4 * 1024**3),
        ("512MiB", 512 * 1024**2),
        ("1.5g", 1536 * 1024**2),
        ("2GB", 2_000_000_000),
        ("800 mb", 800_000_000),
        ("64k", 65_536),
        ("4000000000", 4_000_000_000),
        ("1TiB", 1024**4),
        (" 3 B ", 3),
    ],
)
def test_sizes_as_people_write_them(text: str, num_bytes: int) -> None:
    assert parse_size(text) == num_bytes


@pytest.mark.parametrize(
    "text", ["", "GiB", "4 elephants", "-1GiB", "1e9", "4GiBs", "1.2.3G", "inf"]
)
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(SettingsError, match="is not a size"):
        parse_size(text)


@pytest.mark.parametrize(
    ("num_bytes", "text"),
    [(0, "0 bytes"), (1023, "1023 bytes"), (1536, "1.5 KiB"), (5 * 1024**3, "5.0 GiB")],
)
def test_sizes_for_people(num_bytes: int, text: str) -> None:
    assert format_size(num_bytes) == text


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "localhost", "LOCALHOST"])
def test_loopback_hosts(host: str) -> None:
    assert Settings(host=host).host == host


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "example.org", "", "[::1]"])
def test_no_other_host_can_be_served_yet(host: str) -> None:
    """S1: a network needs a key."""
    with pytest.raises(SettingsError, match="needs a key"):
        Settings(host=host)


@pytest.mark.parametrize("port", [-1, 65_536])
def test_ports(port: int) -> None:
    with pytest.raises(SettingsError, match="between 0 and 65535"):
        Settings(port=port)


def test_a_budget_without_its_unit_is_noticed() -> None:
    with pytest.raises(SettingsError, match="4 bytes is too small"):
        Settings(kv_budget_bytes=4)


def test_somebody_must_run() -> None:
    with pytest.raises(SettingsError, match="must be at least 1, not 0"):
        Settings(max_running=0)


@pytest.mark.parametrize(
    ("typed", "host", "url"),
    [
        ("[::1]", "::1", "http://[::1]:8642"),
        ("::1", "::1", "http://[::1]:8642"),
        ("127.0.0.1", "127.0.0.1", "http://127.0.0.1:8642"),
    ],
)
def test_brackets_belong_to_the_address_not_to_the_host(typed: str, host: str, url: str) -> None:
    assert parse_host(typed) == host
    assert format_url(host, 8642) == url


def test_a_data_folder_of_one_s_own_holds_everything(tmp_path: Path) -> None:
    paths = find_paths(tmp_path / "home")
    paths.create()
    paths.create()
    assert paths.models.parent == paths.logs.parent == tmp_path / "home"
    for folder in (paths.data, paths.logs):
        assert folder.stat().st_mode & 0o777 == 0o700


def test_the_platform_s_folders_are_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    paths = find_paths()
    assert paths.data.name == APP_NAME
    assert Path.home() in paths.data.parents
    assert Path.home() in paths.logs.parents
