"""The last requests, and what became of each."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QDate, QEvent, QObject, Qt
from PySide6.QtGui import QKeyEvent, QKeySequence, QShortcut
from PySide6.QtWidgets import (
    QComboBox,
    QFrame,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from app.desk import Desk
from app.gui import text, trouble
from app.gui.clock import HouseClock
from app.gui.empty_state import EmptyState
from app.gui.futures import follow
from app.gui.icons import icon
from app.gui.page import MARGINS, Page
from app.gui.requests.detail import DetailPane
from app.gui.requests.filter import RequestFilter
from app.gui.requests.model import RequestModel
from app.gui.requests.table import RequestTable
from app.gui.requests.words import RequestState
from app.gui.theme import SPACE, theme
from engine.request import RequestRecord

_CONNECT = "connect"
_CORNER = 6  # pixels, so that the table stays clear of the card's round corners


def make_requests(desk: Desk, clock: HouseClock) -> Page:
    return RequestsPage(desk, clock)


class RequestsPage(Page):
    """History first, then whatever ends. What ends while the history is read waits for it, so that
    the order is right and nothing is there twice."""

    icon_name = "requests"

    def __init__(self, desk: Desk, clock: HouseClock, parent: QWidget | None = None) -> None:
        super().__init__(desk, clock, parent)
        self._today = QDate.currentDate()
        self._arrived_early: list[RequestRecord] | None = []
        self._model = RequestModel(self)
        self._requests = RequestFilter(self._model, self)
        self._make_toolbar()
        self.table = RequestTable(self._requests)
        self.list = QFrame()
        self.list.setProperty("role", "card")
        self.detail = DetailPane()
        self.detail.hide()
        self.loading = EmptyState("clock", self.tr("Reading the history…"))
        self.nothing = EmptyState(
            "requests",
            self.tr("No requests yet"),
            self.tr(
                "Every request that a client sends appears here: how long it took, how much of its"
                " prompt was reused, and how it ended. What anyone wrote is never kept."
            ),
            self.tr("Connect a client"),
        )
        self.no_match = EmptyState(
            "search",
            self.tr("No request matches"),
            self.tr("Nothing among the last requests fits this filter."),
            self.tr("Show all"),
        )
        self._stack = QStackedWidget()
        for shown in (self.loading, self.nothing, self.no_match, self.list):
            self._stack.addWidget(shown)
        self._lay_out()
        self._connect()
        self.setFocusProxy(self.table)
        self._refresh()
        follow(desk.recent_requests(), self, self._on_history, self._on_no_history)

    def title(self) -> str:
        return self.tr("Requests")

    @property
    def shows(self) -> QWidget | None:
        """The table's card, or what stands in its place."""
        return self._stack.currentWidget()

    # What arrives

    def _on_history(self, newest_first: tuple[RequestRecord, ...]) -> None:
        self._begin(newest_first[::-1])

    def _on_no_history(self, error: Exception) -> None:
        self.trouble.setText(
            self.tr("Earlier requests cannot be shown: {reason}").format(
                reason=trouble.words(error)
            )
        )
        self.trouble.show()
        self._begin(())

    def _begin(self, history: Sequence[RequestRecord]) -> None:
        early, self._arrived_early = self._arrived_early or [], None
        self._add([*history, *early])

    def _on_records(self, records: list[RequestRecord]) -> None:
        if self._arrived_early is None:
            self._add(records)
        else:
            self._arrived_early += records

    def _add(self, records: Sequence[RequestRecord]) -> None:
        self._model.add(records)
        num_new = min(len(records), self._model.rowCount())
        self.table.fit_columns([self._model.row_at(number) for number in range(num_new)])
        self._refresh()

    def _look_at_the_day(self) -> None:
        today = QDate.currentDate()
        if today != self._today:
            self._today = today
            self._model.write_days()

    # What is shown

    def _refresh(self) -> None:
        shown, known = self._requests.rowCount(), self._model.rowCount()
        if self._arrived_early is not None:
            self._stack.setCurrentWidget(self.loading)
        elif known == 0:
            self._stack.setCurrentWidget(self.nothing)
        elif shown == 0:
            self._stack.setCurrentWidget(self.no_match)
        else:
            self._stack.setCurrentWidget(self.list)
        for control in (self.search, self.state):
            control.setVisible(known > 0)
        if self._requests.is_filtering:
            self.count.setText(
                self.tr("{shown} of {known}").format(
                    shown=text.count(shown), known=text.count(known)
                )
            )
        else:
            self.count.setText(self._count_words(known))

    def _count_words(self, number: int) -> str:
        if number == 1:
            return self.tr("1 request")
        return self.tr("{number} requests").format(number=text.count(number)) if number else ""

    def _on_filter(self) -> None:
        self._requests.show_only(self.search.text(), self.state.currentData())
        self._refresh()

    def _show_all(self) -> None:
        self.search.clear()
        self.state.setCurrentIndex(0)

    def _on_chosen(self, record: RequestRecord | None) -> None:
        if record is not None:
            self.detail.show_record(record)
        self.detail.setVisible(record is not None)
        if record is not None:
            self.table.scrollTo(self.table.currentIndex())

    def _on_num_above(self, number: int) -> None:
        self.newest.setText(self.tr("{number} newer").format(number=text.count(number)))
        self.newest.setVisible(number > 0)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Escape takes the details away, and in the search field the search."""
        if (
            isinstance(event, QKeyEvent)
            and event.type() == QEvent.Type.KeyPress
            and event.key() == Qt.Key.Key_Escape
        ):
            if watched is self.search and self.search.text():
                self.search.clear()
                return True
            if self.detail.isVisible():
                self.table.clearSelection()
                self.table.setFocus()
                return True
        return super().eventFilter(watched, event)

    # Made once

    def _make_toolbar(self) -> None:
        self.search = QLineEdit()
        self.search.setPlaceholderText(self.tr("Search client, model or id"))
        self.search.setAccessibleName(self.tr("Search requests"))
        self.search.setClearButtonEnabled(True)
        self.state = QComboBox()
        self.state.setAccessibleName(self.tr("State of the requests"))
        self.state.addItem(self.tr("All states"), None)
        for state in RequestState:
            self.state.addItem(state.word, state)
        self.count = QLabel()
        self.count.setProperty("role", "secondary")
        self.newest = QPushButton()
        self.newest.setAutoDefault(False)
        self.newest.setToolTip(self.tr("Go to the newest request"))
        self.newest.hide()
        self.trouble = QLabel()
        self.trouble.setProperty("role", "warning")
        self.trouble.setWordWrap(True)
        self.trouble.hide()

    def _lay_out(self) -> None:
        toolbar = QHBoxLayout()
        toolbar.setSpacing(SPACE)
        toolbar.addWidget(self.search, 1)
        toolbar.addWidget(self.state)
        toolbar.addSpacing(SPACE)
        toolbar.addWidget(self.newest)
        toolbar.addWidget(self.count)
        inside = QVBoxLayout(self.list)
        inside.setContentsMargins(1, _CORNER, 1, _CORNER)
        inside.addWidget(self.table)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(*MARGINS)
        layout.setSpacing(2 * SPACE)
        layout.addLayout(toolbar)
        layout.addWidget(self.trouble)
        layout.addWidget(self._stack, 1)
        layout.addWidget(self.detail)

    def _connect(self) -> None:
        self.clock.recordsArrived.connect(self._on_records)
        self.clock.second.connect(self._look_at_the_day)
        self.search.textChanged.connect(self._on_filter)
        self.state.currentIndexChanged.connect(self._on_filter)
        self.table.recordChosen.connect(self._on_chosen)
        self.table.numAboveChanged.connect(self._on_num_above)
        self.newest.clicked.connect(self.table.scrollToTop)
        self.detail.closed.connect(self.table.clearSelection)
        self.nothing.acted.connect(lambda: self.pageRequested.emit(_CONNECT))
        self.no_match.acted.connect(self._show_all)
        for watched in (self.search, self.table, self.detail):
            watched.installEventFilter(self)
        find = QShortcut(QKeySequence(QKeySequence.StandardKey.Find), self)
        find.activated.connect(self.search.setFocus)
        theme.changed.connect(self._paint_icons)
        self._paint_icons()

    def _paint_icons(self) -> None:
        self.newest.setIcon(icon("clock"))
