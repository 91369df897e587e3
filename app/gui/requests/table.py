"""The table of requests: fits its columns to the width, and follows the newest at the top."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, Qt, Signal
from PySide6.QtGui import QAction, QFont, QGuiApplication, QKeySequence, QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QFrame, QHeaderView, QTableView, QWidget

from app.gui.flat_header import ARROW_WIDTH, FlatHeader
from app.gui.quiet_scroll import keep_place_for_scroll_bar
from app.gui.requests import words
from app.gui.requests.delegate import RequestDelegate, extra_width
from app.gui.requests.filter import RequestFilter
from app.gui.requests.model import ROW_ROLE, Column, Row, header
from app.gui.theme import SPACE

_ROW_PADDING = 12
_MOST_CLIENT_WIDTH = 150  # longer names are cut before a column is given up for them
_MOST_WIDTH = 200
# What goes first where there is no room. The details of a request show all of it.
_LEAST_NEEDED = (Column.MODEL, Column.RATE, Column.PROMPT)


class RequestTable(QTableView):
    """One row selected, or none.

    recordChosen(RequestRecord | None)   the selection changed
    numAboveChanged(int)                 that many newer requests lie above what is in view
    """

    recordChosen = Signal(object)
    numAboveChanged = Signal(int)

    def __init__(self, requests: RequestFilter, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._requests = requests
        self._widths = dict.fromkeys(Column, 0)
        self._num_above = 0
        self.setHorizontalHeader(FlatHeader("card", self))
        self.setModel(requests)
        self.setItemDelegate(RequestDelegate(self))
        self._set_up_view()
        self._set_up_header()
        self._copy = QAction(self.tr("Copy as text"), self)
        self._copy.setShortcut(QKeySequence.StandardKey.Copy)
        self._copy.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
        self._copy.triggered.connect(self.copy_chosen)
        self.addAction(self._copy)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)
        self._copy.setEnabled(False)
        requests.rowsInserted.connect(self._on_rows_inserted)
        self.selectionModel().selectionChanged.connect(self._on_selection_changed)
        self.verticalScrollBar().valueChanged.connect(self._on_scrolled)

    def chosen(self) -> Row | None:
        rows = self.selectionModel().selectedRows()
        return rows[0].data(ROW_ROLE) if rows else None

    def copy_chosen(self) -> None:
        row = self.chosen()
        if row is not None:
            QGuiApplication.clipboard().setText(words.as_text(row.record))

    def fit_columns(self, rows: list[Row]) -> None:
        """Make room for what `rows` show, and give columns up where it is too narrow for all."""
        metrics = self.fontMetrics()
        for column in Column:
            wide = [metrics.horizontalAdvance(text) for text in {row.texts[column] for row in rows}]
            title = metrics.horizontalAdvance(header(column)) + ARROW_WIDTH
            needed = max(title, extra_width(column) + max(wide, default=0)) + 2 * SPACE + 1
            self._widths[column] = max(self._widths[column], min(needed, _MOST_WIDTH))
        self._share_width()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._share_width()

    def _share_width(self) -> None:
        left = self.viewport().width()
        shown = set(Column)
        client = self._widths[Column.CLIENT]
        needed = sum(self._widths.values()) - client + min(client, _MOST_CLIENT_WIDTH)
        for column in _LEAST_NEEDED:
            if needed > left:
                shown.discard(column)
                needed -= self._widths[column]
        for column in Column:
            self.setColumnHidden(column, column not in shown)
            if column is not Column.CLIENT:
                self.setColumnWidth(column, self._widths[column])

    def _on_rows_inserted(self, parent: QModelIndex, first: int, last: int) -> None:
        """At the top the view shows what is new; further down it keeps what one is looking at."""
        scroll = self.verticalScrollBar()
        top = self.rowAt(0)
        if scroll.value() == 0 or first > max(top, 0):
            return
        added = last - first + 1
        scroll.setValue(scroll.value() + added * self.verticalHeader().defaultSectionSize())
        self._set_num_above(self._num_above + added)

    def _on_scrolled(self, value: int) -> None:
        if value == 0:
            self._set_num_above(0)

    def _set_num_above(self, number: int) -> None:
        if number != self._num_above:
            self._num_above = number
            self.numAboveChanged.emit(number)

    def _on_selection_changed(self) -> None:
        row = self.chosen()
        self._copy.setEnabled(row is not None)
        self.recordChosen.emit(row.record if row else None)

    def _set_up_view(self) -> None:
        font = QFont(self.font())
        font.setFeature(QFont.Tag("tnum"), 1)
        self.setFont(font)
        self.setAccessibleName(self.tr("Requests"))
        self.viewport().setAutoFillBackground(False)  # the card below is the ground
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        keep_place_for_scroll_bar(self)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setTabKeyNavigation(False)
        self.setCornerButtonEnabled(False)

    def _set_up_header(self) -> None:
        rows = self.verticalHeader()
        rows.hide()
        rows.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        rows.setDefaultSectionSize(self.fontMetrics().height() + _ROW_PADDING)
        columns = self.horizontalHeader()
        columns.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        columns.setSectionResizeMode(Column.CLIENT, QHeaderView.ResizeMode.Stretch)
        columns.setMinimumSectionSize(1)
        self.setSortingEnabled(True)
        self.sortByColumn(Column.TIME, Qt.SortOrder.DescendingOrder)
