"""Which prefixes are looked at, and in which order."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QObject, QPersistentModelIndex, QSortFilterProxyModel

from app.gui.prefixes.model import SORT_ROLE, PrefixModel
from app.gui.prefixes.rows import PrefixRow
from app.storage.content import TemplateKind, fold


class PrefixFilter(QSortFilterProxyModel):
    """Living prefixes of one kind or all, or deleted ones, whose name or a tag has the words."""

    def __init__(self, model: PrefixModel, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._model = model
        self._words: list[str] = []
        self.kind: TemplateKind | None = None
        self.deleted = False
        self.setSortRole(SORT_ROLE)
        self.setSortLocaleAware(True)
        self.setSourceModel(model)

    @property
    def searching(self) -> bool:
        return bool(self._words)

    def search(self, text: str) -> None:
        """Every word must occur, in whatever case."""
        self.beginFilterChange()
        self._words = fold(text).split()
        self.endFilterChange()

    def choose(self, kind: TemplateKind | None, *, deleted: bool = False) -> None:
        """One kind or all (None)."""
        self.beginFilterChange()
        self.kind, self.deleted = kind, deleted
        self.endFilterChange()

    def row(self, number: int) -> PrefixRow:
        """What stands in a row of this view."""
        return self._model.row(self.mapToSource(self.index(number, 0)).row())

    def index_of(self, template_id: int) -> QModelIndex:
        """Where a template stands in this view; invalid if it is filtered out."""
        number = self._model.number_of(template_id)
        if number is None:
            return QModelIndex()
        return self.mapFromSource(self._model.index(number, 0))

    def filterAcceptsRow(
        self, source_row: int, source_parent: QModelIndex | QPersistentModelIndex
    ) -> bool:
        row = self._model.row(source_row)
        if row.deleted is not self.deleted or self.kind not in (None, row.kind):
            return False
        if not self._words:
            return True
        searched = fold("\n".join((row.name, *row.template.tags)))
        return all(word in searched for word in self._words)
