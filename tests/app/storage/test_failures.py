"""Full disks, locks and read-only folders: an error that helps, and nothing lost."""

from __future__ import annotations

import errno
import os
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest
from sqlite_utils import Database

from app.storage.content import TemplateKind
from app.storage.errors import (
    DatabaseCorrupt,
    DatabaseLocked,
    DiskFailure,
    DiskFull,
    ReadOnlyFolder,
    translate,
)
from app.storage.store import Store
from tests.support.storage import make_record
from tests.support.waiting import wait_until

NOBODY = 65_534
WAIT_S = 10.0
MANY_PAGES = 2**30


def limit_pages(store: Store, further_pages: int) -> None:
    """A file that may not grow by more than this: to SQLite the same as a full disk."""

    def limit(db: Database) -> None:
        used = db.execute("PRAGMA page_count").fetchone()[0]
        db.execute(f"PRAGMA max_page_count = {used + further_pages}")

    store._thread.submit(limit).result(WAIT_S)


def check_integrity(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []


@contextmanager
def locked(path: Path) -> Iterator[None]:
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")


def test_a_full_disk_refuses_a_template_and_keeps_the_others(store: Store) -> None:
    kept = store.create_template("Kept", TemplateKind.DOCUMENT, "eggs").result(WAIT_S)
    limit_pages(store, 20)
    book = "eggs and flour\n" * 50_000
    with pytest.raises(DiskFull, match=r"full, so nothing was changed.*Free some space"):
        store.create_template("Book", TemplateKind.DOCUMENT, book).result(WAIT_S)
    with pytest.raises(DiskFull):
        store.add_template_version(kept.id, book).result(WAIT_S)
    assert store.list_templates().result(WAIT_S) == (kept,)
    assert len(store.template_versions(kept.id).result(WAIT_S)) == 1

    limit_pages(store, MANY_PAGES)
    template = store.add_template_version(kept.id, book).result(WAIT_S)
    assert template.latest.number == 2
    store.close()
    check_integrity(store.path)


def test_a_full_disk_loses_no_history(store: Store) -> None:
    limit_pages(store, 1)
    for number in range(2_000):
        store.record(make_record(number, cached=60))
    with pytest.raises(DiskFull):
        store.flush().result(WAIT_S)
    assert isinstance(store.trouble, DiskFull)
    assert store.recent_requests(5_000).result(WAIT_S) == ()

    store.record(make_record(2_000))
    limit_pages(store, MANY_PAGES)
    store.flush().result(WAIT_S)
    assert store.trouble is None
    recent = store.recent_requests(5_000).result(WAIT_S)
    assert [record.id for record in recent] == [f"chatcmpl-{n}" for n in range(2_000, -1, -1)]
    assert store.last_24_hours().result(WAIT_S)[-1].requests == 2_001


def test_history_is_tried_again_without_being_asked(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.storage.recorder.RETRY_S", 0.01)
    limit_pages(store, 1)
    for number in range(500):
        store.record(make_record(number))
    wait_until(lambda: isinstance(store.trouble, DiskFull))
    limit_pages(store, MANY_PAGES)
    wait_until(lambda: store.trouble is None)
    assert len(store.recent_requests().result(WAIT_S)) == 500


def test_a_locked_database_refuses_writes_and_still_answers(store: Store) -> None:
    kept = store.create_template("Kept", TemplateKind.DOCUMENT, "eggs").result(WAIT_S)
    store._thread.submit(lambda db: db.execute("PRAGMA busy_timeout = 20").fetchone())
    with locked(store.path):
        with pytest.raises(DatabaseLocked, match="Another program"):
            store.rename_template(kept.id, "Other").result(WAIT_S)
        assert store.list_templates().result(WAIT_S) == (kept,)
    assert store.rename_template(kept.id, "Other").result(WAIT_S).name == "Other"


def test_a_job_that_fails_for_want_of_room_elsewhere(store: Store) -> None:
    def job(db: Database) -> None:
        db.execute("DELETE FROM template")
        raise OSError(errno.ENOSPC, "No space left on device")

    kept = store.create_template("Kept", TemplateKind.DOCUMENT, "eggs").result(WAIT_S)
    with pytest.raises(DiskFull):
        store._thread.submit(job).result(WAIT_S)
    assert store.list_templates().result(WAIT_S) == (kept,)


WITHOUT_RIGHTS = """
import os, sys
from pathlib import Path
from app.storage.content import TemplateKind
from app.storage.errors import ReadOnlyFolder
from app.storage.store import Store

if os.geteuid() == 0:
    os.setuid(int(sys.argv[2]))
store = Store(Path(sys.argv[1]))
error = store.open().exception()
assert isinstance(error, ReadOnlyFolder), repr(error)
error = store.create_template("New", TemplateKind.DOCUMENT, "eggs").exception()
assert isinstance(error, ReadOnlyFolder), repr(error)
store.close()
print(error)
"""


@pytest.mark.parametrize("has_database", [False, True])
def test_a_folder_that_may_not_be_written_to(has_database: bool) -> None:
    # Root may write everywhere, so the child gives that right up; to do so it needs a folder that
    # others can reach.
    with tempfile.TemporaryDirectory(prefix="ondol-test-") as name:
        folder = Path(name)
        if has_database:
            store = Store(folder)
            store.open()
            store.close()
        before = sorted(folder.iterdir())
        folder.chmod(0o555)
        child = subprocess.run(
            [sys.executable, "-c", WITHOUT_RIGHTS, name, str(NOBODY)],
            capture_output=True,
            text=True,
            check=False,
        )
        folder.chmod(0o755)
        assert child.returncode == 0, child.stderr
        assert f"may not write to {folder}" in child.stdout
        assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (sqlite3.SQLITE_FULL, DiskFull),
        (sqlite3.SQLITE_READONLY_DBMOVED, ReadOnlyFolder),
        (sqlite3.SQLITE_BUSY_SNAPSHOT, DatabaseLocked),
        (sqlite3.SQLITE_LOCKED, DatabaseLocked),
        (sqlite3.SQLITE_CORRUPT_INDEX, DatabaseCorrupt),
        (sqlite3.SQLITE_NOTADB, DatabaseCorrupt),
        (sqlite3.SQLITE_IOERR_FSYNC, DiskFailure),
        (sqlite3.SQLITE_ERROR, None),
        (sqlite3.SQLITE_CONSTRAINT_CHECK, None),
    ],
)
def test_what_sqlite_says_in_words(path: Path, code: int, expected: type | None) -> None:
    error = sqlite3.OperationalError("as SQLite puts it")
    error.sqlite_errorcode = code
    known = translate(error, path)
    assert type(known) is (expected or type(None))
    if known is not None:
        assert known.__cause__ is error
        assert "as SQLite puts it" not in str(known)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (errno.ENOSPC, DiskFull),
        (errno.EDQUOT, DiskFull),
        (errno.EROFS, ReadOnlyFolder),
        (errno.EACCES, ReadOnlyFolder),
        (errno.ENOENT, None),
    ],
)
def test_what_the_system_says_in_words(path: Path, code: int, expected: type | None) -> None:
    assert type(translate(OSError(code, os.strerror(code)), path)) is (expected or type(None))


def test_a_disk_that_fails_because_it_is_nearly_full(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorcode = sqlite3.SQLITE_IOERR_SHMSIZE
    monkeypatch.setattr("shutil.disk_usage", lambda folder: SimpleNamespace(free=4096))
    assert isinstance(translate(error, path), DiskFull)
