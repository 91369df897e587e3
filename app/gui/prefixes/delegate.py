"""Paints a row of the list: flat, with a shape before every state and a bar below progress."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QObject, QPersistentModelIndex, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QIcon, QPainter, QPalette
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem

from app.gui.icons import icon
from app.gui.prefixes import words
from app.gui.prefixes.columns import NUMBERS, Column, cell_text
from app.gui.prefixes.glyphs import GLYPH_PX, paint_glyph
from app.gui.prefixes.model import ROW_ROLE
from app.gui.prefixes.rows import PrefixRow
from app.gui.theme import SPACE, theme
from engine.snapshot import PinState

ROW_HEIGHT = 4 * SPACE - 2
ICON_PX = 16
_BAR_PX = 3
_CUT = Qt.TextElideMode.ElideRight
_MAY_BE_LONG = (Column.NAME, Column.KIND)
_QUIET = (Column.KIND, Column.VERSION, Column.LAST_USED)


class PrefixDelegate(QStyledItemDelegate):
    """One object for all columns."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._icons: dict[tuple[str, str], QIcon] = {}
        self._ground = self._ink = self._quiet = self._selected_ink = QColor()
        self._read_theme()
        theme.changed.connect(self._read_theme)

    def sizeHint(
        self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> QSize:
        return QSize(0, ROW_HEIGHT)

    def paint(
        self,
        painter: QPainter,
        option: QStyleOptionViewItem,
        index: QModelIndex | QPersistentModelIndex,
    ) -> None:
        rect: QRect = option.rect
        palette: QPalette = option.palette
        font: QFont = option.font
        selected = bool(option.state & QStyle.StateFlag.State_Selected)
        row: PrefixRow = index.data(ROW_ROLE)
        column = Column(index.column())
        ground = self._ground
        if selected:
            ground = palette.color(QPalette.ColorRole.Highlight)
            painter.fillRect(rect, ground)
        inside = rect.adjusted(SPACE, 0, -SPACE, 0)
        match column:
            case Column.NAME:
                self._paint_icon(painter, inside, words.ICON_NAMES[row.kind], selected)
                inside = inside.adjusted(ICON_PX + SPACE, 0, 0, 0)
            case Column.PINNED:
                if row.pinned:
                    self._paint_icon(painter, inside, "pin", selected)
                return
            case Column.STATE if not row.deleted:
                ink = self._selected_ink if selected else None
                area = QRectF(inside)
                paint_glyph(painter, area, row.state, row.share_done, ground, ink)
                inside = inside.adjusted(GLYPH_PX + SPACE, 0, 0, 0)
                if row.state is PinState.BUILDING:
                    inside = self._paint_bar(painter, inside, row.share_done, selected)
        painter.setPen(self._color(column, selected))
        painter.setFont(font)
        self._paint_text(painter, inside, column, _text(row, column, index))

    def _paint_text(self, painter: QPainter, area: QRect, column: Column, text: str) -> None:
        if column in _MAY_BE_LONG:
            text = painter.fontMetrics().elidedText(text, _CUT, area.width())
        side = Qt.AlignmentFlag.AlignRight if column in NUMBERS else Qt.AlignmentFlag.AlignLeft
        painter.drawText(area, side | Qt.AlignmentFlag.AlignVCenter, text)

    def _paint_icon(self, painter: QPainter, area: QRect, name: str, selected: bool) -> None:
        token = "on_accent" if selected else "secondary"
        if (name, token) not in self._icons:
            self._icons[name, token] = icon(name, token)
        box = QRect(area.left(), area.center().y() - ICON_PX // 2 + 1, ICON_PX, ICON_PX)
        self._icons[name, token].paint(painter, box)

    def _paint_bar(self, painter: QPainter, area: QRect, share: float, selected: bool) -> QRect:
        """Below the words; returns what is left for them."""
        top = area.bottom() - SPACE + 1
        track = QColor(self._selected_ink if selected else self._quiet)
        track.setAlpha(70)
        painter.fillRect(QRectF(area.left(), top, area.width(), _BAR_PX), track)
        done = self._selected_ink if selected else theme.color("accent")
        painter.fillRect(QRectF(area.left(), top, area.width() * share, _BAR_PX), done)
        return area.adjusted(0, 0, 0, -SPACE + 2)

    def _color(self, column: Column, selected: bool) -> QColor:
        if selected:
            return self._selected_ink
        return self._quiet if column in _QUIET else self._ink

    def _read_theme(self) -> None:
        self._icons.clear()
        self._ground = theme.color("card")
        self._ink = theme.color("text")
        self._quiet = theme.color("secondary")
        self._selected_ink = theme.color("on_accent")


def _text(row: PrefixRow, column: Column, index: QModelIndex | QPersistentModelIndex) -> str:
    """Without a way through two models, except where the model's clock counts."""
    if column is Column.LAST_USED:
        return str(index.data(Qt.ItemDataRole.DisplayRole))
    return cell_text(row, column, 0.0)
