"""Opens what takes more room than the page has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog, QWidget

from app.desk import Desk
from app.gui.prefixes import words
from app.gui.prefixes.commands import Commands
from app.gui.prefixes.editor import EditorSheet
from app.gui.prefixes.library import Library
from app.gui.prefixes.rows import PrefixRow
from app.gui.prefixes.together import TogetherSheet, policies_among
from app.gui.prefixes.unsaved import Unsaved, UnsavedWork
from app.gui.prefixes.versions import VersionsSheet
from app.storage.content import TemplateKind
from app.storage.templates import Template


class Sheets:
    """Each opens over `page` and returns at once. `created` is told of a new template's id."""

    def __init__(
        self,
        desk: Desk,
        library: Library,
        commands: Commands,
        page: QWidget,
        created: Callable[[int], None],
    ) -> None:
        self._desk = desk
        self._library = library
        self._commands = commands
        self._page = page
        self._created = created
        self._work = UnsavedWork(desk.data_folder)

    def write(self, kind: TemplateKind) -> None:
        """A new template."""
        sheet = EditorSheet(self._desk, kind, parent=self._page)

        def saved(template: Template, _: bool) -> None:
            self._library.reload()
            self._created(template.id)

        sheet.saved.connect(saved)
        sheet.open()

    def edit(self, row: PrefixRow) -> None:
        sheet = EditorSheet(
            self._desk, row.kind, row.template, policy=row.policy, parent=self._page
        )

        def saved(_: Template, text_changed: bool) -> None:
            self._library.reload()
            if text_changed:
                self._commands.forget_stale_warmth(self._library.model.find(row.id) or row)

        sheet.saved.connect(saved)
        sheet.open()

    def latest_unsaved(self) -> Unsaved | None:
        """What somebody was writing when Ondol last ended."""
        kept = self._work.all()
        return kept[-1] if kept else None

    def go_on_writing(self) -> None:
        """Open the sheet of `latest_unsaved`, if it still is there."""
        unsaved = self.latest_unsaved()
        if unsaved is None:
            return
        row = None
        if unsaved.template_id is not None:
            row = self._library.model.find(unsaved.template_id)
        if row is not None and not row.deleted:
            self.edit(row)
        else:
            self.write(self._work.begin_anew(unsaved).kind)

    def versions(self, row: PrefixRow) -> None:
        sheet = VersionsSheet(self._desk, row, self._page)

        def brought_back() -> None:
            self._library.reload()
            self._commands.forget_stale_warmth(self._library.model.find(row.id) or row)

        sheet.broughtBack.connect(brought_back)
        sheet.open()

    def with_policy(
        self, rows: Sequence[PrefixRow], verb: str, then: Callable[[int | None], None]
    ) -> None:
        """Ask which policy the tool schemas among `rows` are sent with, if there are any and there
        is a choice; then go on."""
        tools = [row for row in rows if row.kind is TemplateKind.TOOL_SCHEMA]
        policies = policies_among(self._library.model.rows)
        if not tools or not policies:
            then(None)
            return
        sheet = TogetherSheet(self._desk, tools, policies, verb, self._page)
        sheet.chosen.connect(then)
        sheet.open()

    def choose_files(self) -> None:
        """Make templates of files."""
        dialog = QFileDialog(self._page, words.file_dialog_title())
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setFileMode(QFileDialog.FileMode.ExistingFiles)
        dialog.setNameFilters(words.file_types())
        dialog.filesSelected.connect(self._import)
        dialog.open()

    def _import(self, names: Sequence[str]) -> None:
        for name in names:
            self._commands.import_file(Path(name))
