"""What every chat begins with: written here once, kept warm from here."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import (
    QDragEnterEvent,
    QDragLeaveEvent,
    QDropEvent,
    QGuiApplication,
    QKeySequence,
    QShortcut,
)
from PySide6.QtWidgets import (
    QComboBox,
    QFrame,
    QHBoxLayout,
    QLineEdit,
    QPushButton,
    QSplitter,
    QVBoxLayout,
    QWidget,
)

from app.desk import Desk
from app.gui import trouble
from app.gui.clock import HouseClock
from app.gui.icons import icon
from app.gui.page import MARGINS, Page
from app.gui.prefixes import words
from app.gui.prefixes.actions import Actions, tool_button
from app.gui.prefixes.commands import Commands
from app.gui.prefixes.detail import DetailPane
from app.gui.prefixes.drop import DropHint
from app.gui.prefixes.filter import PrefixFilter
from app.gui.prefixes.library import Library
from app.gui.prefixes.notice import NoticeBar
from app.gui.prefixes.panels import Panels
from app.gui.prefixes.rows import PrefixRow
from app.gui.prefixes.sheets import Sheets
from app.gui.prefixes.table import PrefixTable
from app.gui.theme import SPACE, theme
from app.storage.content import MAX_NAME_CHARS, TemplateKind, fold
from app.storage.errors import InvalidTemplate, NameTaken

UNDO_MS = 10_000
_DELETED = "deleted"
_LIST_PX, _DETAIL_PX = 300, 220
_CORNER = 5  # pixels that a card's round corners need


def make_prefixes(desk: Desk, clock: HouseClock) -> Page:
    return PrefixesPage(desk, clock)


class PrefixesPage(Page):
    """The list on top, the selected prefix below, sheets for what takes more room."""

    icon_name = "prefixes"

    def __init__(self, desk: Desk, clock: HouseClock, parent: QWidget | None = None) -> None:
        super().__init__(desk, clock, parent)
        self._to_select: int | None = None
        self._library = Library(desk, clock, self)
        self._commands = Commands(desk, self._library, self)
        self._sheets = Sheets(desk, self._library, self._commands, self, self._select_later)
        self._rows = PrefixFilter(self._library.model, self)
        self._table = PrefixTable(self._rows)
        self._actions = Actions(self, self._table)
        self._context_menu = self._actions.context_menu(self)
        self._detail = DetailPane()
        self._search, self._filter = QLineEdit(), QComboBox()
        self._new = QPushButton(self.tr("New"))
        self._undo, self._trouble = NoticeBar("delete", "secondary"), NoticeBar("error", "bad")
        self._unsaved = NoticeBar("edit", "accent")
        self._unsaved.setObjectName("unsaved")
        self._looks_for_unsaved = False
        self._split = QSplitter(Qt.Orientation.Vertical)
        self._panels = Panels(self._split)
        self._make_controls()
        self._lay_out()
        self._connect_list()
        self._connect_actions()
        self._drop_hint = DropHint(self)
        self.setAcceptDrops(True)
        self._tint()

    def title(self) -> str:
        return self.tr("Prefixes")

    def header_controls(self) -> QWidget:
        return self._new

    def entered(self) -> None:
        self._looks_for_unsaved = True
        self._library.open()

    def left(self) -> None:
        self._library.close()

    # What is shown

    def _on_arrived(self) -> None:
        if self._to_select is not None:
            template_id, self._to_select = self._to_select, None
            self._show_all(template_id)
        elif not self._table.selected_rows() and self._rows.rowCount():
            self._table.select(self._rows.row(0).id)
        self._refresh()
        if self._looks_for_unsaved:
            self._looks_for_unsaved = False
            self._offer_unsaved()

    def _offer_unsaved(self) -> None:
        unsaved = self._sheets.latest_unsaved()
        if unsaved is None:
            self._unsaved.dismiss()
            return
        told = self.tr("What you were writing when Ondol ended was kept.")
        self._unsaved.tell(told, self.tr("Go On Writing"), self._sheets.go_on_writing)

    def _refresh(self) -> None:
        """The panel that fits what there is, and the details of what is selected."""
        if self._rows.rowCount():
            self._panels.show_list()
        elif self._rows.searching or self._rows.kind is not None:
            self._panels.show_no_match()
        elif self._rows.deleted:
            self._panels.show_none_deleted()
        else:
            self._panels.show_welcome()
        self._on_selected()

    def _on_selected(self) -> None:
        rows = self._table.selected_rows()
        self._actions.see(rows)
        self._detail.show_rows(rows)

    def _on_filter(self) -> None:
        chosen = self._filter.currentData()
        deleted = chosen == _DELETED
        self._rows.choose(None if deleted else chosen, deleted=deleted)
        self._rows.search(self._search.text())
        self._refresh()

    def _show_all(self, template_id: int | None = None) -> None:
        """Take filters away that hide a template, or all."""
        if template_id is None or not self._rows.index_of(template_id).isValid():
            self._search.clear()
            self._filter.setCurrentIndex(0)
        if template_id is not None:
            self._table.select(template_id)
            self._table.setFocus()

    def _select_later(self, template_id: int) -> None:
        """It is new, and in the list as soon as that was read anew."""
        self._to_select = template_id

    # What is done

    def _pin(self) -> None:
        rows = [row for row in self._table.selected_rows() if not row.pinned]
        self._sheets.with_policy(
            rows, self.tr("Pin"), lambda policy_id: self._commands.pin(rows, policy_id)
        )

    def _choose_policy(self) -> None:
        rows = self._table.selected_rows()
        self._sheets.with_policy(
            rows, self.tr("Pin"), lambda policy_id: self._commands.pin(rows, policy_id)
        )

    def _unpin(self) -> None:
        self._commands.unpin(row for row in self._table.selected_rows() if row.pinned)

    def _warm(self) -> None:
        rows = [row for row in self._table.selected_rows() if not row.under_way]
        unpinned = [row for row in rows if not row.pinned]
        self._sheets.with_policy(
            unpinned, self.tr("Warm"), lambda policy_id: self._commands.warm(rows, policy_id)
        )

    def _cancel(self) -> None:
        self._commands.cancel(row for row in self._table.selected_rows() if row.under_way)

    def _delete(self) -> None:
        self._commands.delete(self._table.selected_rows())

    def _offer_undo(self, rows: tuple[PrefixRow, ...]) -> None:
        if len(rows) == 1:
            told = self.tr("“{name}” was deleted.").format(name=rows[0].name)
        else:
            told = self.tr("{number} prefixes were deleted.").format(number=words.number(len(rows)))
        self._undo.tell(told, self.tr("Undo"), lambda: self._commands.restore(rows), for_ms=UNDO_MS)

    def _restore(self) -> None:
        self._commands.restore(self._table.selected_rows())

    def _edit(self) -> None:
        rows = self._table.selected_rows()
        if len(rows) == 1 and not rows[0].deleted:
            self._sheets.edit(rows[0])

    def _show_versions(self) -> None:
        rows = self._table.selected_rows()
        if len(rows) == 1:
            self._sheets.versions(rows[0])

    def _copy(self) -> None:
        rows = self._table.selected_rows()
        if len(rows) == 1:
            QGuiApplication.clipboard().setText(rows[0].template.latest.content)

    def _on_not_imported(self, path: Path, error: Exception) -> None:
        """Say why, and offer what would work instead."""
        told = self.tr("{file} was not imported. {reason}").format(
            file=path.name, reason=trouble.words(error)
        )
        if isinstance(error, NameTaken):
            free = self._free_name(error.name)
            self._trouble.tell(
                told,
                self.tr("Import as “{name}”").format(name=free),
                lambda: self._commands.import_file(path, name=free),
            )
        elif isinstance(error, InvalidTemplate) and path.suffix.lower() == ".json":
            self._trouble.tell(
                told,
                self.tr("Import as Document"),
                lambda: self._commands.import_file(path, kind=TemplateKind.DOCUMENT),
            )
        else:
            self._trouble.tell(told)

    def _free_name(self, name: str) -> str:
        taken = {fold(row.name) for row in self._library.model.rows if not row.deleted}
        short = name[: MAX_NAME_CHARS - 8].rstrip()
        return next(
            free
            for free in (f"{short} {number}" for number in itertools.count(2))
            if fold(free) not in taken
        )

    def _ask_for_menu(self, at: QPoint) -> None:
        if self._table.selected_rows():
            self._context_menu.popup(self._table.viewport().mapToGlobal(at))

    # Files dropped

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if _files_of(event):
            event.acceptProposedAction()
            self._drop_hint.appear()

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:
        self._drop_hint.hide()

    def dropEvent(self, event: QDropEvent) -> None:
        self._drop_hint.hide()
        event.acceptProposedAction()
        for path in _files_of(event):
            self._commands.import_file(path)

    # Made once

    def _make_controls(self) -> None:
        self._search.setPlaceholderText(self.tr("Search names and tags"))
        self._search.setAccessibleName(self.tr("Search prefixes"))
        self._search.setClearButtonEnabled(True)
        self._filter.setAccessibleName(self.tr("Kind of prefixes"))
        self._filter.addItem(self.tr("All kinds"), None)
        for kind in TemplateKind:
            self._filter.addItem(words.kinds(kind), kind)
        self._filter.insertSeparator(self._filter.count())
        self._filter.addItem(self.tr("Deleted"), _DELETED)
        self._new.setProperty("role", "primary")
        self._new.setMenu(self._actions.new_menu(self._new))
        self._new.setAccessibleName(self.tr("New prefix"))

    def _lay_out(self) -> None:
        bar = QHBoxLayout()
        bar.setSpacing(SPACE)
        bar.addWidget(self._search, 1)
        bar.addWidget(self._filter)
        bar.addSpacing(SPACE)
        actions = self._actions
        for action in (
            actions.edit,
            actions.pin,
            actions.unpin,
            actions.warm,
            actions.cancel,
            actions.delete,
            actions.restore,
        ):
            bar.addWidget(tool_button(action))
        card = QFrame()
        card.setProperty("role", "card")
        inside = QVBoxLayout(card)
        inside.setContentsMargins(1, _CORNER, 1, _CORNER)
        inside.addWidget(self._table)
        self._split.setChildrenCollapsible(False)
        self._split.setHandleWidth(2 * SPACE)
        self._split.setStyleSheet("QSplitter::handle { background: transparent; }")
        self._split.addWidget(card)
        self._split.addWidget(self._detail)
        self._split.setStretchFactor(0, 1)
        self._split.setSizes([_LIST_PX, _DETAIL_PX])
        layout = QVBoxLayout(self)
        layout.setContentsMargins(*MARGINS)
        layout.setSpacing(2 * SPACE)
        layout.addLayout(bar)
        layout.addWidget(self._panels, 1)
        layout.addWidget(self._unsaved)
        layout.addWidget(self._trouble)
        layout.addWidget(self._undo)

    def _connect_list(self) -> None:
        self._library.arrived.connect(self._on_arrived)
        self._library.failed.connect(self._panels.show_unreadable)
        self._library.model.changed.connect(self._on_selected)
        self._panels.retried.connect(self._library.reload)
        self._panels.allWanted.connect(self._show_all)
        self._panels.kindChosen.connect(self._sheets.write)
        self._table.selected.connect(self._on_selected)
        self._table.doubleClicked.connect(self._edit)
        self._table.customContextMenuRequested.connect(self._ask_for_menu)
        self._search.textChanged.connect(self._on_filter)
        self._filter.currentIndexChanged.connect(self._on_filter)
        self._commands.failed.connect(self._trouble.tell)
        self._commands.created.connect(self._select_later)
        self._commands.deleted.connect(self._offer_undo)
        self._commands.notImported.connect(self._on_not_imported)
        theme.changed.connect(self._tint)

    def _connect_actions(self) -> None:
        actions, detail = self._actions, self._detail
        for action in actions.new.values():
            action.triggered.connect(lambda _=False, a=action: self._sheets.write(a.data()))
        actions.from_file.triggered.connect(self._sheets.choose_files)
        actions.edit.triggered.connect(self._edit)
        actions.pin.triggered.connect(self._pin)
        actions.unpin.triggered.connect(self._unpin)
        actions.together.triggered.connect(self._choose_policy)
        actions.warm.triggered.connect(self._warm)
        actions.cancel.triggered.connect(self._cancel)
        actions.versions.triggered.connect(self._show_versions)
        actions.copy.triggered.connect(self._copy)
        actions.delete.triggered.connect(self._delete)
        actions.restore.triggered.connect(self._restore)
        detail.cancelAsked.connect(self._cancel)
        detail.retryAsked.connect(self._warm)
        detail.versionsAsked.connect(self._show_versions)
        for keys, act in (
            (QKeySequence(QKeySequence.StandardKey.Find), self._search.setFocus),
            (QKeySequence(QKeySequence.StandardKey.Undo), self._undo.press),
        ):
            shortcut = QShortcut(keys, self)
            shortcut.activated.connect(act)

    def _tint(self) -> None:
        self._new.setIcon(icon("plus", "on_accent"))


def _files_of(event: QDropEvent) -> Sequence[Path]:
    return [Path(url.toLocalFile()) for url in event.mimeData().urls() if url.isLocalFile()]
