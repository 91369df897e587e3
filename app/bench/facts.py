"""What a report says about the machine and the software it was made with."""

from __future__ import annotations

import contextlib
import os
import platform
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version

from app.bench import lock
from app.console import say

PACKAGES = ("ondol", "mlx", "mlx-lm")


def versions(packages: Sequence[str] = PACKAGES) -> dict[str, str]:
    """Of those that are installed, and of Python."""
    found = {}
    for package in packages:
        with contextlib.suppress(PackageNotFoundError):
            found[package] = version(package)
    return found | {"Python": platform.python_version()}


def load_before() -> float:
    """The load average before anything was started; a busy machine is told."""
    load = lock.load_average()
    if lock.is_busy(load, os.cpu_count() or 1):
        say(f"This machine is busy (load average {load:.2f}): trust ratios more than times.")
    return load
