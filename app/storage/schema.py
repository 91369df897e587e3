"""Opening the database: what is in the file, whether it may be opened, and bringing it up to date.

The version of the format is `PRAGMA user_version`: the number of migrations that were applied.
"""

from __future__ import annotations

import logging
import os
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from app.storage import backup
from app.storage.errors import MigrationFailed, NewerDatabase, corrupt, translate
from app.storage.migrations import MIGRATIONS, Migration

if TYPE_CHECKING:
    from sqlite_utils import Database

logger = logging.getLogger(__name__)

LOCK_WAIT_S = 5.0

_PRIVATE = 0o600


def open_database(path: Path, migrations: Sequence[Migration] = MIGRATIONS) -> Database:
    """The database at `path`, made or migrated where necessary, for the calling thread alone.

    Every failure leaves the file as it was. Raises NewerDatabase and DatabaseCorrupt before the
    file is opened for writing, MigrationFailed, and what `errors.translate` knows.
    """
    try:
        return _open(path, migrations)
    except (sqlite3.Error, OSError) as error:
        known = translate(error, path)
        if known is None:
            raise
        raise known from error


def _open(path: Path, migrations: Sequence[Migration]) -> Database:
    version = _inspect(path)
    if version > len(migrations):
        raise NewerDatabase(path, version, len(migrations))
    # SQLite would make the file readable by others; prompts are private (S13).
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, _PRIVATE))
    # Takes 0.2 s, and on the storage thread nobody waits for it.
    from sqlite_utils import Database

    db = Database(sqlite3.connect(path, timeout=LOCK_WAIT_S), execute_plugins=False)
    try:
        _configure(db)
        if version < len(migrations):
            saved = backup.make(db.conn, path, version) if db.schema else None
            _migrate(db, path, version, migrations, saved)
    except BaseException:
        db.close()
        raise
    return db


def _inspect(path: Path) -> int:
    """The version of the file, 0 where there is none. Neither it nor its log is touched.

    Raises DatabaseCorrupt.
    """
    if not path.exists() or path.stat().st_size == 0:
        return 0
    log = path.with_name(path.name + "-wal")
    # A log that was left behind holds the newest state and must be read too. Without one the file
    # is all there is: `immutable` then keeps SQLite from making a log to read through.
    mode = "mode=ro" if log.exists() and log.stat().st_size else "mode=ro&immutable=1"
    uri = f"{path.absolute().as_uri()}?{mode}"
    with closing(sqlite3.connect(uri, uri=True, timeout=LOCK_WAIT_S)) as reader:
        version = int(reader.execute("PRAGMA user_version").fetchone()[0])
        if reader.execute("PRAGMA quick_check(1)").fetchone()[0] != "ok":
            raise corrupt(path)
    return version


def _configure(db: Database) -> None:
    db.execute("PRAGMA foreign_keys = ON")
    # What a person saved survives a power cut: each commit is synced, on macOS to the platters.
    db.execute("PRAGMA synchronous = FULL")
    db.execute("PRAGMA fullfsync = ON")
    db.enable_wal()


def _migrate(
    db: Database, path: Path, version: int, migrations: Sequence[Migration], saved: Path | None
) -> None:
    """All steps that are missing, or none of them."""
    try:
        with db.atomic():
            for number, step in enumerate(migrations[version:], version + 1):
                step(db)
                db.execute(f"PRAGMA user_version = {number}")
    except Exception as error:
        known = translate(error, path)
        if known is not None:
            raise known from error
        copy = f" A backup is in {saved.name}." if saved else ""
        raise MigrationFailed(
            f"{path.name} could not be brought from format {version} to {len(migrations)} and was"
            f" left as it was.{copy} The older Ondol can still open it."
        ) from error
    if saved:
        logger.info("database migrated from format %d to %d", version, len(migrations))
