"""Paints the cells of the requests table: plain texts, a share bar, a state with its shape."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QObject, QPersistentModelIndex, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPalette
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem

from app.gui.requests.marks import MARK_SIZE, draw_mark
from app.gui.requests.model import NUMBERS, ROW_ROLE, Column, Row
from app.gui.theme import SPACE, theme

Index = QModelIndex | QPersistentModelIndex

BAR_WIDTH = 36  # pixels
_BAR_HEIGHT = 4
_QUIET = frozenset({Column.TIME, Column.MODEL})
_MAY_BE_LONG = frozenset({Column.CLIENT, Column.MODEL})
_TOKENS = ("text", "secondary", "border", "reused", "good", "warning", "bad", "on_accent")
_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter


class RequestDelegate(QStyledItemDelegate):
    """One for the whole table. It asks the model for one thing a cell: its row."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._colors: dict[str, QColor] = {}
        theme.changed.connect(self._read_theme)
        self._read_theme()

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        row: Row = index.data(ROW_ROLE)
        column = index.column()
        selected = bool(option.state & QStyle.StateFlag.State_Selected)
        if selected:
            palette: QPalette = option.palette
            painter.fillRect(option.rect, palette.brush(QPalette.ColorRole.Highlight))
        area = QRectF(option.rect).adjusted(SPACE, 0, -SPACE, 0)
        if column == Column.CACHED:
            self._draw_bar(painter, area, row.cached_share, selected)
            area.setLeft(area.left() + BAR_WIDTH + SPACE)
        elif column == Column.STATE:
            mark = QRectF(area.left(), area.center().y() - MARK_SIZE / 2, MARK_SIZE, MARK_SIZE)
            draw_mark(painter, mark, row.state, self._color(row.state.token, selected))
            area.setLeft(mark.right() + SPACE)
        text = row.texts[column]
        if column in _MAY_BE_LONG:
            metrics = option.fontMetrics
            text = metrics.elidedText(text, Qt.TextElideMode.ElideRight, int(area.width()))
        painter.setPen(self._color("secondary" if column in _QUIET else "text", selected))
        painter.drawText(area, _RIGHT if column in NUMBERS else _LEFT, text)

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        row: Row = index.data(ROW_ROLE)
        column = Column(index.column())
        metrics = option.fontMetrics
        width = metrics.horizontalAdvance(row.texts[column]) + extra_width(column) + 2 * SPACE + 1
        return QSize(width, metrics.height())

    def _color(self, token: str, selected: bool) -> QColor:
        return self._colors["on_accent" if selected else token]

    def _read_theme(self) -> None:
        self._colors = {token: theme.color(token) for token in _TOKENS}

    def _draw_bar(self, painter: QPainter, area: QRectF, share: float, selected: bool) -> None:
        """How much of the prompt was reused. Nothing is drawn for nothing."""
        if share <= 0:
            return
        radius = _BAR_HEIGHT / 2
        track = QRectF(area.left(), area.center().y() - radius, BAR_WIDTH, _BAR_HEIGHT)
        ground = QColor(self._color("border", selected))
        if selected:
            ground.setAlphaF(0.35)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(ground)
        painter.drawRoundedRect(track, radius, radius)
        track.setWidth(max(_BAR_HEIGHT, BAR_WIDTH * share))
        painter.setBrush(self._color("reused", selected))
        painter.drawRoundedRect(track, radius, radius)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)


def extra_width(column: Column) -> int:
    """Pixels that a cell needs beside its text."""
    if column is Column.CACHED:
        return BAR_WIDTH + SPACE
    return MARK_SIZE + SPACE if column is Column.STATE else 0
