"""What all tables of rows and named columns have in common."""

from __future__ import annotations

import enum
from collections.abc import Collection
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt

Index = QModelIndex | QPersistentModelIndex

ROOT = QModelIndex()


class ColumnsModel(QAbstractTableModel):
    """A table whose columns are an enumeration: their headings, and on which side they stand.

    columns   counted from 0
    numbers   those whose figures are compared, so that they stand on the right
    """

    columns: type[enum.IntEnum]
    numbers: Collection[int] = ()

    def heading(self, column: int) -> str:
        """What stands above a column, translated."""
        raise NotImplementedError

    def alignment(self, column: int) -> Qt.AlignmentFlag:
        right = column in self.numbers
        side = Qt.AlignmentFlag.AlignRight if right else Qt.AlignmentFlag.AlignLeft
        return side | Qt.AlignmentFlag.AlignVCenter

    def columnCount(self, parent: Index = ROOT) -> int:
        return 0 if parent.isValid() else len(self.columns)

    def headerData(
        self,
        section: int,
        orientation: Qt.Orientation,
        role: int = Qt.ItemDataRole.DisplayRole,
    ) -> Any:
        if orientation is not Qt.Orientation.Horizontal or not 0 <= section < len(self.columns):
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return self.heading(section)
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return self.alignment(section)
        return None
