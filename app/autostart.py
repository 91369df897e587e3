"""Start at login: one small file where the system looks for what to start. No Qt in here."""

from __future__ import annotations

import os
import plistlib
import sys
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path

from app.paths import Paths, find_paths

BUNDLE_ID = "app.ondol.Ondol"
BUNDLE_VARIABLE = "__CFBundleIdentifier"  # macOS tells a program which app it was started as

_READABLE_BY_ALL = 0o644
_ESCAPED_IN_EXEC = '\\"`$'


class LoginItem(ABC):
    """The file that makes the system start `command` when its user logs in."""

    def __init__(self, path: Path, command: tuple[str, ...]) -> None:
        self.path = path
        self.command = command

    def is_on(self) -> bool:
        """Whether the next login starts Ondol. Another command in the file, such as that of an
        Ondol that was moved since, counts as off."""
        try:
            return self._starts(self.path.read_bytes())
        except (OSError, ValueError):
            return False

    def turn_on(self) -> None:
        """Write the file, whole or not at all. Raises OSError."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        fd, name = tempfile.mkstemp(dir=self.path.parent, prefix=f".{self.path.name}-")
        temporary = Path(name)
        try:
            with os.fdopen(fd, "wb") as file:
                file.write(self._content())
                file.flush()
                os.fsync(file.fileno())
            temporary.chmod(_READABLE_BY_ALL)
            temporary.replace(self.path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise

    def turn_off(self) -> None:
        """Remove the file, if there is one. Raises OSError."""
        self.path.unlink(missing_ok=True)

    @abstractmethod
    def _content(self) -> bytes: ...

    @abstractmethod
    def _starts(self, content: bytes) -> bool:
        """Raises ValueError where `content` cannot be read."""


class LaunchAgent(LoginItem):
    """macOS: a property list in ~/Library/LaunchAgents."""

    def _content(self) -> bytes:
        return plistlib.dumps(
            {
                "Label": BUNDLE_ID,
                "ProgramArguments": list(self.command),
                "RunAtLoad": True,
                "ProcessType": "Interactive",
                "LimitLoadToSessionType": "Aqua",
            }
        )

    def _starts(self, content: bytes) -> bool:
        try:
            agent = plistlib.loads(content)
        except Exception as error:  # the XML parser's errors are no ValueError
            raise ValueError("no property list") from error
        return (
            isinstance(agent, dict)
            and agent.get("ProgramArguments") == list(self.command)
            and agent.get("RunAtLoad") is True
            and agent.get("Disabled") is not True
        )


class DesktopEntry(LoginItem):
    """Linux: a .desktop file in the XDG autostart folder."""

    def _content(self) -> bytes:
        return (
            "[Desktop Entry]\n"
            "Type=Application\n"
            "Name=Ondol\n"
            "Comment=Home AI server\n"
            "Icon=ondol\n"
            f"Exec={_exec_line(self.command)}\n"
            "Terminal=false\n"
            "X-GNOME-Autostart-enabled=true\n"
        ).encode()

    def _starts(self, content: bytes) -> bool:
        entry = dict(line.split("=", 1) for line in content.decode().splitlines() if "=" in line)
        return (
            entry.get("Exec") == _exec_line(self.command)
            and entry.get("Hidden", "false") != "true"
            and entry.get("X-GNOME-Autostart-enabled", "true") != "false"
        )


def find_login_item(
    paths: Paths,
    *,
    platform: str = sys.platform,
    home: Path | None = None,
    environment: Mapping[str, str] = os.environ,
) -> LoginItem:
    """This user's login item for the Ondol that runs now, with the same folders and no window."""
    home = home or Path.home()
    arguments: tuple[str, ...] = ("--hidden",)
    if paths != find_paths():
        arguments += ("--data-dir", str(paths.data))
    if platform == "darwin":
        path = home / "Library" / "LaunchAgents" / f"{BUNDLE_ID}.plist"
        return LaunchAgent(path, _command_on_mac(arguments, environment))
    # A relative folder is to be ignored, says the XDG base directory specification.
    configured = Path(environment.get("XDG_CONFIG_HOME", ""))
    folder = configured if configured.is_absolute() else home / ".config"
    return DesktopEntry(folder / "autostart" / "ondol.desktop", _command(arguments))


def _command_on_mac(arguments: tuple[str, ...], environment: Mapping[str, str]) -> tuple[str, ...]:
    if environment.get(BUNDLE_VARIABLE) != BUNDLE_ID:
        return _command(arguments)
    # Started as a program instead of an app its icon might not appear.
    return ("/usr/bin/open", "-g", "-b", BUNDLE_ID, "--args", *arguments)


def _command(arguments: tuple[str, ...]) -> tuple[str, ...]:
    script = Path(sys.executable).with_name("ondol")
    start = (str(script),) if script.exists() else (sys.executable, "-m", "app")
    return (*start, *arguments)


def _exec_line(command: tuple[str, ...]) -> str:
    """Quoted twice: as arguments, then as a string of a desktop entry."""
    return " ".join(map(_quote, command)).replace("\\", "\\\\")


def _quote(argument: str) -> str:
    escaped = "".join(f"\\{char}" if char in _ESCAPED_IN_EXEC else char for char in argument)
    return '"' + escaped.replace("%", "%%") + '"'
