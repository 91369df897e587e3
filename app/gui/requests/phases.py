"""A request's time as one bar: waiting, reading the prompt, writing the answer."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QBrush, QColor, QPainter, QPainterPath, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.gui import text
from app.gui.theme import SPACE, theme
from engine.request import Timings


class Fill(enum.Enum):
    """How a phase is told from its neighbours without its colour."""

    HATCHED = enum.auto()
    SOLID = enum.auto()
    TINTED = enum.auto()


_BAR_HEIGHT = 12
_LEAST_WIDTH = 3  # pixels: a phase that happened is seen
_SWATCH = 10
_STYLES = (
    ("secondary", Fill.HATCHED),
    ("computed", Fill.SOLID),
    ("third", Fill.TINTED),
)


@dataclass(frozen=True, slots=True)
class Phase:
    """`words` say what and how long."""

    seconds: float
    words: str
    token: str
    fill: Fill


class PhaseBar(QWidget):
    """The phases in proportion, and under them what each is called and how long it took."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._phases: tuple[Phase, ...] = ()
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self.update)

    def show_timings(self, timings: Timings) -> None:
        names = (
            self.tr("Waiting {time}"),
            self.tr("Prompt {time}"),
            self.tr("Answer {time}"),
        )
        seconds = (timings.queue_s, timings.prefill_s, timings.decode_s)
        self._phases = tuple(
            Phase(spent, name.format(time=text.duration(spent)), token, fill)
            for name, spent, (token, fill) in zip(names, seconds, _STYLES, strict=True)
        )
        self.setAccessibleName(self.tr("Phases of the request"))
        self.setAccessibleDescription(", ".join(phase.words for phase in self._phases))
        self.setToolTip(
            self.tr(
                "Waiting: until the request could start. Prompt: computing what was not reused, to"
                " the first token. Answer: from the first token to the last."
            )
        )
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(320, self.minimumSizeHint().height())

    def minimumSizeHint(self) -> QSize:
        return QSize(200, _BAR_HEIGHT + SPACE + self.fontMetrics().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self._draw_bar(painter, QRectF(0, 0, self.width(), _BAR_HEIGHT))
        self._draw_words(painter, _BAR_HEIGHT + SPACE)

    def _draw_bar(self, painter: QPainter, area: QRectF) -> None:
        outline = QPainterPath()
        outline.addRoundedRect(area, _BAR_HEIGHT / 2, _BAR_HEIGHT / 2)
        painter.fillPath(outline, theme.color("grid"))
        painter.save()
        painter.setClipPath(outline)
        left = area.left()
        for phase, width in zip(self._phases, self._widths(area.width()), strict=True):
            _fill(painter, QRectF(left, area.top(), width, area.height()), phase)
            left += width
        painter.restore()

    def _draw_words(self, painter: QPainter, top: int) -> None:
        metrics = self.fontMetrics()
        left = 0.0
        for phase in self._phases:
            swatch = QRectF(left, top + (metrics.height() - _SWATCH) / 2, _SWATCH, _SWATCH)
            outline = QPainterPath()
            outline.addRoundedRect(swatch, 2, 2)
            painter.save()
            painter.setClipPath(outline)
            _fill(painter, swatch, phase)
            painter.restore()
            painter.setPen(theme.color("text"))
            left = swatch.right() + SPACE
            painter.drawText(int(left), top + metrics.ascent(), phase.words)
            left += metrics.horizontalAdvance(phase.words) + 3 * SPACE

    def _widths(self, whole: float) -> list[float]:
        """In proportion, but none that took time is too thin to be seen."""
        total = sum(phase.seconds for phase in self._phases)
        if total <= 0:
            return [0.0] * len(self._phases)
        least = [_LEAST_WIDTH if phase.seconds > 0 else 0 for phase in self._phases]
        rest = whole - sum(least)
        return [
            width + rest * phase.seconds / total
            for width, phase in zip(least, self._phases, strict=True)
        ]


def _fill(painter: QPainter, area: QRectF, phase: Phase) -> None:
    color = theme.color(phase.token)
    if phase.fill is not Fill.SOLID:
        ground = QColor(color)
        ground.setAlphaF(0.5 if phase.fill is Fill.TINTED else 0.25)
        painter.fillRect(area, ground)
    if phase.fill is not Fill.TINTED:
        hatched = phase.fill is Fill.HATCHED
        pattern = Qt.BrushStyle.BDiagPattern if hatched else Qt.BrushStyle.SolidPattern
        painter.fillRect(area, QBrush(color, pattern))
