"""What a person does to prefixes, asked of the desk."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, Signal

from app.desk import Desk
from app.gui import trouble
from app.gui.futures import follow
from app.gui.prefixes.library import Library
from app.gui.prefixes.rows import PrefixRow
from app.storage.content import TemplateKind
from app.storage.templates import Template


class Commands(QObject):
    """Every command ends with a fresh list, however it went.

    failed(str)            something was not done, and why
    created(int)           a template of this id is new
    deleted(tuple)         these rows are gone, until they are restored
    notImported(object, object)   a file (Path) did not become a template, and the error
    """

    failed = Signal(str)
    created = Signal(int)
    deleted = Signal(tuple)
    notImported = Signal(object, object)

    def __init__(self, desk: Desk, library: Library, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._desk = desk
        self._library = library

    def pin(self, rows: Iterable[PrefixRow], policy_id: int | None) -> None:
        """Keep these warm; `policy_id` is what tool schemas among them are sent with."""
        self._each(
            rows,
            lambda row: self._desk.pin(row.id, _policy(row, policy_id)),
            self.tr("“{name}” was not pinned. {reason}"),
        )

    def unpin(self, rows: Iterable[PrefixRow]) -> None:
        self._each(
            rows,
            lambda row: self._desk.unpin(row.id),
            self.tr("“{name}” is still pinned. {reason}"),
        )

    def warm(self, rows: Iterable[PrefixRow], policy_id: int | None) -> None:
        """Compute these now. One that is pinned is pinned anew, as warming would let it go."""

        def warm(row: PrefixRow) -> Future[Any]:
            if row.pin is not None:
                return self._desk.pin(row.id, row.pin.with_template_id)
            return self._desk.warm(row.id, _policy(row, policy_id))

        self._each(rows, warm, self.tr("“{name}” was not warmed. {reason}"))

    def cancel(self, rows: Iterable[PrefixRow]) -> None:
        """Stop computing these; a pin among them goes, or it would begin again."""

        def cancel(row: PrefixRow) -> Future[Any]:
            return self._desk.unpin(row.id) if row.pinned else self._desk.cancel_warming(row.id)

        self._each(rows, cancel, self.tr("“{name}” is still being computed. {reason}"))

    def delete(self, rows: Iterable[PrefixRow]) -> None:
        self._each(
            rows,
            lambda row: self._desk.delete(row.id),
            self.tr("“{name}” was not deleted. {reason}"),
            self.deleted.emit,
        )

    def restore(self, rows: Iterable[PrefixRow]) -> None:
        self._each(
            rows,
            lambda row: self._desk.restore(row.id),
            self.tr("“{name}” was not restored. {reason}"),
        )

    def import_file(
        self, path: Path, *, kind: TemplateKind | None = None, name: str | None = None
    ) -> None:
        """Make a template of a file; `kind` and `name` where the file's own do not do."""

        def done(template: Template) -> None:
            self._library.reload()
            self.created.emit(template.id)

        follow(
            self._desk.import_template(path, kind=kind, name=name),
            self,
            done,
            lambda error: self.notImported.emit(path, error),
        )

    def forget_stale_warmth(self, row: PrefixRow) -> None:
        """A new version was saved: what was warmed, and not pinned, is of the old one."""
        if row.status is not None and not row.status.kept:
            self.cancel([row])

    def _each(
        self,
        rows: Iterable[PrefixRow],
        ask: Callable[[PrefixRow], Future[Any]],
        complaint: str,
        done: Callable[[tuple[PrefixRow, ...]], None] = lambda rows: None,
    ) -> None:
        """Ask for every row; when all have their answer, read the list anew and say `done` of those
        that went well and of the first that did not."""
        rows = tuple(rows)
        well: list[PrefixRow] = []
        complaints: list[str] = []

        def ended() -> None:
            if len(well) + len(complaints) < len(rows):
                return
            self._library.reload()
            if well:
                done(tuple(well))
            if complaints:
                self.failed.emit(_first_of(complaints, self.tr("{first} ({number} more)")))

        for row in rows:

            def went_well(_: object, row: PrefixRow = row) -> None:
                well.append(row)
                ended()

            def went_wrong(error: Exception, row: PrefixRow = row) -> None:
                complaints.append(complaint.format(name=row.name, reason=trouble.words(error)))
                ended()

            follow(ask(row), self, went_well, went_wrong)


def _policy(row: PrefixRow, policy_id: int | None) -> int | None:
    return policy_id if row.kind is TemplateKind.TOOL_SCHEMA else None


def _first_of(complaints: Sequence[str], many: str) -> str:
    if len(complaints) == 1:
        return complaints[0]
    return many.format(first=complaints[0], number=len(complaints) - 1)
