"""What is known of one request: its phases, its tokens, and why it ended."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import (
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from app.gui import text
from app.gui.copy_button import CopyButton
from app.gui.icons import icon
from app.gui.requests import words
from app.gui.requests.marks import draw_mark
from app.gui.requests.phases import PhaseBar
from app.gui.theme import SPACE, theme
from engine.request import RequestRecord

_MARK_AREA = 20
_AWAITED = 2  # its column


class DetailPane(QFrame):
    """Shows the request given to `show_record`.

    closed()   the person wants it away
    """

    closed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._record: RequestRecord | None = None
        self.setProperty("role", "card")
        self._mark = _Mark()
        self._state = QLabel()
        self._origin = QLabel()
        self._origin.setProperty("role", "secondary")
        self._phases = PhaseBar()
        self._figures = _Figures()
        self._course = _paragraph()
        self._explanation = _paragraph()
        self._close = QToolButton()
        self._close.setAutoRaise(True)
        self._close.setAccessibleName(self.tr("Close the details"))
        self._close.setToolTip(self.tr("Close the details (Esc)"))
        self._close.clicked.connect(self.closed)
        theme.changed.connect(self._paint_icons)
        self._paint_icons()
        self._lay_out()

    def show_record(self, record: RequestRecord) -> None:
        self._record = record
        state = words.state_of(record)
        self._mark.show_state(state)
        self._state.setText(state.word)
        self._origin.setText(
            f"{words.client_name(record)} · {record.model} · {text.moment(record.ended_at)}"
        )
        self._origin.setToolTip(record.id)
        self._phases.show_timings(record.timings)
        self._figures.show_record(record)
        course = words.course(record)
        self._course.setText(course)
        self._course.setVisible(bool(course))
        self._explanation.setText(words.explanation(record))

    def _lay_out(self) -> None:
        font = self._state.font()
        font.setBold(True)
        self._state.setFont(font)
        heading = QHBoxLayout()
        heading.setSpacing(SPACE)
        heading.addWidget(self._mark)
        heading.addWidget(self._state)
        heading.addSpacing(SPACE)
        heading.addWidget(self._origin, 1)
        heading.addWidget(CopyButton(self._as_text, self.tr("this request")))
        heading.addWidget(self._close)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(2 * SPACE, SPACE + SPACE // 2, SPACE, 2 * SPACE)
        layout.setSpacing(SPACE + SPACE // 2)
        layout.addLayout(heading)
        inner = QVBoxLayout()
        inner.setContentsMargins(0, 0, SPACE, 0)
        inner.setSpacing(2 * SPACE)
        inner.addWidget(self._phases)
        inner.addWidget(self._figures)
        inner.addWidget(self._course)
        inner.addWidget(self._explanation)
        layout.addLayout(inner)

    def _as_text(self) -> str:
        return words.as_text(self._record) if self._record else ""

    def _paint_icons(self) -> None:
        self._close.setIcon(icon("cancel", "secondary"))


class _Mark(QWidget):
    """The shape of a state; its word stands beside it."""

    def __init__(self) -> None:
        super().__init__()
        self._shown: words.RequestState | None = None
        self.setFixedSize(_MARK_AREA, _MARK_AREA)
        theme.changed.connect(self.update)

    def show_state(self, state: words.RequestState) -> None:
        self._shown = state
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        if self._shown is not None:
            area = self.rect().adjusted(1, 1, -1, -1).toRectF()
            draw_mark(QPainter(self), area, self._shown, theme.color(self._shown.token))


def _paragraph() -> QLabel:
    label = QLabel()
    label.setWordWrap(True)
    label.setProperty("role", "secondary")
    return label


class _Figures(QWidget):
    """Numbers over their names, in columns of equal width. What another request computed has its
    column only where there is some."""

    def __init__(self) -> None:
        super().__init__()
        self._values: list[QLabel] = []
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(2 * SPACE)
        self._grid.setVerticalSpacing(2)
        for column, name in enumerate(self._names()):
            value = QLabel()
            value.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
            font = value.font()
            font.setPointSizeF(font.pointSizeF() * 1.15)
            value.setFont(font)
            label = QLabel(name)
            label.setProperty("role", "secondary")
            label.setBuddy(value)
            self._grid.addWidget(value, 0, column)
            self._grid.addWidget(label, 1, column)
            self._grid.setColumnStretch(column, 1)
            self._values.append(value)

    def show_record(self, record: RequestRecord) -> None:
        usage = record.usage
        for label, value in zip(
            self._values,
            (
                text.count(usage.prompt_tokens),
                f"{text.count(usage.cached_tokens)} ({text.percent(words.cached_share(record))})",
                text.count(usage.awaited_tokens),
                text.count(usage.computed_tokens),
                text.count(usage.completion_tokens),
                words.ttft_words(record),
                words.rate_words(record),
            ),
            strict=True,
        ):
            label.setText(value)
        self._show_column(_AWAITED, bool(usage.awaited_tokens))

    def _show_column(self, column: int, visible: bool) -> None:
        self._grid.setColumnStretch(column, int(visible))
        for row in range(self._grid.rowCount()):
            item = self._grid.itemAtPosition(row, column)
            if item is not None and (widget := item.widget()) is not None:
                widget.setVisible(visible)

    def _names(self) -> tuple[str, ...]:
        return (
            self.tr("Prompt tokens"),
            self.tr("Reused"),
            self.tr("Of them awaited"),
            self.tr("Computed"),
            self.tr("Generated"),
            self.tr("First token"),
            self.tr("Tokens/s"),
        )
