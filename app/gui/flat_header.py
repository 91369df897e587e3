"""A table's header: quiet words on the ground of the list, an arrow at the column that sorts it."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QRect, QSize, Qt
from PySide6.QtGui import QPainter, QPen
from PySide6.QtWidgets import QHeaderView, QWidget

from app.gui.theme import SPACE, theme

ARROW_WIDTH = 12  # pixels that a column needs beside its title

_ARROW_HALF = 3


class FlatHeader(QHeaderView):
    """Titles and their alignment come from the model. `ground` is a token."""

    def __init__(self, ground: str = "field", parent: QWidget | None = None) -> None:
        super().__init__(Qt.Orientation.Horizontal, parent)
        self._ground = ground
        self.setSectionsClickable(True)
        self.setHighlightSections(False)
        theme.changed.connect(self.viewport().update)

    def sizeHint(self) -> QSize:
        return QSize(super().sizeHint().width(), self.fontMetrics().height() + 12)

    def paintSection(self, painter: QPainter, rect: QRect, section: int) -> None:
        painter.save()
        painter.fillRect(rect, theme.color(self._ground))
        painter.setPen(theme.color("border"))
        painter.drawLine(rect.bottomLeft(), rect.bottomRight())
        sorts = self.isSortIndicatorShown() and section == self.sortIndicatorSection()
        inside = rect.adjusted(SPACE, 0, -SPACE, 0)
        title = str(self._of(section, Qt.ItemDataRole.DisplayRole) or "")
        side = self._of(section, Qt.ItemDataRole.TextAlignmentRole)
        right = bool(side) and bool(Qt.AlignmentFlag(side) & Qt.AlignmentFlag.AlignRight)
        flag = Qt.AlignmentFlag.AlignRight if right else Qt.AlignmentFlag.AlignLeft
        painter.setPen(theme.color("text" if sorts else "secondary"))
        painter.drawText(inside, flag | Qt.AlignmentFlag.AlignVCenter, title)
        if sorts:
            reach = self.fontMetrics().horizontalAdvance(title) + ARROW_WIDTH - _ARROW_HALF
            x = inside.right() - reach if right else inside.left() + reach
            self._draw_arrow(painter, x, inside.center().y())
        painter.restore()

    def _of(self, section: int, role: Qt.ItemDataRole) -> Any:
        return self.model().headerData(section, self.orientation(), role)

    def _draw_arrow(self, painter: QPainter, x: int, y: int) -> None:
        ascending = self.sortIndicatorOrder() is Qt.SortOrder.AscendingOrder
        tip = -2 if ascending else 2
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(
            QPen(theme.color("secondary"), 1.5, Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap)
        )
        painter.drawLine(x - _ARROW_HALF, y - tip, x, y + tip)
        painter.drawLine(x, y + tip, x + _ARROW_HALF, y - tip)
