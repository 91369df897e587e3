"""Put Ondol into the current user's application menu or among their systemd services, or take it
out again. Nothing is written outside their own folders."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

HERE = Path(__file__).resolve().parent
RESOURCES = HERE.parents[1] / "resources"
SMALL_SIZES = ("16x16", "22x22", "24x24", "32x32")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("desktop", "service"))
    parser.add_argument("--remove", action="store_true")
    parser.add_argument(
        "--ondol",
        type=Path,
        default=Path(sys.executable).with_name("ondol"),
        help="the command that is started",
    )
    options = parser.parse_args()
    if sys.platform != "linux":
        raise SystemExit("This is for Linux. On macOS `make app` makes Ondol.app.")
    wanted = _desktop if options.what == "desktop" else _service
    files = wanted(str(options.ondol.absolute()))
    if options.remove:
        _remove(files)
    else:
        _install(files)
    if options.what == "service" and not options.remove:
        print("Start it now and at every login: systemctl --user enable --now ondol")
        print("Before anybody logs in, too:      loginctl enable-linger")
    return 0


def desktop_quoted(path: str) -> str:
    """A command as the Exec key of a desktop entry wants it: quoted, then escaped as a string."""
    quoted = "".join("\\" + letter if letter in '"`$\\' else letter for letter in path)
    return f'"{quoted}"'.replace("\\", "\\\\").replace("%", "%%")


def systemd_quoted(path: str) -> str:
    """A word of a command as ExecStart wants it."""
    escaped = path.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'.replace("%", "%%").replace("$", "$$")


def _desktop(ondol: str) -> Mapping[Path, str]:
    data = _folder("XDG_DATA_HOME", ".local/share")
    icons = data / "icons" / "hicolor"
    entry = (HERE / "ondol.desktop").read_text(encoding="utf-8")
    small = (RESOURCES / "app-icon-small.svg").read_text(encoding="utf-8")
    return {
        data / "applications" / "ondol.desktop": entry.replace("@ONDOL@", desktop_quoted(ondol)),
        icons / "scalable" / "apps" / "ondol.svg": (RESOURCES / "app-icon.svg").read_text(
            encoding="utf-8"
        ),
        **{icons / size / "apps" / "ondol.svg": small for size in SMALL_SIZES},
    }


def _service(ondol: str) -> Mapping[Path, str]:
    unit = (HERE / "ondol.service").read_text(encoding="utf-8")
    folder = _folder("XDG_CONFIG_HOME", ".config") / "systemd" / "user"
    return {folder / "ondol.service": unit.replace("@ONDOL@", systemd_quoted(ondol))}


def _folder(variable: str, default: str) -> Path:
    # A relative path means nothing, says the XDG base directory specification.
    named = Path(os.environ.get(variable, ""))
    return named if named.is_absolute() else Path.home() / default


def _install(files: Mapping[Path, str]) -> None:
    for path, content in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
        print(path)
    _reload(files)


def _remove(files: Mapping[Path, str]) -> None:
    found = [path for path in files if path.exists()]
    for path in found:
        if path.suffix == ".service":
            _systemctl("disable", "--now", path.name)
        path.unlink()
        print(f"removed {path}")
    _reload(found)


def _reload(files: Mapping[Path, str] | list[Path]) -> None:
    """Desktops look at a changed folder again; systemd wants to be told."""
    for path in files:
        if path.suffix == ".service":
            _systemctl("daemon-reload")
        elif path.suffix == ".svg":
            os.utime(path.parents[2])


def _systemctl(*arguments: str) -> None:
    if shutil.which("systemctl"):
        subprocess.run(["systemctl", "--user", *arguments], check=False, capture_output=True)


if __name__ == "__main__":
    sys.exit(main())
