"""Today in five figures."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtWidgets import QFrame, QGridLayout, QLabel, QSizePolicy, QVBoxLayout, QWidget

from app.gui import text
from app.gui.pages.dashboard_today import TodayFigures
from app.gui.theme import SPACE, axis_font, figure_font

translate = QCoreApplication.translate


class Tile(QWidget):
    """What it is, the figure, and a few words to judge it by."""

    def __init__(self, name: str, explanation: str) -> None:
        super().__init__()
        self._name = QLabel(name)
        self._name.setProperty("role", "secondary")
        self._figure = QLabel()
        self._figure.setFont(figure_font(self.font()))
        self._note = QLabel()
        self._note.setFont(axis_font(self.font()))
        self._note.setProperty("role", "secondary")
        self.setToolTip(explanation)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(SPACE // 4)
        for label in (self._name, self._figure, self._note):
            label.setTextFormat(Qt.TextFormat.PlainText)
            layout.addWidget(label)
        layout.addStretch(1)

    @property
    def figure(self) -> str:
        return self._figure.text()

    @property
    def note(self) -> str:
        return self._note.text()

    def show_figure(self, figure: str, note: str) -> None:
        if (figure, note) == (self.figure, self.note):
            return
        self._figure.setText(figure)
        self._note.setText(note)
        self.setAccessibleName(f"{self._name.text()}: {figure}, {note}")


class TodayTiles(QFrame):
    """A card with the five figures, in one row or two."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("role", "card")
        self.reused = Tile(
            self.tr("Reused today"),
            self.tr("Prompt tokens since midnight that were warm and not computed again."),
        )
        self.hit_rate = Tile(
            self.tr("Hit rate today"), self.tr("Reused tokens' share of all prompt tokens.")
        )
        self.ttft = Tile(
            self.tr("First token"),
            self.tr(
                "Median time from a request to its first token, today. A request is warm if at"
                " least half of its prompt was reused."
            ),
        )
        self.requests = Tile(self.tr("Requests today"), self.tr("Requests that have ended."))
        self.saved = Tile(self.tr("Time saved today"), self.tr("Nothing was measured yet."))
        self._tiles = (self.reused, self.hit_rate, self.ttft, self.requests, self.saved)
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(20, 2 * SPACE, 20, 2 * SPACE)
        self._grid.setHorizontalSpacing(2 * SPACE)
        self._grid.setVerticalSpacing(2 * SPACE)
        self._width = 0
        self._columns = 0
        self._arrange(len(self._tiles))

    def show_figures(self, today: TodayFigures) -> None:
        unknown = self.tr("–")
        self.reused.show_figure(
            text.short_count(today.reused_tokens),
            self.tr("of {number} tokens").format(number=text.short_count(today.prompt_tokens)),
        )
        rate = today.hit_rate
        self.hit_rate.show_figure(
            unknown if rate is None else text.percent(rate), self.tr("of prompt tokens")
        )
        self.ttft.show_figure(*_ttft_words(today, unknown))
        self.requests.show_figure(
            text.short_count(today.requests),
            self.tr("{number} with a hit").format(number=text.short_count(today.hits)),
        )
        saved, rate = today.saved_s, today.prefill_s_per_token
        self.saved.show_figure(
            unknown if saved is None else text.duration(saved), self.tr("estimated")
        )
        if rate is not None:
            self.saved.setToolTip(
                self.tr(
                    "Reused tokens × the measured time to compute one prompt token"
                    " ({number} ms, the median of the last 24 hours)."
                ).format(number=text.decimal(rate * 1000, 2))
            )
        self.fit(self._width)

    def fit(self, width: int) -> None:
        """Stand in one row if `width` has room for all, else in two."""
        self._width = width
        margins = self._grid.contentsMargins()
        gaps = (len(self._tiles) - 1) * self._grid.horizontalSpacing()
        needed = sum(tile.minimumSizeHint().width() for tile in self._tiles)
        has_room = needed + gaps + margins.left() + margins.right() <= width
        self._arrange(len(self._tiles) if has_room else 3)

    def _arrange(self, columns: int) -> None:
        if columns == self._columns:
            return
        self._columns = columns
        for number, tile in enumerate(self._tiles):
            self._grid.addWidget(tile, number // columns, number % columns)
        for column in range(len(self._tiles)):
            self._grid.setColumnStretch(column, 1 if column < columns else 0)


def _ttft_words(today: TodayFigures, unknown: str) -> tuple[str, str]:
    warm, cold = today.warm_ttft_s, today.cold_ttft_s
    if warm is None and cold is None:
        return unknown, translate("TodayTiles", "warm against cold")
    if warm is None:
        return text.duration(cold or 0.0), translate("TodayTiles", "cold; none was warm")
    if cold is None:
        return text.duration(warm), translate("TodayTiles", "warm; none was cold")
    note = translate("TodayTiles", "warm; {time} cold")
    return text.duration(warm), note.format(time=text.duration(cold))
