"""A language in which every translated text stands in brackets, so that others are seen."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path

from PySide6.QtCore import (
    QAbstractItemModel,
    QAbstractListModel,
    QModelIndex,
    QObject,
    Qt,
    QTranslator,
)
from PySide6.QtGui import QAction
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QComboBox,
    QGroupBox,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QTabWidget,
    QTextEdit,
    QWidget,
)

OPEN, CLOSE = "⟦", "⟧"

_SHOWN_ROLES = (
    Qt.ItemDataRole.DisplayRole,
    Qt.ItemDataRole.ToolTipRole,
    Qt.ItemDataRole.AccessibleTextRole,
    Qt.ItemDataRole.AccessibleDescriptionRole,
)
_MAX_ROWS = 20
_QT_CONTEXT = re.compile(r"Q[A-Z]")
_TAG = re.compile(r"<[^>]+>")


class PseudoTranslator(QTranslator):
    """Translates what a file of texts (.ts) has, and what is Qt's own."""

    def __init__(self, texts: Path) -> None:
        super().__init__()
        self._known = {
            (context.findtext("name"), source.text)
            for context in ET.parse(texts).iter("context")
            for source in context.iter("source")
        }

    def isEmpty(self) -> bool:
        return False

    def translate(
        self,
        context: str,
        source_text: str,
        disambiguation: str | None = None,
        n: int = -1,
    ) -> str | None:
        # Qt asks for the contexts of a class's bases, too, until one has the text.
        is_known = (context, source_text) in self._known or _QT_CONTEXT.match(context)
        return f"{OPEN}{source_text}{CLOSE}" if is_known else None


def texts(root: QWidget) -> Iterator[tuple[QObject, str]]:
    """Everything in a widget that a person may read or hear, with the object that says it."""
    for widget in (root, *root.findChildren(QWidget)):
        for text in _texts_of(widget):
            yield widget, text
    for action in root.findChildren(QAction):
        yield action, action.text()
        yield action, action.toolTip()


def untranslated(text: str) -> str:
    """What of a text stands outside of all brackets; empty if there are no letters in it."""
    depth, outside = 0, []
    for letter in _TAG.sub(" ", text):
        depth += (letter == OPEN) - (letter == CLOSE)
        if depth == 0 and letter != CLOSE:
            outside.append(letter)
    rest = " ".join("".join(outside).split())
    return rest if any(letter.isalpha() for letter in rest) else ""


def _texts_of(widget: QWidget) -> Iterator[str]:
    yield from (widget.toolTip(), widget.statusTip(), widget.whatsThis())
    yield from (widget.accessibleName(), widget.accessibleDescription())
    if widget.isWindow():
        yield widget.windowTitle()
    match widget:
        case QLabel() | QAbstractButton():
            yield widget.text()
        case QLineEdit():
            yield from (widget.placeholderText(), widget.text())
        case QPlainTextEdit() | QTextEdit():
            yield from (widget.placeholderText(), widget.toPlainText())
        case QGroupBox():
            yield widget.title()
        case QTabWidget():
            yield from (widget.tabText(number) for number in range(widget.count()))
        case QComboBox():
            yield from (widget.itemText(number) for number in range(widget.count()))
        case QAbstractItemView() if widget.model() is not None:
            yield from _texts_of_model(widget.model())


def _texts_of_model(model: QAbstractItemModel) -> Iterator[str]:
    root = QModelIndex()
    is_list = isinstance(model, QAbstractListModel)  # whose columnCount is private
    for column in range(1 if is_list else model.columnCount(root)):
        for role in _SHOWN_ROLES:
            yield _shown(model.headerData(column, Qt.Orientation.Horizontal, role))
            for row in range(min(model.rowCount(root), _MAX_ROWS)):
                yield _shown(model.index(row, column, root).data(role))


def _shown(value: object) -> str:
    return value if isinstance(value, str) else ""
