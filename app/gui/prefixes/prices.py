"""What prefixes cost, asked one after the other and remembered."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import QObject, Signal

from app.desk import Desk
from app.gui.futures import follow
from app.gui.prefixes.rows import PrefixRow
from app.prefixes import Price
from app.storage.templates import Template
from engine.errors import EngineUnavailable

_Version = tuple[int, int]
_Key = tuple[_Version, _Version | None]


class Prices(QObject):
    """Counting tokens takes milliseconds of a worker that others wait for too, so there is never
    more than one question under way.

    priced(int)   the template of this id has a price now
    """

    priced = Signal(int)

    def __init__(self, desk: Desk, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._desk = desk
        self._model_id = ""
        self._known: dict[_Key, Price | None] = {}
        self._waiting: dict[int, PrefixRow] = {}
        self._asking = False

    def of(self, row: PrefixRow) -> Price | None:
        return self._known.get(_key(row))

    def want(self, rows: Iterable[PrefixRow]) -> None:
        """Find out what these cost, in this order and before all that was wanted earlier."""
        wanted = {row.id: row for row in rows if _key(row) not in self._known and not row.deleted}
        self._waiting = wanted | {
            template_id: row
            for template_id, row in self._waiting.items()
            if template_id not in wanted
        }
        self._ask_next()

    def rest(self) -> None:
        """Ask nothing more for now."""
        self._waiting.clear()

    def use_model(self, model_id: str) -> bool:
        """Prices hold for one model. Returns whether it is another one than before."""
        if model_id == self._model_id:
            return False
        self._model_id = model_id
        self._known.clear()
        return True

    def _ask_next(self) -> None:
        if self._asking or not self._waiting:
            return
        row = self._waiting.pop(next(iter(self._waiting)))
        policy = row.policy.latest.content if row.policy else None
        model_id = self._model_id

        def note(price: Price | None) -> None:
            self._asking = False
            if model_id == self._model_id:
                self._known[_key(row)] = price
                self.priced.emit(row.id)
            self._ask_next()

        def failed(error: Exception) -> None:
            if isinstance(error, EngineUnavailable):
                self._asking = False
                self._waiting.clear()  # whoever wants them asks again when a model serves
            else:
                note(None)  # the detail pane says why once somebody tries to warm it

        self._asking = True
        answer = self._desk.price(row.kind, row.template.latest.content, policy)
        follow(answer, self, note, failed)


def _key(row: PrefixRow) -> _Key:
    return _version(row.template), None if row.policy is None else _version(row.policy)


def _version(template: Template) -> _Version:
    return template.id, template.latest.number
