"""What a person can set, typed and checked before anything starts."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from pathlib import Path

from engine.config import AdmissionMode

DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 8642
MAX_PORT = 65_535
MIN_KV_BUDGET_BYTES = 1024 * 1024

_SIZE = re.compile(r"(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>[a-z]*)", re.IGNORECASE)
_UNITS = {
    "": 1,
    "b": 1,
    **{prefix + "b": 1000**power for power, prefix in enumerate("kmgt", start=1)},
    **{prefix + "ib": 1024**power for power, prefix in enumerate("kmgt", start=1)},
    **{prefix: 1024**power for power, prefix in enumerate("kmgt", start=1)},
}


class SettingsError(ValueError):
    """A setting cannot work; the message names it and what is allowed."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What a command line says. None leaves it to the stored preferences and their defaults.

    host              a loopback name or address, without brackets
    port              TCP port; 0 takes any free one
    model             a model folder
    data_dir          replaces the platform's folders
    kv_budget_bytes   most bytes of KV
    max_running       most requests that run at once
    admission         what running requests may cost the warm prefixes

    Raises SettingsError.
    """

    host: str = DEFAULT_HOST
    port: int | None = None
    model: Path | None = None
    data_dir: Path | None = None
    kv_budget_bytes: int | None = None
    max_running: int | None = None
    admission: AdmissionMode | None = None

    def __post_init__(self) -> None:
        if not is_loopback(self.host):
            raise SettingsError(
                f"--host {self.host}: Ondol answers this machine alone (127.0.0.1, ::1 or "
                "localhost). Serving a network needs a key, which this version cannot make yet."
            )
        if self.port is not None and not 0 <= self.port <= MAX_PORT:
            raise SettingsError(f"--port must lie between 0 and {MAX_PORT}, not {self.port}.")
        if self.kv_budget_bytes is not None and self.kv_budget_bytes < MIN_KV_BUDGET_BYTES:
            raise SettingsError(
                f"--kv-budget of {self.kv_budget_bytes} bytes is too small; "
                "the least is 1MiB, and 1GiB or more is useful."
            )
        if self.max_running is not None and self.max_running < 1:
            raise SettingsError(f"--max-running must be at least 1, not {self.max_running}.")


def is_loopback(host: str) -> bool:
    """Whether `host` can only ever mean this machine (S1)."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def parse_host(text: str) -> str:
    """A host as typed: `[::1]` loses its brackets."""
    if text.startswith("[") and text.endswith("]"):
        return text[1:-1]
    return text


def parse_size(text: str) -> int:
    """Bytes of a size as people write it: 4GiB, 512MiB, 1.5g, 4000000000.

    GB is decimal; GiB and a bare G are binary. Raises SettingsError.
    """
    match = _SIZE.fullmatch(text.strip())
    factor = _UNITS.get(match["unit"].lower()) if match else None
    if match is None or factor is None:
        raise SettingsError(f"{text!r} is not a size; write it as 4GiB or 512MiB.")
    return int(float(match["number"]) * factor)


def format_size(num_bytes: int) -> str:
    """A size for people, in binary units: 4.0 GiB."""
    size = float(num_bytes)
    for unit in ("bytes", "KiB", "MiB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} GiB"


def format_url(host: str, port: int) -> str:
    """The address a client uses; IPv6 hosts get their brackets back."""
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
