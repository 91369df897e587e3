"""The list of prefixes as Qt asks for it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import Any

from PySide6.QtCore import QObject, Qt, Signal

from app.gui.prefixes import words
from app.gui.prefixes.columns import NUMBERS, Column, cell_text, heading, sort_key
from app.gui.prefixes.rows import PrefixRow
from app.gui.table_model import ROOT, ColumnsModel, Index

ROW_ROLE = Qt.ItemDataRole.UserRole
SORT_ROLE = Qt.ItemDataRole.UserRole + 1

_SHOWN = [
    ROW_ROLE,
    SORT_ROLE,
    Qt.ItemDataRole.DisplayRole,
    Qt.ItemDataRole.ToolTipRole,
    Qt.ItemDataRole.AccessibleTextRole,
]


class PrefixModel(ColumnsModel):
    """Rows in the order in which they became known; a proxy sorts. `clock` gives Unix seconds.

    changed()   some rows differ; once for however many
    """

    changed = Signal()
    columns = Column
    numbers = NUMBERS

    def __init__(
        self, parent: QObject | None = None, clock: Callable[[], float] = time.time
    ) -> None:
        super().__init__(parent)
        self._clock = clock
        self._rows: list[PrefixRow] = []
        self._number_of: dict[int, int] = {}
        self._ago: dict[int, str] = {}  # as it was last told

    @property
    def rows(self) -> Sequence[PrefixRow]:
        return self._rows

    def row(self, number: int) -> PrefixRow:
        return self._rows[number]

    def find(self, template_id: int | None) -> PrefixRow | None:
        number = self.number_of(template_id)
        return None if number is None else self._rows[number]

    def number_of(self, template_id: int | None) -> int | None:
        """In which row a template stands."""
        return None if template_id is None else self._number_of.get(template_id)

    def show(self, rows: Iterable[PrefixRow]) -> None:
        """These rows and no others. Those that stay keep their place, and their selection."""
        wanted = {row.id: row for row in rows}
        self._remove([n for n, row in enumerate(self._rows) if row.id not in wanted])
        new = [row for row in wanted.values() if row.id not in self._number_of]
        self.change(row for row in wanted.values() if row.id in self._number_of)
        if new:
            first = len(self._rows)
            self.beginInsertRows(ROOT, first, first + len(new) - 1)
            self._rows.extend(new)
            self._number_rows()
            self.endInsertRows()

    def change(self, rows: Iterable[PrefixRow]) -> None:
        """Newer states of rows that are there; only what differs is told."""
        changed = []
        for row in rows:
            number = self._number_of[row.id]
            if self._rows[number] != row:
                self._rows[number] = row
                changed.append(number)
        self._tell(changed, Column.NAME)

    def let_time_pass(self) -> None:
        """What was "just now" may be "1 min ago" by now."""
        now = self._clock()
        aged = []
        for number, row in enumerate(self._rows):
            if row.last_used is not None:
                shown = cell_text(row, Column.LAST_USED, now)
                if self._ago.get(row.id) != shown:
                    self._ago[row.id] = shown
                    aged.append(number)
        self._tell(aged, Column.LAST_USED)

    def rowCount(self, parent: Index = ROOT) -> int:
        return 0 if parent.isValid() else len(self._rows)

    def heading(self, column: int) -> str:
        return heading(Column(column))

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        row, column = self._rows[index.row()], Column(index.column())
        match role:
            case Qt.ItemDataRole.DisplayRole | Qt.ItemDataRole.AccessibleTextRole:
                return cell_text(row, column, self._clock())
            case Qt.ItemDataRole.ToolTipRole:
                return _tool_tip(row, column)
            case Qt.ItemDataRole.TextAlignmentRole:
                return self.alignment(column)
            case _ if role == ROW_ROLE:
                return row
            case _ if role == SORT_ROLE:
                return sort_key(row, column)
            case _:
                return None

    def _remove(self, numbers: Sequence[int]) -> None:
        for first, last in reversed(_spans(numbers)):
            self.beginRemoveRows(ROOT, first, last)
            del self._rows[first : last + 1]
            self._number_rows()
            self.endRemoveRows()

    def _number_rows(self) -> None:
        self._number_of = {row.id: number for number, row in enumerate(self._rows)}

    def _tell(self, numbers: Sequence[int], first_column: Column) -> None:
        for first, last in _spans(sorted(numbers)):
            self.dataChanged.emit(
                self.index(first, first_column), self.index(last, Column.LAST_USED), _SHOWN
            )
        if numbers:
            self.changed.emit()


def _spans(numbers: Sequence[int]) -> list[tuple[int, int]]:
    """Ascending numbers as runs of neighbours: first and last of each."""
    runs = groupby(enumerate(numbers), key=lambda entry: entry[1] - entry[0])
    together = [[number for _, number in run] for _, run in runs]
    return [(run[0], run[-1]) for run in together]


def _tool_tip(row: PrefixRow, column: Column) -> str | None:
    match column:
        case Column.NAME:
            tags = " · ".join(row.template.tags)
            return f"{row.name}\n{tags}" if tags else row.name
        case Column.STATE:
            return words.state_explained(row)
        case _:
            return None
