"""One bar: how a budget of bytes is used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPainterPath, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.gui.charts.style import SeriesStyle
from app.gui.theme import theme

_HEIGHT = 20
_ROUND = 6.0


@dataclass(frozen=True, slots=True)
class Share:
    """A part of the whole, in the style its legend shows."""

    style: SeriesStyle
    amount: int


class MemoryBar(QWidget):
    """Shares side by side; what remains of the whole is free and stays bare.

    A share that is not nothing is never thinner than three pixels.
    """

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._shares: tuple[Share, ...] = ()
        self._whole = 0
        self.setAccessibleName(name)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self.update)

    def show_shares(self, shares: Sequence[Share], whole: int) -> None:
        """`whole` 0 shows an empty bar."""
        if (tuple(shares), whole) == (self._shares, self._whole):
            return
        self._shares, self._whole = tuple(shares), whole
        words = (f"{share.style.name}: {share.style.words(share.amount)}" for share in shares)
        self.setAccessibleDescription(", ".join(words))
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(320, _HEIGHT)

    def paintEvent(self, event: QPaintEvent) -> None:
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            whole = QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5)
            outline = QPainterPath()
            outline.addRoundedRect(whole, _ROUND, _ROUND)
            painter.fillPath(outline, theme.color("grid"))
            painter.setClipPath(outline)
            left = whole.left()
            for share in self._shares:
                width = self._width(share, whole.width())
                place = QRectF(left, whole.top(), width, whole.height())
                share.style.paint_fill(painter, place)
                if width:
                    painter.setPen(QPen(theme.color("card"), 1.0))
                    painter.drawLine(place.topRight(), place.bottomRight())
                left += width
            painter.setClipping(False)
            painter.setPen(QPen(theme.color("border"), 1.0))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawPath(outline)

    def _width(self, share: Share, available: float) -> float:
        if not share.amount or not self._whole:
            return 0.0
        return max(3.0, available * min(1.0, share.amount / self._whole))
