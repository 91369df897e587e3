"""What can go wrong with stored data, in words a person can act on.

Whatever is raised, the transaction it happened in was rolled back: what was stored before is still
stored, and nothing of the failed change is.
"""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
from pathlib import Path

from app.storage import backup

_FULL_ERRNOS = (errno.ENOSPC, errno.EDQUOT)
_READ_ONLY_ERRNOS = (errno.EROFS, errno.EACCES, errno.EPERM)
# Below this SQLite cannot even make the index of its log, and says "disk I/O error" instead.
_NEARLY_FULL_BYTES = 1024 * 1024
_PRIMARY_CODE = 0xFF


class StorageError(Exception):
    """Base of everything the storage raises on purpose."""


class StorageClosed(StorageError):
    """The storage was stopped before this could be done."""


class DiskFull(StorageError):
    """No room for what should be written; nothing was written."""


class ReadOnlyFolder(StorageError):
    """The data folder or the database may not be written to."""


class DatabaseLocked(StorageError):
    """Another program holds the database for longer than one can wait."""


class DatabaseCorrupt(StorageError):
    """The file is damaged or no database at all. It is never repaired, moved or overwritten."""


class DiskFailure(StorageError):
    """The disk did not read or write what it was asked to."""


class NewerDatabase(StorageError):
    """A newer Ondol wrote this database. `found` and `supported` are schema versions."""

    def __init__(self, path: Path, found: int, supported: int) -> None:
        super().__init__(
            f"{path.name} was written by a newer Ondol (format {found}; this one knows up to"
            f" {supported}). It was not opened. Start the newer Ondol, or choose another data"
            " folder."
        )
        self.found = found
        self.supported = supported


class MigrationFailed(StorageError):
    """The database could not be brought to this Ondol's format and is as it was before."""


class InvalidTemplate(StorageError, ValueError):
    """A template's name, tags or content break a rule; the message says which, and where. `line`
    counts from 1, where a line of the content is to blame."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.line = line


class NameTaken(StorageError, ValueError):
    """Another living template has this name, in whatever case."""

    def __init__(self, name: str) -> None:
        super().__init__(f"There is already a template named “{name}”. Choose another name.")
        self.name = name


class UnknownTemplate(StorageError, LookupError):
    """No living template has this id, or it has no version of this number."""


class NotPinned(StorageError, LookupError):
    """This template has no pin."""


def translate(error: BaseException, path: Path) -> StorageError | None:
    """What a failure of the disk or of SQLite on the database at `path` means to a person.

    None where it is neither, such as a job's own error.
    """
    known = _of_sqlite(error, path) or _of_system(error, path)
    if known is not None:
        known.__cause__ = error
    return known


def _of_system(error: BaseException, path: Path) -> StorageError | None:
    if not isinstance(error, OSError):
        return None
    if error.errno in _FULL_ERRNOS:
        return _full(path)
    if error.errno in _READ_ONLY_ERRNOS:
        return _read_only(path)
    return None


def _of_sqlite(error: BaseException, path: Path) -> StorageError | None:
    code = getattr(error, "sqlite_errorcode", None)
    if not isinstance(error, sqlite3.Error) or code is None:
        return None
    match code & _PRIMARY_CODE:
        case sqlite3.SQLITE_FULL:
            return _full(path)
        case sqlite3.SQLITE_READONLY:
            return _read_only(path)
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return DatabaseLocked(
                f"Another program is using {path.name}, so nothing was changed."
                " Close that program and try again."
            )
        case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB:
            return corrupt(path)
        case sqlite3.SQLITE_IOERR | sqlite3.SQLITE_CANTOPEN:
            return _unreachable(path)
        case _:
            return None


def corrupt(path: Path) -> DatabaseCorrupt:
    """For a damaged database at `path`; names the newest backup."""
    saved = backup.newest(path)
    way_out = (
        f"The newest backup is {saved.name}, in the same folder."
        if saved
        else "There is no backup yet."
    )
    return DatabaseCorrupt(
        f"{path.name} in {path.parent} is damaged, or is no database. It was left as it is."
        f" {way_out} To start afresh, move the damaged file away."
    )


def _full(path: Path) -> DiskFull:
    return DiskFull(
        f"The disk that holds {path.parent} is full, so nothing was changed."
        " Free some space and try again."
    )


def _read_only(path: Path) -> ReadOnlyFolder:
    return ReadOnlyFolder(
        f"Ondol may not write to {path.parent}, so nothing was changed."
        " Give yourself permission to write there, or choose another data folder."
    )


def _unreachable(path: Path) -> StorageError:
    if not os.access(path.parent, os.W_OK):
        return _read_only(path)
    if shutil.disk_usage(path.parent).free < _NEARLY_FULL_BYTES:
        return _full(path)
    return DiskFailure(
        f"{path} could not be read or written, so nothing was changed."
        " Check that its disk is connected and sound."
    )
