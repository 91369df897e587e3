"""How to point a client at Ondol, and whether one has found it."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QFontDatabase
from PySide6.QtWidgets import (
    QFrame,
    QGridLayout,
    QLabel,
    QVBoxLayout,
    QWidget,
)

from app.desk import Desk
from app.gui.clock import HouseClock
from app.gui.copy_button import CopyButton
from app.gui.futures import follow
from app.gui.page import Page
from app.gui.page_scroll import PageScroll
from app.gui.pages.connect_card import ClientCard
from app.gui.pages.connect_snippets import base_url, snippets
from app.gui.pages.connect_status import ConnectionStatus
from app.gui.theme import SPACE
from engine.request import RequestRecord


def make_connect(desk: Desk, clock: HouseClock) -> Page:
    return ConnectPage(desk, clock)


class ConnectPage(Page):
    icon_name = "connect"

    def __init__(self, desk: Desk, clock: HouseClock, parent: QWidget | None = None) -> None:
        super().__init__(desk, clock, parent)
        self._shown: tuple[str, str] | None = None
        self.status = ConnectionStatus()
        self.address = _value_label(self.tr("Address"))
        self.model = _value_label(self.tr("Model"))
        self.copy_address = CopyButton(lambda: base_url(desk.url), self.tr("the address"))
        self.copy_model = CopyButton(self._model_id, self.tr("the model’s name"))
        self.cards = [ClientCard(snippet) for snippet in snippets(desk.url, self._model_id())]
        self._lay_out()
        self._refresh()
        clock.recordsArrived.connect(self._on_records)
        clock.snapshotChanged.connect(self._refresh)
        clock.second.connect(self._on_second)
        follow(desk.recent_requests(), self, self._on_history, self._on_no_history)

    def title(self) -> str:
        return self.tr("Connect")

    def entered(self) -> None:
        self._refresh()
        self.status.refresh()

    def _model_id(self) -> str:
        """The loaded model's, or that of the one which is being loaded; empty before that."""
        model = self.desk.model
        return self.desk.snapshot.model_id or (model.id if model else "")

    def _on_history(self, newest_first: tuple[RequestRecord, ...]) -> None:
        if newest_first:
            self.status.show_record(newest_first[0])

    def _on_no_history(self, error: Exception) -> None:
        """Then it waits for the next request. The requests page says what is wrong."""

    def _on_records(self, records: list[RequestRecord]) -> None:
        self.status.show_record(records[-1])

    def _on_second(self) -> None:
        if self.isVisible():
            self.status.refresh()

    def _refresh(self) -> None:
        """Fill in address and model, when one of them has changed."""
        url, model_id = self.desk.url, self._model_id()
        if (url, model_id) == self._shown:
            return
        self._shown = (url, model_id)
        self.address.setText(base_url(url))
        self.model.setText(model_id or self.tr("No model is loaded yet."))
        for card, snippet in zip(self.cards, snippets(url, model_id), strict=True):
            card.show_snippet(snippet)
            card.copy.setEnabled(bool(model_id))
        self.copy_model.setEnabled(bool(model_id))

    def _lay_out(self) -> None:
        scroll = PageScroll()
        scroll.column.addWidget(self.status)
        scroll.column.addWidget(self._make_address_card())
        for card in self.cards:
            scroll.column.addWidget(card)
        scroll.column.addStretch(1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(scroll)

    def _make_address_card(self) -> QFrame:
        card = QFrame()
        card.setProperty("role", "card")
        key = QLabel(
            self.tr("None is needed on this machine. Clients that insist on one take any text.")
        )
        key.setWordWrap(True)
        grid = QGridLayout(card)
        grid.setContentsMargins(2 * SPACE, 2 * SPACE, 2 * SPACE, 2 * SPACE)
        grid.setHorizontalSpacing(3 * SPACE)
        grid.setVerticalSpacing(SPACE)
        grid.setColumnStretch(1, 1)
        rows = (
            (self.tr("Address"), self.address, self.copy_address),
            (self.tr("Model"), self.model, self.copy_model),
            (self.tr("Key"), key, None),
        )
        for number, (name, value, button) in enumerate(rows):
            label = QLabel(name)
            label.setProperty("role", "secondary")
            label.setBuddy(value)
            # Beside a button the name is in its middle, beside a sentence at its first line.
            side = Qt.AlignmentFlag.AlignVCenter if button else Qt.AlignmentFlag.AlignTop
            grid.addWidget(label, number, 0, side)
            grid.addWidget(value, number, 1)
            if button is not None:
                grid.addWidget(button, number, 2)
        return card


def _value_label(name: str) -> QLabel:
    label = QLabel()
    font = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont)
    font.setPointSizeF(label.font().pointSizeF() * 1.1)
    label.setFont(font)
    label.setWordWrap(True)
    label.setAccessibleName(name)
    label.setTextInteractionFlags(
        Qt.TextInteractionFlag.TextSelectableByMouse
        | Qt.TextInteractionFlag.TextSelectableByKeyboard
    )
    return label
