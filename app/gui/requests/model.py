"""The ended requests as a table, newest first."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QCoreApplication, QObject, Qt

from app.desk import RECENT_KEPT
from app.gui import text
from app.gui.requests import words
from app.gui.table_model import ROOT, ColumnsModel, Index
from engine.request import RequestRecord

ROW_ROLE = Qt.ItemDataRole.UserRole + 1


class Column(enum.IntEnum):
    TIME = 0
    CLIENT = 1
    MODEL = 2
    PROMPT = 3
    CACHED = 4
    TTFT = 5
    RATE = 6
    STATE = 7


NUMBERS = frozenset({Column.PROMPT, Column.CACHED, Column.TTFT, Column.RATE})


@dataclass(frozen=True, slots=True)
class Row:
    """One request, with all that its cells show: made once, as painting asks for it often."""

    record: RequestRecord
    state: words.RequestState
    cached_share: float
    texts: tuple[str, ...]
    sort_keys: tuple[Any, ...]  # one a column, comparable within it
    search_key: str


def make_row(record: RequestRecord) -> Row:
    usage = record.usage
    state = words.state_of(record)
    client = words.client_name(record)
    texts = (
        text.moment(record.ended_at),
        client,
        record.model,
        text.count(usage.prompt_tokens),
        text.count(usage.cached_tokens),
        words.ttft_words(record),
        words.rate_words(record),
        state.word,
    )
    sort_keys = (
        record.ended_at,
        client.casefold(),
        record.model.casefold(),
        float(usage.prompt_tokens),
        float(usage.cached_tokens),
        record.timings.ttft_s,
        words.decode_rate(record) or 0.0,
        state.word.casefold(),
    )
    search_key = f"{client}\n{record.model}\n{record.id}".casefold()
    return Row(record, state, words.cached_share(record), texts, sort_keys, search_key)


class RequestModel(ColumnsModel):
    """At most `most` requests; beyond it the oldest go. A request is taken once, by its id."""

    columns = Column
    numbers = NUMBERS

    def __init__(self, parent: QObject | None = None, most: int = RECENT_KEPT) -> None:
        super().__init__(parent)
        self._most = most
        self._rows: list[Row] = []  # oldest first: new ones are appended
        self._ids: set[str] = set()

    def add(self, records: Sequence[RequestRecord]) -> None:
        """Put `records`, oldest first, above all others."""
        new = []
        for record in records[-self._most :]:
            if record.id not in self._ids:
                self._ids.add(record.id)
                new.append(make_row(record))
        self._drop_oldest(len(self._rows) + len(new) - self._most)
        if new:
            self.beginInsertRows(ROOT, 0, len(new) - 1)
            self._rows += new
            self.endInsertRows()

    def write_days(self) -> None:
        """Write the times anew: what is of today has no day, and then midnight comes."""
        if not self._rows:
            return
        self._rows = [make_row(row.record) for row in self._rows]
        last = self.index(len(self._rows) - 1, Column.TIME)
        self.dataChanged.emit(
            self.index(0, Column.TIME), last, [Qt.ItemDataRole.DisplayRole, ROW_ROLE]
        )

    def row_at(self, number: int) -> Row:
        return self._rows[-1 - number]

    def _drop_oldest(self, number: int) -> None:
        if number <= 0:
            return
        last = len(self._rows) - 1
        self.beginRemoveRows(ROOT, last - number + 1, last)
        self._ids.difference_update(row.record.id for row in self._rows[:number])
        del self._rows[:number]
        self.endRemoveRows()

    def rowCount(self, parent: Index = ROOT) -> int:
        return 0 if parent.isValid() else len(self._rows)

    def heading(self, column: int) -> str:
        return header(Column(column))

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        row = self._rows[-1 - index.row()]
        column = index.column()
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return row.texts[column]
            case Qt.ItemDataRole.TextAlignmentRole:
                return self.alignment(column)
            case Qt.ItemDataRole.ToolTipRole:
                return _tool_tip(row, column)
            case Qt.ItemDataRole.AccessibleTextRole:
                return f"{header(Column(column))}: {row.texts[column]}"
            case _ if role == ROW_ROLE:
                return row
            case _:
                return None


def header(column: Column) -> str:
    match column:
        case Column.TIME:
            return QCoreApplication.translate("requests", "Time")
        case Column.CLIENT:
            return QCoreApplication.translate("requests", "Client")
        case Column.MODEL:
            return QCoreApplication.translate("requests", "Model")
        case Column.PROMPT:
            return QCoreApplication.translate("requests", "Prompt")
        case Column.CACHED:
            return QCoreApplication.translate("requests", "Reused")
        case Column.TTFT:
            return QCoreApplication.translate("requests", "First token")
        case Column.RATE:
            return QCoreApplication.translate("requests", "Tokens/s")
        case Column.STATE:
            return QCoreApplication.translate("requests", "State")


def _tool_tip(row: Row, column: int) -> str:
    if column == Column.CACHED:
        return words.reuse(row.record)
    if column == Column.STATE:
        return words.explanation(row.record)
    return row.texts[column]
