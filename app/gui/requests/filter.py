"""Which requests are shown, and in which order."""

from __future__ import annotations

from PySide6.QtCore import QObject, QSortFilterProxyModel, Qt

from app.gui.requests.model import Column, RequestModel
from app.gui.requests.words import RequestState
from app.gui.table_model import Index


class RequestFilter(QSortFilterProxyModel):
    """By text (client, model, id; every word must occur) and by state."""

    def __init__(self, source: RequestModel, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._requests = source
        self._words: tuple[str, ...] = ()
        self._state: RequestState | None = None
        self.setSourceModel(source)

    @property
    def is_filtering(self) -> bool:
        return bool(self._words) or self._state is not None

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        """By time nothing needs to be compared: newest first is the order they are in already."""
        if column != Column.TIME:
            super().sort(column, order)
        elif order is Qt.SortOrder.DescendingOrder:
            super().sort(-1, Qt.SortOrder.AscendingOrder)
        else:
            super().sort(-1, Qt.SortOrder.DescendingOrder)

    def show_only(self, search: str, state: RequestState | None) -> None:
        wanted = (tuple(search.casefold().split()), state)
        if wanted == (self._words, self._state):
            return
        self.beginFilterChange()
        self._words, self._state = wanted
        self.endFilterChange(QSortFilterProxyModel.Direction.Rows)

    def lessThan(self, left: Index, right: Index) -> bool:
        column = left.column()
        return bool(
            self._requests.row_at(left.row()).sort_keys[column]
            < self._requests.row_at(right.row()).sort_keys[column]
        )

    def filterAcceptsRow(self, source_row: int, source_parent: Index) -> bool:
        row = self._requests.row_at(source_row)
        if self._state is not None and row.state is not self._state:
            return False
        return all(word in row.search_key for word in self._words)
