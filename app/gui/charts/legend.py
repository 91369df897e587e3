"""The names of a chart's series, each with the shape it is drawn in."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QRectF, QSize, Qt
from PySide6.QtGui import QFontMetricsF, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.gui.charts.style import SWATCH_HEIGHT, SWATCH_WIDTH, SeriesStyle
from app.gui.theme import SPACE, axis_font, theme


class Legend(QWidget):
    """One row of names; as many rows as its width needs. Not `named`, only the shapes."""

    def __init__(
        self, styles: Sequence[SeriesStyle], *, named: bool = True, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._styles: tuple[SeriesStyle, ...] = ()
        self._named = named
        policy = QSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        self.show_styles(styles)
        theme.changed.connect(self.update)

    def show_styles(self, styles: Sequence[SeriesStyle]) -> None:
        """Name these from now on."""
        if tuple(styles) == self._styles:
            return
        self._styles = tuple(styles)
        self.setAccessibleName(", ".join(style.name for style in self._styles))
        self.updateGeometry()
        self.update()

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        places = self._places(width)
        return round(places[-1].bottom()) if places else 0

    def sizeHint(self) -> QSize:
        width = sum(self._width(style) + 2 * SPACE for style in self._styles) - 2 * SPACE
        return QSize(round(width + 1), round(self._row_height()))

    def minimumSizeHint(self) -> QSize:
        widest = max((self._width(style) for style in self._styles), default=0.0)
        return QSize(round(widest + 1), round(self._row_height()))

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() is QEvent.Type.FontChange:
            self.updateGeometry()

    def paintEvent(self, event: QPaintEvent) -> None:
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setFont(axis_font(self.font()))
            for style, place in zip(self._styles, self._places(self.width()), strict=True):
                top = place.center().y() - SWATCH_HEIGHT / 2
                style.paint_swatch(painter, QRectF(place.left(), top, SWATCH_WIDTH, SWATCH_HEIGHT))
                if not self._named:
                    continue
                painter.setPen(theme.color("secondary"))
                painter.drawText(
                    place.adjusted(SWATCH_WIDTH + 0.75 * SPACE, 0, 1, 0),
                    Qt.AlignmentFlag.AlignVCenter,
                    style.name,
                )

    def _row_height(self) -> float:
        return QFontMetricsF(axis_font(self.font())).height() + SPACE / 4

    def _width(self, style: SeriesStyle) -> float:
        if not self._named:
            return SWATCH_WIDTH
        metrics = QFontMetricsF(axis_font(self.font()))
        return SWATCH_WIDTH + 0.75 * SPACE + metrics.horizontalAdvance(style.name)

    def _places(self, width: int) -> list[QRectF]:
        places: list[QRectF] = []
        x, y, height = 0.0, 0.0, self._row_height()
        for style in self._styles:
            needed = self._width(style)
            if x > 0 and x + needed > width:
                x, y = 0.0, y + height
            places.append(QRectF(x, y, needed, height))
            x += needed + 2 * SPACE
        return places
