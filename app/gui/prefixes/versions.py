"""All versions of a prefix, and what each changed."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QHBoxLayout,
    QLabel,
    QListWidget,
    QListWidgetItem,
    QPushButton,
    QSplitter,
    QVBoxLayout,
    QWidget,
)

from app.desk import Desk
from app.gui import text, trouble
from app.gui.futures import follow
from app.gui.prefixes.diff_view import DiffView
from app.gui.prefixes.rows import PrefixRow
from app.gui.theme import SPACE, strong_font
from app.storage.templates import TemplateVersion

_VERSION = Qt.ItemDataRole.UserRole
_WIDTH_PX, _LIST_PX = 780, 200


class VersionsSheet(QDialog):
    """broughtBack()   an old version is the latest again"""

    broughtBack = Signal()

    def __init__(self, desk: Desk, row: PrefixRow, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._desk = desk
        self._row = row
        self._versions: tuple[TemplateVersion, ...] = ()
        self.setWindowTitle(self.tr("Versions of “{name}”").format(name=row.name))
        self.setWindowModality(Qt.WindowModality.WindowModal)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.resize(_WIDTH_PX, 500)

        self.list = QListWidget()
        self.list.setAccessibleName(self.tr("Versions"))
        self.list.setProperty("role", "field")
        self.list.setWordWrap(True)
        self.list.currentRowChanged.connect(self._show)
        self._heading = QLabel()
        self._heading.setWordWrap(True)
        self._heading.setFont(strong_font(self.font()))
        self._summary = QLabel()
        self._summary.setProperty("role", "secondary")
        self.diff = DiffView()
        self.diff.compared.connect(lambda _: self._summary.setText(self.diff.summary()))

        self.copy = QPushButton(self.tr("Copy Text"))
        self.copy.clicked.connect(self._copy_text)
        self.bring_back = QPushButton(self.tr("Bring This Version Back"))
        self.bring_back.setToolTip(self.tr("Makes a new version with this text"))
        self.bring_back.clicked.connect(self._ask_back)
        self._lay_out()
        self._enable()
        self._read()

    def _lay_out(self) -> None:
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        buttons.button(QDialogButtonBox.StandardButton.Close).setDefault(True)
        for button in (self.copy, self.bring_back):
            buttons.addButton(button, QDialogButtonBox.ButtonRole.ActionRole)
            button.setAutoDefault(False)
        buttons.rejected.connect(self.reject)
        title = QHBoxLayout()
        title.addWidget(self._heading, 1)
        title.addWidget(self._summary)
        right = QWidget()
        changes = QVBoxLayout(right)
        changes.setContentsMargins(SPACE, 0, 0, 0)
        changes.addLayout(title)
        changes.addWidget(self.diff, 1)
        split = QSplitter()
        split.setStyleSheet("QSplitter::handle { background: transparent; }")
        split.setChildrenCollapsible(False)
        split.addWidget(self.list)
        split.addWidget(right)
        split.setStretchFactor(1, 1)
        split.setSizes([_LIST_PX, _WIDTH_PX - _LIST_PX])
        layout = QVBoxLayout(self)
        layout.setContentsMargins(2 * SPACE, 2 * SPACE, 2 * SPACE, 2 * SPACE)
        layout.setSpacing(2 * SPACE)
        layout.addWidget(split, 1)
        layout.addWidget(buttons)

    def _read(self) -> None:
        self._heading.setText(self.tr("Reading versions…"))
        follow(self._desk.versions(self._row.id), self, self._fill, self._complain)

    def _fill(self, versions: tuple[TemplateVersion, ...]) -> None:
        self._versions = tuple(reversed(versions))
        self.list.clear()
        for version in self._versions:
            words = self.tr("Version {number}").format(number=version.number)
            lines = [words, text.moment(version.created_at), version.note]
            self.list.addItem(QListWidgetItem("\n".join(filter(None, lines))))
        self.list.setCurrentRow(0)
        self.list.setFocus()

    def _complain(self, error: Exception) -> None:
        self._heading.setText(trouble.words(error))

    def _show(self, at: int) -> None:
        self._enable()
        if not 0 <= at < len(self._versions):
            return
        version = self._versions[at]
        before = self._versions[at + 1] if at + 1 < len(self._versions) else None
        if before is None:
            self._heading.setText(self.tr("The first version"))
        else:
            self._heading.setText(
                self.tr("Changes since version {number}").format(number=before.number)
            )
        self.diff.compare(before.content if before else "", version.content)

    def _enable(self) -> None:
        at = self.list.currentRow()
        self.copy.setEnabled(at >= 0)
        self.bring_back.setEnabled(at > 0 and not self._row.deleted)

    def _copy_text(self) -> None:
        QGuiApplication.clipboard().setText(self._versions[self.list.currentRow()].content)

    def _ask_back(self) -> None:
        version = self._versions[self.list.currentRow()]
        note = self.tr("Back to version {number}").format(number=version.number)

        def done(_: object) -> None:
            self.broughtBack.emit()
            self._read()

        self.bring_back.setEnabled(False)
        follow(
            self._desk.add_version(self._row.id, version.content, note),
            self,
            done,
            self._complain,
        )
