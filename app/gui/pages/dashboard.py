"""The first page: what being warm is worth, now and over the day."""

from __future__ import annotations

import time
from collections.abc import Callable

from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QGridLayout, QLabel, QStackedLayout, QWidget

from app.desk import Desk
from app.gui import trouble
from app.gui.clock import HouseClock
from app.gui.futures import follow
from app.gui.page import MARGINS, Page
from app.gui.page_scroll import PageScroll
from app.gui.pages.dashboard_cards import (
    EvictionsCard,
    SpeedCard,
    TokensCard,
    TtftCard,
)
from app.gui.pages.dashboard_curves import Curves
from app.gui.pages.dashboard_day import day_curves, unknown_day
from app.gui.pages.dashboard_empty import FirstRun
from app.gui.pages.dashboard_live import LiveFigures
from app.gui.pages.dashboard_memory import MemoryCard
from app.gui.pages.dashboard_tiles import TodayTiles
from app.gui.pages.dashboard_today import Today
from app.gui.segments import Segments
from app.gui.theme import SPACE
from app.storage.aggregates import MinuteRow
from engine.request import RequestRecord

READ_AGAIN_S = 60
TWO_COLUMNS_WIDTH = 660
TEN_MINUTES, DAY = range(2)

# row, column and number of columns of tokens, TTFT, evictions, memory and speed
_TWO_COLUMNS = ((0, 0, 1), (0, 1, 1), (1, 0, 1), (1, 1, 1), (2, 0, 2))
_ONE_COLUMN = tuple((row, 0, 1) for row in range(5))


class Dashboard(Page):
    """Collects a point a second, seen or not; everything else waits until it is looked at.

    `now` gives Unix seconds.
    """

    icon_name = "dashboard"

    def __init__(
        self,
        desk: Desk,
        clock: HouseClock,
        parent: QWidget | None = None,
        *,
        now: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(desk, clock, parent)
        self._now = now
        self._number, records = desk.records_since(0)
        self._live = LiveFigures(now(), desk.snapshot)
        self._live.backfill(records)
        self._today = Today()
        self._today.add(records)
        self._minutes: list[MinuteRow] = []
        self._day: Curves | None = None  # of `_minutes`, once somebody wants them
        self._read_at = 0.0
        self._reading = False
        self._answered = False  # whether the storage ever said something
        self._ttfts_read = False
        self._new_records = True

        self._span = Segments(self.tr("Span of time"), [self.tr("10 minutes"), self.tr("24 hours")])
        self._span.chosen.connect(self._show_span)
        self._first_run = FirstRun()
        self._first_run.connectWanted.connect(lambda: self.pageRequested.emit("connect"))
        self.tiles = TodayTiles()
        self.tokens = TokensCard()
        self.ttft = TtftCard()
        self.speed = SpeedCard()
        self.evictions = EvictionsCard()
        self.memory = MemoryCard()
        self._trouble = QLabel()
        self._trouble.setWordWrap(True)
        self._trouble.setProperty("role", "secondary")
        self._trouble.hide()
        self._cards = QGridLayout()
        self._cards.setSpacing(2 * SPACE)
        self._lay_out()
        self._arrange(wide=True)
        clock.second.connect(self._collect)

    def title(self) -> str:
        return self.tr("Dashboard")

    def header_controls(self) -> QWidget:
        return self._span

    @property
    def is_reading(self) -> bool:
        """Whether the storage owes an answer."""
        return self._reading

    @property
    def is_first_run(self) -> bool:
        """Whether it shows what there is before any request."""
        return self._pages.currentWidget() is self._first_run

    @property
    def trouble(self) -> str:
        """Why the history could not be read; empty if it could."""
        return "" if self._trouble.isHidden() else self._trouble.text()

    def entered(self) -> None:
        self._read_storage()
        self._new_records = True
        self._show_now()

    # Collecting

    def _collect(self) -> None:
        self._gather()
        if self.isVisible():
            self._show_now()
            if abs(self._now() - self._read_at) >= READ_AGAIN_S:
                self._read_storage()

    def _gather(self) -> None:
        self._number, records = self.desk.records_since(self._number)
        self._live.observe(self._now(), self.desk.snapshot, records)
        if records:
            self._today.add(records)
            self._new_records = True

    def _read_storage(self) -> None:
        if self._reading:
            return
        self._gather()  # what has ended by now is in the storage's answer
        self._reading = True
        self._read_at = self._now()
        self._today.begin_reading()
        follow(self.desk.last_24_hours(), self, self._take_day, self._miss_day)
        if not self._ttfts_read:
            follow(self.desk.recent_requests(), self, self._take_ttfts, self._miss_ttfts)

    def _take_day(self, minutes: list[MinuteRow]) -> None:
        if not self._minutes:
            self._live.backfill_evictions(minutes)
        self._reading, self._answered = False, True
        self._today.finish_reading(minutes)
        self._minutes, self._day = minutes, None
        self._trouble.hide()
        self._new_records = True
        if self.isVisible():
            self._show_now()
            if self._span.current == DAY:
                self._show_curves()

    def _miss_day(self, error: Exception) -> None:
        self._reading, self._answered = False, True
        self._today.fail_reading()
        words = self.tr("The history could not be read. {reason}")
        self._trouble.setText(words.format(reason=trouble.words(error)))
        self._trouble.show()
        self._show_now()

    def _take_ttfts(self, records: tuple[RequestRecord, ...]) -> None:
        self._ttfts_read = True
        self._today.add_older_ttfts(records)
        self._new_records = True

    def _miss_ttfts(self, error: Exception) -> None:
        """They are asked for again with the next day."""

    # Showing

    def _show_now(self) -> None:
        """What moves by itself: every second, while somebody looks."""
        known = self._today.knows_requests or self.desk.snapshot.totals.requests > 0
        first_run = self._answered and not known
        self._pages.setCurrentWidget(self._first_run if first_run else self._figures)
        self._span.setVisible(not self.is_first_run)
        if self._new_records:
            self._new_records = False
            self.tiles.show_figures(self._today.figures(self._now()))
        self.memory.show_snapshot(self.desk.snapshot)
        if self._span.current == TEN_MINUTES:
            self._show_curves()

    def _show_span(self, _number: int) -> None:
        self._show_curves()

    def _show_curves(self) -> None:
        curves = self._live.curves() if self._span.current == TEN_MINUTES else self._day_curves()
        for card in (self.tokens, self.ttft, self.speed, self.evictions):
            card.show_curves(curves)

    def _day_curves(self) -> Curves:
        """Without a figure before the storage has answered."""
        if self._day is None:
            self._day = day_curves(self._minutes) if self._minutes else unknown_day()
        return self._day

    # Layout

    def _lay_out(self) -> None:
        self._figures = PageScroll()
        self._figures.column.addWidget(self._trouble)
        self._figures.column.addWidget(self.tiles)
        self._figures.column.addLayout(self._cards, 1)
        self._pages = QStackedLayout(self)
        self._pages.addWidget(self._first_run)
        self._pages.addWidget(self._figures)
        self._pages.setCurrentWidget(self._figures)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._arrange(wide=self.width() >= TWO_COLUMNS_WIDTH)
        left, _, right, _ = MARGINS
        self.tiles.fit(self.width() - left - right)

    def _arrange(self, *, wide: bool) -> None:
        """In one column or two. Speed, with its two charts, is as wide as the page."""
        cards = (self.tokens, self.ttft, self.evictions, self.memory, self.speed)
        places = _TWO_COLUMNS if wide else _ONE_COLUMN
        for card, (row, column, num_columns) in zip(cards, places, strict=True):
            self._cards.addWidget(card, row, column, 1, num_columns)
        self.speed.arrange(wide=wide)
        self._cards.setColumnStretch(0, 1)
        self._cards.setColumnStretch(1, int(wide))


def make_dashboard(desk: Desk, clock: HouseClock) -> Page:
    return Dashboard(desk, clock)
