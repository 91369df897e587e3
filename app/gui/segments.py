"""A switch of a few words of which one holds."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QButtonGroup, QHBoxLayout, QSizePolicy, QWidget

from app.gui.theme import SPACE, theme

_ROUND = 7.0


class _Segment(QAbstractButton):
    def __init__(self, words: str, parent: QWidget) -> None:
        super().__init__(parent)
        self.setText(words)
        self.setCheckable(True)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        theme.changed.connect(self.update)

    def sizeHint(self) -> QSize:
        metrics = self.fontMetrics()
        return QSize(
            metrics.horizontalAdvance(self.text()) + 3 * SPACE,
            metrics.height() + round(1.25 * SPACE),
        )

    def paintEvent(self, event: QPaintEvent) -> None:
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            inside = QRectF(self.rect()).adjusted(2.5, 2.5, -2.5, -2.5)
            if self.isChecked():
                painter.setPen(QPen(theme.color("border"), 1.0))
                # Raised: lighter than the ground in either scheme.
                painter.setBrush(theme.color("disabled" if theme.tokens.dark else "field"))
                painter.drawRoundedRect(inside, _ROUND - 2, _ROUND - 2)
            if self.hasFocus():
                painter.setPen(QPen(theme.color("accent"), 2.0))
                painter.setBrush(Qt.BrushStyle.NoBrush)
                painter.drawRoundedRect(inside, _ROUND - 2, _ROUND - 2)
            painter.setPen(theme.color("text" if self.isChecked() else "secondary"))
            painter.drawText(self.rect(), Qt.AlignmentFlag.AlignCenter, self.text())


class Segments(QWidget):
    """Tab reaches it, arrow keys move within.

    chosen(int)   another one holds, by its number
    """

    chosen = Signal(int)

    def __init__(self, name: str, words: Sequence[str], parent: QWidget | None = None) -> None:
        """`name` is what the choice is about, for screen readers. The first one holds."""
        super().__init__(parent)
        self.setAccessibleName(name)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self._group = QButtonGroup(self)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        for number, each in enumerate(words):
            segment = _Segment(each, self)
            self._group.addButton(segment, number)
            layout.addWidget(segment)
        self._group.button(0).setChecked(True)
        self._group.idToggled.connect(self._tell)
        theme.changed.connect(self.update)

    @property
    def current(self) -> int:
        return self._group.checkedId()

    def segment(self, number: int) -> QAbstractButton:
        return self._group.button(number)

    def choose(self, number: int) -> None:
        self._group.button(number).setChecked(True)

    def _tell(self, number: int, holds: bool) -> None:
        if holds:
            self.chosen.emit(number)

    def paintEvent(self, event: QPaintEvent) -> None:
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(theme.color("grid" if theme.tokens.dark else "border"))
            painter.drawRoundedRect(QRectF(self.rect()), _ROUND, _ROUND)
