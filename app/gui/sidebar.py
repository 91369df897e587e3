"""The window's left side: where one can go, and how the model does."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import (
    QAbstractListModel,
    QEvent,
    QModelIndex,
    QPersistentModelIndex,
    QRectF,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import QIcon, QPainter, QPen
from PySide6.QtWidgets import (
    QFrame,
    QListView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QVBoxLayout,
    QWidget,
)

from app.gui.icons import icon
from app.gui.status_line import StatusLine
from app.gui.theme import SPACE, strong_font, theme

WIDTH = 208
_ROW_HEIGHT = 36
_ICON_SIZE = 20

Index = QModelIndex | QPersistentModelIndex


class Places(QAbstractListModel):
    """Names of pages, with their icons' names."""

    def __init__(self, places: Sequence[tuple[str, str]], parent: QWidget) -> None:
        super().__init__(parent)
        self._places = tuple(places)

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 - Qt's signature
        return 0 if parent.isValid() else len(self._places)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not index.isValid():
            return None
        icon_name, title = self._places[index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            return title
        if role == Qt.ItemDataRole.UserRole:
            return icon_name
        return None


class _PlaceDelegate(QStyledItemDelegate):
    """A row: icon and name; the chosen one on a soft ground, in the accent."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._icons: dict[tuple[str, str], QIcon] = {}
        theme.changed.connect(self._forget_icons)

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(0, _ROW_HEIGHT)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        chosen = bool(option.state & QStyle.StateFlag.State_Selected)
        by_keyboard = QStyle.StateFlag.State_HasFocus | QStyle.StateFlag.State_KeyboardFocusChange
        focused = option.state & by_keyboard == by_keyboard
        row = QRectF(option.rect).adjusted(0, 1, 0, -1)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if chosen:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(theme.color("border"))
            painter.drawRoundedRect(row, SPACE, SPACE)
        if chosen and focused:
            painter.setPen(QPen(theme.color("accent"), 2.0))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(row.adjusted(1, 1, -1, -1), SPACE - 1, SPACE - 1)
        left = row.left() + 1.25 * SPACE
        top = row.center().y() - _ICON_SIZE / 2
        picture = self._icon(index.data(Qt.ItemDataRole.UserRole), "accent" if chosen else "text")
        picture.paint(painter, round(left), round(top), _ICON_SIZE, _ICON_SIZE)
        painter.setPen(theme.color("text"))
        painter.setFont(strong_font(option.font) if chosen else option.font)
        words = row.adjusted(1.25 * SPACE + _ICON_SIZE + 1.25 * SPACE, 0, 0, 0)
        painter.drawText(words, Qt.AlignmentFlag.AlignVCenter, index.data())
        painter.restore()

    def _forget_icons(self) -> None:
        self._icons.clear()

    def _icon(self, name: str, token: str) -> QIcon:
        if (name, token) not in self._icons:
            self._icons[name, token] = icon(name, token)
        return self._icons[name, token]


class Sidebar(QFrame):
    """Arrow keys and a click choose.

    chosen(int)   a place was chosen, by its number
    """

    chosen = Signal(int)

    def __init__(self, places: Sequence[tuple[str, str]], parent: QWidget | None = None) -> None:
        """`places` are icon names and translated names."""
        super().__init__(parent)
        self.setProperty("role", "sidebar")
        self.setFixedWidth(WIDTH)
        self._list = QListView()
        self._list.setProperty("role", "navigation")
        self._list.setAccessibleName(self.tr("Pages"))
        self._list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._list.setModel(Places(places, self))
        self._list.setItemDelegate(_PlaceDelegate(self._list))
        self._list.selectionModel().currentChanged.connect(self._tell)
        self.status = StatusLine()
        layout = QVBoxLayout(self)
        layout.setContentsMargins(SPACE, 2 * SPACE, SPACE, 0)
        layout.addWidget(self._list, 1)
        layout.addWidget(self.status)
        theme.changed.connect(self._list.viewport().update)

    @property
    def current(self) -> int:
        """-1 before anything was chosen."""
        return self._list.currentIndex().row()

    def choose(self, number: int) -> None:
        self._list.setCurrentIndex(self._list.model().index(number, 0))

    def _tell(self, now: QModelIndex, _before: QModelIndex) -> None:
        self.chosen.emit(now.row())

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() is QEvent.Type.FontChange:
            self._list.doItemsLayout()
