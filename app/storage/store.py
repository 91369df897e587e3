"""The door to everything that is stored. What goes in and comes out is plain frozen data."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from app.storage import aggregates, history, pins, settings_store, template_files, templates
from app.storage.aggregates import MinuteRow
from app.storage.content import TemplateKind
from app.storage.pins import Pin, PinnedVersion
from app.storage.recorder import Recorder
from app.storage.settings_store import Preferences
from app.storage.templates import Template, TemplateVersion
from app.storage.thread import StorageThread
from engine.request import RequestRecord
from engine.snapshot import Snapshot

if TYPE_CHECKING:
    from sqlite_utils import Database

FILE_NAME = "ondol.sqlite3"

T = TypeVar("T")


class Store:
    """One data folder's database, from `open` to `close`.

    No method waits for the disk; every answer is a future. A future fails with a StorageError
    (app/storage/errors.py) or SettingsError, and then nothing was changed. Callbacks run on the
    storage thread: they hand over and return. `clock` gives Unix seconds.
    """

    def __init__(self, data_folder: Path, clock: Callable[[], float] = time.time) -> None:
        self.path = data_folder / FILE_NAME
        self._clock = clock
        self._thread = StorageThread(self.path)
        self._recorder = Recorder(self._thread, clock)

    def open(self) -> Future[None]:
        """Done when the database is open, made or migrated.

        Fails with NewerDatabase, DatabaseCorrupt, MigrationFailed, DiskFull, ReadOnlyFolder,
        DatabaseLocked, DiskFailure; the file is then as it was, and everything else fails with the
        same error.
        """
        opened = self._thread.start()
        self._submit(lambda db: templates.purge_deleted(db, now=self._clock()))
        return opened

    def close(self, timeout_s: float | None = None) -> bool:
        """Finish all that was asked for and recorded, then close. Returns whether that was in
        time."""
        return self._thread.stop(timeout_s)

    def _submit(self, job: Callable[[Database], T]) -> Future[T]:
        return self._thread.submit(job)

    # Templates

    def create_template(
        self,
        name: str,
        kind: TemplateKind,
        content: str,
        *,
        tags: Iterable[str] = (),
        note: str = "",
    ) -> Future[Template]:
        """Raises InvalidTemplate, NameTaken."""
        tags, now = tuple(tags), self._clock()
        return self._submit(
            lambda db: templates.create(db, name, kind, content, tags=tags, note=note, now=now)
        )

    def import_template(
        self,
        path: Path,
        *,
        kind: TemplateKind | None = None,
        name: str | None = None,
        tags: Iterable[str] = (),
    ) -> Future[Template]:
        """From a file; see `template_files.import_file`. Raises InvalidTemplate, NameTaken."""
        tags, now = tuple(tags), self._clock()
        return self._submit(
            lambda db: template_files.import_file(
                db, path, kind=kind, name=name, tags=tags, now=now
            )
        )

    def add_template_version(
        self, template_id: int, content: str, *, note: str = ""
    ) -> Future[Template]:
        """Raises InvalidTemplate, UnknownTemplate."""
        now = self._clock()
        return self._submit(
            lambda db: templates.add_version(db, template_id, content, note=note, now=now)
        )

    def rename_template(self, template_id: int, name: str) -> Future[Template]:
        """Raises InvalidTemplate, NameTaken, UnknownTemplate."""
        return self._submit(lambda db: templates.rename(db, template_id, name))

    def set_template_tags(self, template_id: int, tags: Iterable[str]) -> Future[Template]:
        """Raises InvalidTemplate, UnknownTemplate."""
        tags = tuple(tags)
        return self._submit(lambda db: templates.set_tags(db, template_id, tags))

    def list_templates(
        self,
        search: str = "",
        *,
        kind: TemplateKind | None = None,
        tag: str | None = None,
        deleted: bool = False,
    ) -> Future[tuple[Template, ...]]:
        """By name; see `templates.find`."""
        return self._submit(
            lambda db: templates.find(db, search, kind=kind, tag=tag, deleted=deleted)
        )

    def template(self, template_id: int) -> Future[Template]:
        """Deleted or not. Raises UnknownTemplate."""
        return self._submit(lambda db: templates.get(db, template_id))

    def template_versions(self, template_id: int) -> Future[tuple[TemplateVersion, ...]]:
        """1 first. Raises UnknownTemplate."""
        return self._submit(lambda db: templates.versions(db, template_id))

    def delete_template(self, template_id: int) -> Future[Template]:
        """Can be undone for 30 days. Raises UnknownTemplate."""
        now = self._clock()
        return self._submit(lambda db: templates.delete(db, template_id, now=now))

    def restore_template(self, template_id: int) -> Future[Template]:
        """Undo a delete. Raises NameTaken, UnknownTemplate."""
        return self._submit(lambda db: templates.restore(db, template_id))

    # Pins

    def pin(
        self,
        template_id: int,
        version: PinnedVersion = "latest",
        *,
        with_template_id: int | None = None,
    ) -> Future[Pin]:
        """A pin that it has already becomes this one; `with_template_id` is the policy that a tool
        schema is sent with. Raises UnknownTemplate, InvalidTemplate."""
        now = self._clock()
        return self._submit(
            lambda db: pins.pin(
                db, template_id, version, with_template_id=with_template_id, now=now
            )
        )

    def unpin(self, template_id: int) -> Future[None]:
        """Raises NotPinned."""
        return self._submit(lambda db: pins.unpin(db, template_id))

    def list_pins(self) -> Future[tuple[Pin, ...]]:
        """Those of living templates, oldest first."""
        return self._submit(pins.all_pins)

    # Preferences

    def preferences(self) -> Future[Preferences]:
        return self._submit(settings_store.load)

    def update_preferences(
        self, change: Callable[[Preferences], Preferences]
    ) -> Future[Preferences]:
        """Store what `change` makes of the present ones, such as
        `lambda now: replace(now, port=9000)`. Raises SettingsError."""
        return self._submit(lambda db: settings_store.update(db, change))

    # History and charts

    @property
    def trouble(self) -> BaseException | None:
        """Why history cannot be written at the moment; None where it can. Nothing is lost yet:
        it is tried again."""
        return self._recorder.trouble

    def record(self, record: RequestRecord) -> None:
        """Add an ended request to history and charts; stored within a second or so."""
        self._recorder.record(record)

    def observe(self, snapshot: Snapshot) -> None:
        """Add the engine's evictions and memory to the charts; call it about once a second."""
        self._recorder.observe(snapshot)

    def flush(self) -> Future[None]:
        """Store now what `record` and `observe` have gathered."""
        return self._recorder.flush()

    def recent_requests(self, limit: int = 1_000) -> Future[tuple[RequestRecord, ...]]:
        """The last `limit`, newest first, with those that were recorded just now."""
        self._recorder.flush()
        return self._submit(lambda db: history.recent(db, limit))

    def last_24_hours(self) -> Future[list[MinuteRow]]:
        """1,440 minutes, oldest first, the present one last."""
        self._recorder.flush()
        now = self._clock()
        return self._submit(lambda db: aggregates.last_24_hours(db, now=now))
