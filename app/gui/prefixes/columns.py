"""The columns of the list, and how each is sorted."""

from __future__ import annotations

import enum

from PySide6.QtCore import QCoreApplication

from app.gui.prefixes import words
from app.gui.prefixes.rows import PrefixRow
from app.storage.content import fold
from engine.snapshot import PinState

_UNKNOWN = -1
_STATE_ORDER = (
    PinState.FAILED,
    PinState.BUILDING,
    PinState.QUEUED,
    PinState.READY,
    PinState.ABSENT,
)


class Column(enum.IntEnum):
    NAME = 0
    KIND = 1
    VERSION = 2
    TOKENS = 3
    MEMORY = 4
    STATE = 5
    PINNED = 6
    HITS = 7
    LAST_USED = 8


NUMBERS = (Column.VERSION, Column.TOKENS, Column.MEMORY, Column.HITS)


def heading(column: Column) -> str:
    return {
        Column.NAME: QCoreApplication.translate("prefixes", "Name"),
        Column.KIND: QCoreApplication.translate("prefixes", "Kind"),
        Column.VERSION: QCoreApplication.translate("prefixes", "Version"),
        Column.TOKENS: QCoreApplication.translate("prefixes", "Tokens"),
        Column.MEMORY: QCoreApplication.translate("prefixes", "Memory"),
        Column.STATE: QCoreApplication.translate("prefixes", "State"),
        Column.PINNED: QCoreApplication.translate("prefixes", "Pinned"),
        Column.HITS: QCoreApplication.translate("prefixes", "Hits"),
        Column.LAST_USED: QCoreApplication.translate("prefixes", "Last used"),
    }[column]


def cell_text(row: PrefixRow, column: Column, now: float) -> str:
    """What stands in a cell; `now` is Unix seconds."""
    match column:
        case Column.NAME:
            return row.name
        case Column.KIND:
            return words.kind(row.kind)
        case Column.VERSION:
            return words.number(row.template.latest.number)
        case Column.TOKENS:
            return words.number(row.num_tokens)
        case Column.MEMORY:
            return words.size(row.num_bytes)
        case Column.STATE:
            return words.state(row)
        case Column.PINNED:
            return words.pinned(row)
        case Column.HITS:
            return words.number(row.hits)
        case Column.LAST_USED:
            return words.ago(row.last_used, now)


def sort_key(row: PrefixRow, column: Column) -> str | int | float:
    match column:
        case Column.NAME:
            return fold(row.name)
        case Column.KIND:
            return words.kind(row.kind)
        case Column.VERSION:
            return row.template.latest.number
        case Column.TOKENS:
            return _UNKNOWN if row.num_tokens is None else row.num_tokens
        case Column.MEMORY:
            return _UNKNOWN if row.num_bytes is None else row.num_bytes
        case Column.STATE:
            return _STATE_ORDER.index(row.state) - row.share_done / 2
        case Column.PINNED:
            return 0 if row.pinned else 1
        case Column.HITS:
            return row.hits
        case Column.LAST_USED:
            return float(_UNKNOWN) if row.last_used is None else row.last_used
