"""The last question before everything goes: what, how much, and a word to type."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QCoreApplication, QSize, Qt
from PySide6.QtWidgets import (
    QAbstractItemView,
    QDialog,
    QFrame,
    QHBoxLayout,
    QHeaderView,
    QLabel,
    QLineEdit,
    QPushButton,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from app.diagnostics import shorten_home
from app.gui import text
from app.gui.flat_header import FlatHeader
from app.gui.theme import SPACE, title_font
from app.remove import Kind, Removal, Thing

_WIDTH = 680
_LIST_HEIGHT = 252
_ROW_HEIGHT = 26
_NAME, _, _SIZE = range(3)
_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter


class RemoveDialog(QDialog):
    """Accepted only when the word was typed and the button pressed."""

    def __init__(self, removal: Removal, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(self.tr("Remove Everything"))
        self._word = self.tr("remove")
        self.things = _ThingsList(removal)
        self.typed = QLineEdit()
        self.typed.setPlaceholderText(self._word)
        self.typed.textChanged.connect(self._on_typed)
        self.remove = QPushButton(self.tr("Remove Everything"))
        self.remove.setProperty("role", "danger")
        self.remove.setAutoDefault(False)
        self.remove.setEnabled(False)
        self.remove.clicked.connect(self.accept)
        self.cancel = QPushButton(self.tr("Cancel"))
        self.cancel.setAutoDefault(False)
        self.cancel.clicked.connect(self.reject)
        self._lay_out(removal)
        self.typed.setFocus()

    def _on_typed(self, typed: str) -> None:
        self.remove.setEnabled(typed.strip().casefold() == self._word.casefold())

    def _lay_out(self, removal: Removal) -> None:
        heading = QLabel(self.tr("Remove everything?"))
        heading.setFont(title_font(heading.font()))
        layout = QVBoxLayout(self)
        layout.setContentsMargins(3 * SPACE, 3 * SPACE, 3 * SPACE, 3 * SPACE)
        layout.setSpacing(2 * SPACE)
        layout.addWidget(heading)
        layout.addWidget(
            _words(
                self.tr(
                    "Ondol stops, and {size} are deleted for good. Models in folders of your own"
                    " stay."
                ).format(size=text.size(removal.num_bytes))
            )
        )
        layout.addWidget(self.things)
        if removal.stays:
            layout.addWidget(_words(self._stays(removal), "secondary"))
        question = QLabel(self.tr("Type “{word}” to confirm:").format(word=self._word))
        question.setBuddy(self.typed)
        line = QHBoxLayout()
        line.setSpacing(SPACE)
        line.addWidget(question)
        line.addWidget(self.typed, 1)
        layout.addLayout(line)
        buttons = QHBoxLayout()
        buttons.setSpacing(SPACE)
        buttons.addStretch(1)
        buttons.addWidget(self.cancel)
        buttons.addWidget(self.remove)
        layout.addLayout(buttons)
        self.setFixedWidth(_WIDTH)

    def _stays(self, removal: Removal) -> str:
        names = ", ".join(path.name for path in removal.stays)
        return self.tr("Not Ondol’s, so it stays in the same folders: {names}.").format(names=names)


class _ThingsList(QTreeWidget):
    """What goes, by the folder it is in, and how large it is."""

    def __init__(self, removal: Removal) -> None:
        super().__init__()
        self.setAccessibleName(self.tr("What is deleted"))
        self.setHeader(FlatHeader("field", self))
        self.setHeaderLabels([self.tr("Name"), self.tr("What it is"), self.tr("Size")])
        # As far from the edges as the header's titles are.
        self.setStyleSheet(f"QTreeView::item {{ padding: 0 {SPACE - 3}px; }}")
        self.setIndentation(2 * SPACE)
        self.setItemsExpandable(False)
        self.setRootIsDecorated(False)
        self.setUniformRowHeights(True)
        self.setSelectionMode(QAbstractItemView.SelectionMode.NoSelection)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFixedHeight(_LIST_HEIGHT)
        self.headerItem().setTextAlignment(_SIZE, _RIGHT)
        for folder, things in _by_folder(removal):
            self._add_folder(folder, things)
        header = self.header()
        header.setStretchLastSection(False)
        header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        header.setSectionResizeMode(_NAME, QHeaderView.ResizeMode.Stretch)

    def _add_folder(self, folder: Path, things: list[Thing]) -> None:
        heading = QTreeWidgetItem([shorten_home(str(folder), Path.home())])
        self.addTopLevelItem(heading)
        heading.setFirstColumnSpanned(True)
        for thing in things:
            item = QTreeWidgetItem(
                [
                    str(thing.path.relative_to(folder)),
                    _kind_words(thing.kind),
                    text.size(thing.num_bytes),
                ]
            )
            item.setTextAlignment(_SIZE, _RIGHT)
            item.setSizeHint(_NAME, QSize(0, _ROW_HEIGHT))
            heading.addChild(item)
        heading.setSizeHint(_NAME, QSize(0, _ROW_HEIGHT))
        heading.setExpanded(True)


def _by_folder(removal: Removal) -> list[tuple[Path, list[Thing]]]:
    """The data folder, the log folder, others; in each the things in the order of their kinds."""
    order = list(Kind)
    groups: dict[Path, list[Thing]] = {removal.paths.data: [], removal.paths.logs: []}
    for thing in sorted(removal.things, key=lambda thing: order.index(thing.kind)):
        own = (
            folder
            for folder in (removal.paths.logs, removal.paths.data)
            if folder in thing.path.parents
        )
        groups.setdefault(next(own, thing.path.parent), []).append(thing)
    return [(folder, things) for folder, things in groups.items() if things]


def _words(words: str, role: str = "") -> QLabel:
    label = QLabel(words)
    label.setWordWrap(True)
    label.setTextFormat(Qt.TextFormat.PlainText)
    if role:
        label.setProperty("role", role)
    return label


def _kind_words(kind: Kind) -> str:
    match kind:
        case Kind.MODEL:
            return QCoreApplication.translate("RemoveDialog", "Starter model")
        case Kind.DATABASE:
            return QCoreApplication.translate("RemoveDialog", "Templates, settings, history")
        case Kind.BACKUP:
            return QCoreApplication.translate("RemoveDialog", "Backup of these")
        case Kind.LOG:
            return QCoreApplication.translate("RemoveDialog", "Log")
        case Kind.LOGIN_ITEM:
            return QCoreApplication.translate("RemoveDialog", "Login item")
        case Kind.OTHER:
            return QCoreApplication.translate("RemoveDialog", "Working file")
