"""Copies of the database beside it, made before its format changes."""

from __future__ import annotations

import os
import sqlite3
import tempfile
from datetime import UTC, datetime
from pathlib import Path

KEPT = 3

_MARK = ".backup-"


def make(source: sqlite3.Connection, path: Path, version: int) -> Path:
    """Copy the database `source` of `path` with SQLite's backup API; `version` goes into the name.

    The copy appears under its name only when it is whole. Older ones beyond KEPT are removed.
    Raises sqlite3.Error and OSError, having left nothing behind.
    """
    moment = datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%fZ")
    target = path.with_name(f"{path.name}{_MARK}{moment}-v{version}")
    unfinished = f".{path.name}-copy-"
    for abandoned in path.parent.glob(f"{unfinished}*"):
        abandoned.unlink(missing_ok=True)
    fd, name = tempfile.mkstemp(dir=path.parent, prefix=unfinished)
    os.close(fd)
    temporary = Path(name)
    try:
        _copy(source, temporary)
        _sync(temporary)
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync(path.parent)
    for old in _all(path)[:-KEPT]:
        old.unlink(missing_ok=True)
    return target


def newest(path: Path) -> Path | None:
    """The latest backup of the database at `path`."""
    return max(_all(path), default=None)


def _all(path: Path) -> list[Path]:
    """Oldest first: the moment leads in the name."""
    return sorted(path.parent.glob(f"{path.name}{_MARK}*"))


def _copy(source: sqlite3.Connection, target: Path) -> None:
    copy = sqlite3.connect(target)
    try:
        source.backup(copy)
        # A backup is one file: it must not need a log of its own beside it.
        copy.execute("PRAGMA journal_mode = DELETE")
    finally:
        copy.close()


def _sync(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
