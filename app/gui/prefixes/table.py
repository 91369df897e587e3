"""The list itself: flat header, columns that make room, keys."""

from __future__ import annotations

import time

from PySide6.QtCore import QItemSelectionModel, Qt, Signal
from PySide6.QtGui import QFont, QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QFrame, QHeaderView, QTableView, QWidget

from app.gui.flat_header import ARROW_WIDTH, FlatHeader
from app.gui.prefixes import words
from app.gui.prefixes.columns import Column, heading
from app.gui.prefixes.delegate import ROW_HEIGHT, PrefixDelegate
from app.gui.prefixes.filter import PrefixFilter
from app.gui.prefixes.glyphs import GLYPH_PX
from app.gui.prefixes.rows import PrefixRow
from app.gui.quiet_scroll import keep_place_for_scroll_bar
from app.gui.theme import SPACE
from app.storage.content import TemplateKind

_NAME_MIN_PX = 200
# The detail pane has them too, and the kind has its icon.
_GIVE_WAY = (Column.KIND, Column.VERSION, Column.LAST_USED, Column.HITS)


class PrefixTable(QTableView):
    """selected()   other rows are selected"""

    selected = Signal()

    def __init__(self, rows: PrefixFilter, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._rows = rows
        self.setHorizontalHeader(FlatHeader("card", self))
        self.setModel(rows)
        self.setItemDelegate(PrefixDelegate(self))
        font = QFont(self.font())
        font.setFeature(QFont.Tag("tnum"), 1)
        self.setFont(font)
        self.setAccessibleName(self.tr("Prefixes"))
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.viewport().setAutoFillBackground(False)
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setSortingEnabled(True)
        self.sortByColumn(Column.NAME, Qt.SortOrder.AscendingOrder)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        keep_place_for_scroll_bar(self)
        self.setTabKeyNavigation(False)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.verticalHeader().hide()
        self.verticalHeader().setDefaultSectionSize(ROW_HEIGHT)
        self.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self._widths = self._set_widths()
        self.selectionModel().selectionChanged.connect(self.selected)

    def selected_rows(self) -> list[PrefixRow]:
        """From top to bottom."""
        numbers = sorted(index.row() for index in self.selectionModel().selectedRows())
        return [self._rows.row(number) for number in numbers]

    def select(self, template_id: int) -> None:
        """Show and select one prefix, if it is not filtered out."""
        index = self._rows.index_of(template_id)
        if index.isValid():
            flags = QItemSelectionModel.SelectionFlag
            self.selectionModel().setCurrentIndex(index, flags.ClearAndSelect | flags.Rows)
            self.scrollTo(index)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._make_room()

    def _set_widths(self) -> dict[Column, int]:
        """As wide as the widest that a column usually shows; the name takes what is left."""
        header = self.horizontalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        header.setSectionResizeMode(Column.NAME, QHeaderView.ResizeMode.Stretch)
        header.setMinimumSectionSize(5 * SPACE)
        metrics = self.fontMetrics()
        samples = {
            Column.KIND: [words.kind(kind) for kind in TemplateKind],
            Column.TOKENS: [words.number(888_888)],
            Column.MEMORY: [words.size(888 * 1024**2)],
            Column.STATE: words.states(),
            Column.HITS: [words.number(8_888)],
            Column.LAST_USED: [words.ago(0, 59 * 60), words.ago(0, time.time())],
        }
        widths: dict[Column, int] = {}
        for column in Column:
            if column is Column.NAME:
                continue
            cell = max(map(metrics.horizontalAdvance, samples.get(column, [""])))
            if column is Column.STATE:
                cell += GLYPH_PX + SPACE
            head = metrics.horizontalAdvance(heading(column)) + ARROW_WIDTH
            widths[column] = max(cell, head) + 2 * SPACE
            self.setColumnWidth(column, widths[column])
        return widths

    def _make_room(self) -> None:
        """Names stay readable: what the detail pane has too gives way to them."""
        room = self.viewport().width() - _NAME_MIN_PX - sum(self._widths.values())
        for column in _GIVE_WAY:
            self.setColumnHidden(column, room < 0)
            room += self._widths[column] if room < 0 else 0
