"""What is known of the selected prefix."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import (
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QPlainTextEdit,
    QPushButton,
    QScrollArea,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from app.gui import text
from app.gui.copy_button import CopyButton
from app.gui.icons import icon
from app.gui.prefixes import words
from app.gui.prefixes.elided import ElidedLabel
from app.gui.prefixes.fonts import fixed_font
from app.gui.prefixes.glyphs import GLYPH_PX, paint_glyph
from app.gui.prefixes.preview import preview
from app.gui.prefixes.rows import PrefixRow
from app.gui.theme import SPACE, strong_font, theme
from app.storage.content import TemplateKind
from engine.snapshot import PinState

_ICON_PX = 20
_FACTS_PX = 312
_JSON = (TemplateKind.TOOL_SCHEMA, TemplateKind.CHAT_HISTORY)


class DetailPane(QFrame):
    """cancelAsked() retryAsked() versionsAsked()   a button was pressed"""

    cancelAsked = Signal()
    retryAsked = Signal()
    versionsAsked = Signal()

    def __init__(self, parent: QWidget | None = None, now: Callable[[], float] = time.time) -> None:
        super().__init__(parent)
        self._now = now
        self._row: PrefixRow | None = None
        self._icon, self._name, self._about = QLabel(), ElidedLabel(), ElidedLabel()
        self._preview, self._more = QPlainTextEdit(), QLabel()
        self._mark = _StateMark()
        self._state, self._explained = QLabel(), QLabel()
        self._act = QPushButton()
        self._price, self._used, self._how = QLabel(), QLabel(), QLabel()
        self._summary = QLabel()
        self._versions = QPushButton(self.tr("Versions…"))
        self._copy = CopyButton(self._text, self.tr("text"), self.tr("Copy Text"))
        self._one = QWidget()
        self._pages = QStackedWidget()
        self.setProperty("role", "card")
        self._lay_out()
        self._tint()
        self._act.clicked.connect(self._on_act)
        self._versions.clicked.connect(self.versionsAsked)
        theme.changed.connect(self._tint)

    def show_rows(self, rows: Sequence[PrefixRow]) -> None:
        """All about one, a sum of many."""
        if len(rows) == 1:
            self._show_one(rows[0])
        else:
            self._row = None
            self._summary.setText(self._sum(rows))
        self._pages.setCurrentWidget(self._one if len(rows) == 1 else self._summary)

    def _show_one(self, row: PrefixRow) -> None:
        before, self._row = self._row, row
        if before is None or before.template != row.template:
            self._show_template(row)
        self._mark.show_state(row)
        self._state.setText(words.state(row))
        self._explained.setText(words.state_explained(row))
        role = "bad" if row.trouble else "secondary"
        if self._explained.property("role") != role:
            self._explained.setProperty("role", role)
            self._explained.style().polish(self._explained)
        failed = row.state is PinState.FAILED
        self._act.setVisible(not row.deleted and (row.under_way or failed))
        if failed:
            self._act.setText(self.tr("Try Again"))
        else:
            self._act.setText(self.tr("Cancel and Unpin") if row.pinned else self.tr("Cancel"))
        self._price.setText(words.price(row.price) if row.price else self._count_of(row))
        self._used.setText(words.usage(row, self._now()))
        self._how.setText(words.how_to_hit(row))

    def _show_template(self, row: PrefixRow) -> None:
        template = row.template
        self._tint()
        self._name.setText(row.name)
        version = self.tr("Version {number}").format(number=words.number(template.latest.number))
        about = [words.kind(row.kind), version, text.moment(template.latest.created_at)]
        self._about.setText(" · ".join([*about, *template.tags]))
        beginning, more = preview(template.latest.content)
        self._preview.setPlainText(beginning)
        self._more.setVisible(more)

    def _count_of(self, row: PrefixRow) -> str:
        if row.num_tokens is None:
            return self.tr("Not counted yet")
        return self.tr("{tokens} tokens · {size}").format(
            tokens=words.number(row.num_tokens), size=words.size(row.num_bytes)
        )

    def _sum(self, rows: Sequence[PrefixRow]) -> str:
        if not rows:
            return self.tr("Select a prefix to see what it holds and what it costs.")
        number = self.tr("{number} prefixes selected").format(number=text.count(len(rows)))
        counted = [row for row in rows if row.num_tokens is not None]
        if len(counted) < len(rows):
            return number
        return self.tr("{prefixes}\n{tokens} tokens · {size}").format(
            prefixes=number,
            tokens=text.count(sum(row.num_tokens or 0 for row in rows)),
            size=text.size(sum(row.num_bytes or 0 for row in rows)),
        )

    def _text(self) -> str:
        return self._row.template.latest.content if self._row else ""

    def _on_act(self) -> None:
        if self._row is not None and self._row.state is PinState.FAILED:
            self.retryAsked.emit()
        else:
            self.cancelAsked.emit()

    def _tint(self) -> None:
        """Also after the style sheet has changed: that takes fonts away."""
        self._name.setFont(strong_font(self.font()))
        self._versions.setIcon(icon("clock"))
        if self._row is not None:
            name = words.ICON_NAMES[self._row.kind]
            self._icon.setPixmap(icon(name, "secondary").pixmap(_ICON_PX))
            json = self._row.kind in _JSON
            self._preview.setFont(fixed_font(self.font()) if json else self.font())

    # Made once

    def _lay_out(self) -> None:
        for quiet in (self._about, self._more, self._explained, self._summary):
            quiet.setProperty("role", "secondary")
        for wrapped in (self._explained, self._price, self._used, self._how):
            wrapped.setWordWrap(True)
        for selectable in (self._explained, self._how):
            selectable.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._summary.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._preview.setReadOnly(True)
        self._preview.setTabChangesFocus(True)
        self._preview.setFrameShape(QFrame.Shape.NoFrame)
        self._preview.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._preview.viewport().setAutoFillBackground(False)
        self._preview.document().setDocumentMargin(0)
        self._preview.setAccessibleName(self.tr("Beginning of the text"))
        self._preview.setMinimumHeight(6 * SPACE)
        self._more.setText(self.tr("The text goes on."))

        title = QVBoxLayout()
        title.setSpacing(0)
        title.addWidget(self._name)
        title.addWidget(self._about)
        head = QHBoxLayout()
        head.setSpacing(SPACE)
        head.addWidget(self._icon, 0, Qt.AlignmentFlag.AlignTop)
        head.addLayout(title, 1)
        head.addWidget(self._versions, 0, Qt.AlignmentFlag.AlignTop)
        head.addWidget(self._copy, 0, Qt.AlignmentFlag.AlignTop)
        head.addSpacing(SPACE)
        text_side = QVBoxLayout()
        text_side.setSpacing(SPACE // 2)
        text_side.addWidget(self._preview, 1)
        text_side.addWidget(self._more)
        body = QHBoxLayout()
        body.setSpacing(3 * SPACE)
        body.addLayout(text_side, 1)
        body.addWidget(_scrolling(self._facts()))
        layout = QVBoxLayout(self._one)
        layout.setContentsMargins(2 * SPACE, 2 * SPACE, SPACE, 2 * SPACE)
        layout.setSpacing(SPACE + SPACE // 2)
        layout.addLayout(head)
        layout.addLayout(body, 1)
        self._pages.addWidget(self._summary)
        self._pages.addWidget(self._one)
        whole = QVBoxLayout(self)
        whole.setContentsMargins(0, 0, 0, 0)
        whole.addWidget(self._pages)

    def _facts(self) -> QWidget:
        state = QHBoxLayout()
        state.setSpacing(SPACE)
        state.addWidget(self._mark)
        state.addWidget(self._state)
        state.addStretch(1)
        facts = QWidget()
        grid = QGridLayout(facts)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(2 * SPACE)
        grid.setVerticalSpacing(SPACE // 2)
        grid.addWidget(_caption(self.tr("State")), 0, 0)
        grid.addLayout(state, 0, 1)
        grid.addWidget(self._explained, 1, 1)
        grid.addWidget(self._act, 2, 1, Qt.AlignmentFlag.AlignLeft)
        named = (
            (self.tr("Price"), self._price),
            (self.tr("Used"), self._used),
            (self.tr("To use it"), self._how),
        )
        for number, (name, value) in enumerate(named, start=3):
            grid.addWidget(_caption(name), number, 0)
            grid.addWidget(value, number, 1)
        grid.setColumnStretch(1, 1)
        grid.setRowStretch(len(named) + 3, 1)
        return facts


class _StateMark(QWidget):
    """The shape of a state; its words stand beside it."""

    def __init__(self) -> None:
        super().__init__()
        self._row: PrefixRow | None = None
        self.setFixedSize(QSize(GLYPH_PX, GLYPH_PX))
        theme.changed.connect(self.update)

    def show_state(self, row: PrefixRow) -> None:
        self._row = row
        self.setVisible(not row.deleted)
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        if self._row is not None:
            painter = QPainter(self)
            ground = theme.color("card")
            area = QRectF(self.rect())
            paint_glyph(painter, area, self._row.state, self._row.share_done, ground)
            painter.end()


def _scrolling(facts: QWidget) -> QScrollArea:
    """A long reason must be readable in a small window, too."""
    area = QScrollArea()
    area.setWidget(facts)
    area.setWidgetResizable(True)
    area.setFixedWidth(_FACTS_PX)
    area.setFrameShape(QFrame.Shape.NoFrame)
    area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    area.viewport().setAutoFillBackground(False)
    facts.setAutoFillBackground(False)
    return area


def _caption(words: str) -> QLabel:
    caption = QLabel(words)
    caption.setProperty("role", "secondary")
    caption.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignTop)
    return caption
