"""Which versions of the packages that matter are installed."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version

PACKAGES = (
    "ondol",
    "mlx",
    "mlx-lm",
    "tokenizers",
    "aiohttp",
    "sqlite-utils",
    "PySide6-Essentials",
)

NOT_INSTALLED = "(not installed)"


def installed_version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return NOT_INSTALLED


def installed_versions() -> Iterator[tuple[str, str]]:
    """Each package with its version, or that it is not installed."""
    for package in PACKAGES:
        yield package, installed_version(package)
