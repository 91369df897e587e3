"""The command line, the lock, and one whole run on a small model."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import app.bench.command
from app.bench import lock
from app.bench.command import SIZES, Options, main, run
from app.bench.errors import BenchError
from app.bench.warm import Scheme
from engine.errors import ModelError
from engine.model import machine


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[list[Options]]:
    """What the command line asks for; nothing is measured."""
    calls: list[Options] = []
    monkeypatch.setattr(lock, "LOCK_FILE", tmp_path / "lock")
    monkeypatch.setattr(app.bench.command, "run", calls.append)
    return iter([calls])  # type: ignore[return-value]
