"""What a report says about the machine and the software it was made with."""

from __future__ import annotations

import contextlib
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from app.bench import lock
from app.bench.conditions import Conditions, Surroundings
from app.console import say

PACKAGES = ("ondol", "mlx", "mlx-lm")


@dataclass(frozen=True, slots=True)
class WorkerFacts:
    """What a worker runs on: `device` is `engine.model.device.describe()` as plain data.

    `prefill_chunk` counts tokens and is the server's own default.
    """

    device: Mapping[str, Any]
    prefill_chunk: int
    context_window: int
    dtype: str


def surroundings(packages: Sequence[str] = PACKAGES) -> Surroundings:
    """Before anything is started; a busy machine is told."""
    return Surroundings(
        started_at=datetime.now(UTC).isoformat(timespec="seconds"),
        cores=os.cpu_count() or 1,
        load_before=_load_before(),
        versions=_versions(packages),
        platform=platform.platform(),
    )


def conditions(
    before: Surroundings,
    model: str,
    worker: WorkerFacts,
    threads: int,
    *,
    max_tokens: int,
    rounds: int,
    repeats: int = 1,
) -> Conditions:
    """Of a run with a worker that has the model."""
    return Conditions(
        **asdict(before),
        model=model,
        dtype=worker.dtype,
        device=worker.device,
        threads=threads,
        prefill_chunk=worker.prefill_chunk,
        max_tokens=max_tokens,
        rounds=rounds,
        repeats=repeats,
    )


def _versions(packages: Sequence[str]) -> dict[str, str]:
    """Of those that are installed, and of Python."""
    found = {}
    for package in packages:
        with contextlib.suppress(PackageNotFoundError):
            found[package] = version(package)
    return found | {"Python": platform.python_version()}


def _load_before() -> float:
    load = lock.load_average()
    if lock.is_busy(load, os.cpu_count() or 1):
        say(f"This machine is busy (load average {load:.2f}): trust ratios more than times.")
    return load
