from __future__ import annotations

import errno
import re
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import pytest
from sqlite_utils import Database

from app.storage import aggregates, backup, history, pins, settings_store, templates
from app.storage.content import TemplateKind
from app.storage.errors import DatabaseCorrupt, DiskFull, MigrationFailed, NewerDatabase
from app.storage.migrations import MIGRATIONS, Migration
from app.storage.schema import open_database
from app.storage.settings_store import Appearance, Preferences
from tests.support.storage import state_of

VERSION_1 = Path(__file__).with_name("version_1.sql").read_text(encoding="utf-8")


@pytest.fixture
def version_1(path: Path) -> Path:
    """A file as the first Ondol left it."""
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(VERSION_1)
        connection.execute("PRAGMA journal_mode = WAL")
    return path


def add_owner(db: Database) -> None:
    db.execute("ALTER TABLE template ADD COLUMN owner TEXT NOT NULL DEFAULT 'house'")


def fail(db: Database) -> None:
    db.execute("DELETE FROM template_tag")
    db.execute("INSERT INTO no_such_table VALUES (1)")


def dump(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as connection:
        return [*connection.iterdump(), str(version_of(connection))]


def version_of(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def backups(path: Path) -> list[Path]:
    return sorted(file for file in path.parent.iterdir() if ".backup-" in file.name)


def migrate(path: Path, *further: Migration) -> None:
    open_database(path, (*MIGRATIONS, *further)).close()


def leave_log_behind(path: Path, sql: str) -> None:
    """Change the database and die before the log is merged into the file."""
    program = (
        "import os, sqlite3, sys\n"
        "connection = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "connection.executescript(sys.argv[2])\n"
        "os._exit(0)\n"
    )
    subprocess.run([sys.executable, "-c", program, str(path), sql], check=True)
    assert path.with_name(path.name + "-wal").stat().st_size > 0


def test_a_new_database(path: Path) -> None:
    with closing(open_database(path)) as db:
        assert version_of(db.conn) == len(MIGRATIONS)
        assert db.journal_mode == "wal"
        assert db.execute("PRAGMA foreign_keys").fetchone()[0] == 1
        assert db.execute("PRAGMA synchronous").fetchone()[0] == 2
    assert [file.name for file in path.parent.iterdir()] == [path.name]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_opening_again_changes_nothing(path: Path) -> None:
    open_database(path).close()
    before = state_of(path.parent)
    open_database(path).close()
    assert state_of(path.parent) == before


def test_an_empty_file_is_a_new_database(path: Path) -> None:
    path.touch()
    with closing(open_database(path)) as db:
        assert version_of(db.conn) == len(MIGRATIONS)
    assert backups(path) == []


def test_a_missing_folder(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        open_database(tmp_path / "missing" / "ondol.sqlite3")


def test_what_version_1_wrote_is_all_there(version_1: Path) -> None:
    with closing(open_database(version_1)) as db:
        policy, tools = templates.find(db)
        assert (policy.name, policy.kind) == ("House rules", TemplateKind.SYSTEM_POLICY)
        assert policy.tags == ("kitchen", "온돌")
        assert [version.text for version in templates.versions(db, policy.id)] == [
            "Be brief.",
            "Be brief.\nBe kind; it's home.",
        ]
        assert tools.latest.tools_json is not None
        (deleted,) = templates.find(db, deleted=True)
        assert (deleted.name, deleted.deleted_at) == ("Old list", 1800000400.0)
        assert pins.all_pins(db) == (
            pins.Pin(1, "latest", 1800000200.0),
            pins.Pin(2, 1, 1800000300.0, with_template_id=1),
        )
        assert settings_store.load(db) == Preferences(port=9000, appearance=Appearance.DARK)
        (record,) = history.recent(db, 10)
        assert (record.id, record.usage.cached_tokens) == ("chatcmpl-1", 1500)
        minute = aggregates.last_24_hours(db, now=1800000599.0)[-1]
        assert (minute.started_at, minute.peak_resident_bytes) == (1800000540, 4096)


def test_before_there_were_reasons_all_was_evicted_for_room(version_1: Path) -> None:
    with closing(sqlite3.connect(version_1)) as connection, connection:
        connection.execute("UPDATE minute SET evicted_pages = 3, evicted_bytes = 300")
    with closing(open_database(version_1)) as db:
        minute = aggregates.last_24_hours(db, now=1800000599.0)[-1]
    assert (minute.capacity_bytes, minute.quota_bytes, minute.preemptions) == (300, 0, 0)


def test_a_migration_with_a_backup_before_it(version_1: Path) -> None:
    before = dump(version_1)
    with closing(open_database(version_1, (*MIGRATIONS, add_owner))) as db:
        assert version_of(db.conn) == len(MIGRATIONS) + 1
        owners = db.execute("SELECT owner FROM template").fetchall()
        assert owners == [("house",)] * 3
    (saved,) = backups(version_1)
    assert re.fullmatch(r"ondol\.sqlite3\.backup-\d{8}T\d{6}\.\d{6}Z-v1", saved.name)
    assert stat.S_IMODE(saved.stat().st_mode) == 0o600
    assert dump(saved) == before
    assert sorted(file.name for file in version_1.parent.iterdir()) == [version_1.name, saved.name]


def test_the_backup_has_what_only_the_log_had(version_1: Path) -> None:
    leave_log_behind(version_1, "INSERT INTO preference VALUES ('language', '\"ko\"');")
    migrate(version_1, add_owner)
    with closing(sqlite3.connect(backups(version_1)[0])) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        rows = connection.execute("SELECT value FROM preference WHERE name = 'language'")
        assert rows.fetchall() == [('"ko"',)]


def test_the_last_three_backups_are_kept(version_1: Path) -> None:
    def number(step: int) -> Migration:
        def create_table(db: Database) -> None:
            db.execute(f"CREATE TABLE step_{step} (x)")

        return create_table

    steps = [number(step) for step in range(5)]
    (version_1.parent / ".ondol.sqlite3-copy-of-a-crashed-run").touch()
    for end in range(1, 6):
        migrate(version_1, *steps[:end])
    first = len(MIGRATIONS)
    assert [file.name.rpartition("-v")[2] for file in backups(version_1)] == [
        str(first + step) for step in (2, 3, 4)
    ]
    assert backup.newest(version_1) == backups(version_1)[-1]
    assert len(list(version_1.parent.iterdir())) == 4


@pytest.mark.parametrize("steps", [(fail,), (add_owner, fail)])
def test_a_failed_migration_leaves_the_old_database(
    version_1: Path, steps: Sequence[Migration]
) -> None:
    before = dump(version_1)
    with pytest.raises(MigrationFailed, match="left as it was") as caught:
        migrate(version_1, *steps)
    assert dump(version_1) == before
    (saved,) = backups(version_1)
    assert saved.name in str(caught.value)
    assert dump(saved) == before
    open_database(version_1).close()


def test_a_process_killed_while_migrating_leaves_the_old_database(version_1: Path) -> None:
    before = dump(version_1)
    program = (
        "import os, signal, sys\n"
        "from pathlib import Path\n"
        "from app.storage.migrations import MIGRATIONS\n"
        "from app.storage.schema import open_database\n"
        "def die(db):\n"
        "    db.execute('DELETE FROM template')\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "open_database(Path(sys.argv[1]), (*MIGRATIONS, die))\n"
    )
    killed = subprocess.run([sys.executable, "-c", program, str(version_1)], check=False)
    assert killed.returncode == -9
    open_database(version_1, MIGRATIONS[:1]).close()
    assert dump(version_1) == before


def test_no_room_for_the_backup(version_1: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_room(path: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    monkeypatch.setattr(backup, "_sync", no_room)
    before = dump(version_1)
    with pytest.raises(DiskFull, match="Free some space"):
        migrate(version_1, add_owner)
    assert dump(version_1) == before
    assert [file.name for file in version_1.parent.iterdir()] == [version_1.name]


def test_a_newer_database_is_not_touched(path: Path) -> None:
    newer = len(MIGRATIONS) + 6
    open_database(path).close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version = {newer}")
    before = state_of(path.parent)
    with pytest.raises(NewerDatabase, match="newer Ondol") as caught:
        open_database(path)
    assert (caught.value.found, caught.value.supported) == (newer, len(MIGRATIONS))
    assert state_of(path.parent) == before


def test_a_newer_database_that_crashed_is_not_touched(path: Path) -> None:
    open_database(path).close()
    leave_log_behind(path, "PRAGMA user_version = 99; CREATE TABLE later (x);")
    log = path.with_name(path.name + "-wal")
    before = [state_of(path.parent)[file.name] for file in (path, log)]
    with pytest.raises(NewerDatabase) as caught:
        open_database(path)
    assert caught.value.found == 99
    assert [state_of(path.parent)[file.name] for file in (path, log)] == before


def overwrite(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[5000:9000] = b"\xff" * 4000
    path.write_bytes(data)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-10_000])


def replace(path: Path) -> None:
    path.write_text("a shopping list, and no database at all\n" * 100)


@pytest.mark.parametrize("damage", [overwrite, cut, replace])
def test_a_damaged_file_is_not_touched(path: Path, damage: Callable[[Path], None]) -> None:
    open_database(path).close()
    damage(path)
    before = state_of(path.parent)
    with pytest.raises(DatabaseCorrupt, match=r"damaged.*There is no backup yet"):
        open_database(path)
    assert state_of(path.parent) == before


def test_a_damaged_file_points_to_its_backup(version_1: Path) -> None:
    migrate(version_1, add_owner)
    (saved,) = backups(version_1)
    overwrite(version_1)
    before = state_of(version_1.parent)
    with pytest.raises(DatabaseCorrupt, match=re.escape(saved.name)):
        migrate(version_1, add_owner)
    assert state_of(version_1.parent) == before
