"""The database's formats, one after the other. The list only grows: a released step never changes.

Times are Unix seconds, sizes bytes. Nothing in here holds a request's or an answer's text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlite_utils import Database

Migration = Callable[["Database"], None]


def _create_tables(db: Database) -> None:
    db.executescript(
        """
        CREATE TABLE template (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            name TEXT NOT NULL,
            name_key TEXT NOT NULL,
            kind TEXT NOT NULL,
            created_at REAL NOT NULL,
            deleted_at REAL
        ) STRICT;
        CREATE UNIQUE INDEX living_template_name ON template (name_key) WHERE deleted_at IS NULL;

        CREATE TABLE template_tag (
            template_id INTEGER NOT NULL REFERENCES template ON DELETE CASCADE,
            position INTEGER NOT NULL,
            tag TEXT NOT NULL,
            tag_key TEXT NOT NULL,
            PRIMARY KEY (template_id, position),
            UNIQUE (template_id, tag_key)
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE template_version (
            template_id INTEGER NOT NULL REFERENCES template ON DELETE CASCADE,
            number INTEGER NOT NULL,
            text TEXT,
            tools_json TEXT,
            note TEXT NOT NULL,
            created_at REAL NOT NULL,
            PRIMARY KEY (template_id, number),
            CHECK ((text IS NULL) <> (tools_json IS NULL))
        ) STRICT;
        CREATE TRIGGER version_is_immutable BEFORE UPDATE ON template_version BEGIN
            SELECT RAISE(ABORT, 'a version never changes');
        END;
        CREATE TRIGGER version_follows_the_last BEFORE INSERT ON template_version
        WHEN NEW.number <> 1 + (
            SELECT COALESCE(MAX(number), 0) FROM template_version
            WHERE template_id = NEW.template_id
        ) BEGIN
            SELECT RAISE(ABORT, 'versions are numbered without gaps');
        END;

        -- version is NULL where the pin follows the latest.
        CREATE TABLE pin (
            template_id INTEGER PRIMARY KEY REFERENCES template ON DELETE CASCADE,
            version INTEGER,
            pinned_at REAL NOT NULL,
            with_template_id INTEGER REFERENCES template ON DELETE SET NULL,
            FOREIGN KEY (template_id, version) REFERENCES template_version (template_id, number)
        ) STRICT;

        CREATE TABLE preference (
            name TEXT PRIMARY KEY,
            value TEXT NOT NULL CHECK (json_valid(value))
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE request (
            position INTEGER PRIMARY KEY,
            id TEXT NOT NULL,
            client TEXT NOT NULL,
            model TEXT NOT NULL,
            priority INTEGER NOT NULL,
            reason TEXT NOT NULL,
            prompt_tokens INTEGER NOT NULL,
            cached_tokens INTEGER NOT NULL,
            completion_tokens INTEGER NOT NULL,
            queue_s REAL NOT NULL,
            prefill_s REAL NOT NULL,
            decode_s REAL NOT NULL,
            ttft_s REAL NOT NULL,
            total_s REAL NOT NULL,
            ended_at REAL NOT NULL
        ) STRICT;

        CREATE TABLE minute (
            started_at INTEGER PRIMARY KEY CHECK (started_at % 60 = 0),
            requests INTEGER NOT NULL,
            hits INTEGER NOT NULL,
            prompt_tokens INTEGER NOT NULL,
            cached_tokens INTEGER NOT NULL,
            computed_tokens INTEGER NOT NULL,
            completion_tokens INTEGER NOT NULL,
            prefill_s REAL NOT NULL,
            decode_s REAL NOT NULL,
            cold_ttft_count INTEGER NOT NULL,
            cold_ttft_sum_s REAL NOT NULL,
            cold_ttft_max_s REAL NOT NULL,
            warm_ttft_count INTEGER NOT NULL,
            warm_ttft_sum_s REAL NOT NULL,
            warm_ttft_max_s REAL NOT NULL,
            evicted_pages INTEGER NOT NULL,
            evicted_bytes INTEGER NOT NULL,
            peak_resident_bytes INTEGER NOT NULL,
            peak_pinned_bytes INTEGER NOT NULL,
            peak_running_bytes INTEGER NOT NULL
        ) STRICT;
        """
    )


def _add_awaited_tokens(db: Database) -> None:
    """Of the cached tokens, those that another request computed while this one waited."""
    db.execute("ALTER TABLE request ADD COLUMN awaited_tokens INTEGER NOT NULL DEFAULT 0")


def _add_decisions(db: Database) -> None:
    """Whether a request waited for another, for how long and what was expected; how often it made
    way. The expectations are null where there was nobody to wait for."""
    for column in (
        "parked_s REAL NOT NULL DEFAULT 0",
        "waited INTEGER",
        "expected_wait_s REAL",
        "expected_compute_s REAL",
        "leader_id TEXT",
        "boundary INTEGER",
        "cached_before INTEGER",
        "preemptions INTEGER NOT NULL DEFAULT 0",
    ):
        db.execute(f"ALTER TABLE request ADD COLUMN {column}")


def _add_reasons(db: Database) -> None:
    """Bytes evicted for each reason, and requests that made way. Until now there was one reason."""
    for column in (
        "capacity_bytes",
        "quota_bytes",
        "checkpoint_bytes",
        "pressure_bytes",
        "preemptions",
        "recomputed_tokens",
    ):
        db.execute(f"ALTER TABLE minute ADD COLUMN {column} INTEGER NOT NULL DEFAULT 0")
    db.execute("UPDATE minute SET capacity_bytes = evicted_bytes")


def _add_what_was_missed(db: Database) -> None:
    """Whether what had to be computed had been there before, and when a model began to serve."""
    for column in ("lost_tokens", "new_tokens", "starts"):
        db.execute(f"ALTER TABLE minute ADD COLUMN {column} INTEGER NOT NULL DEFAULT 0")


MIGRATIONS: Sequence[Migration] = (
    _create_tables,
    _add_awaited_tokens,
    _add_decisions,
    _add_reasons,
    _add_what_was_missed,
)
