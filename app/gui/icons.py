"""Icons from resources/icons, drawn in the colour of the text around them."""

from __future__ import annotations

from importlib.resources import files

from PySide6.QtCore import QByteArray, QRectF, QSize, Qt
from PySide6.QtGui import QIcon, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer

from app.gui.theme import theme

_SIZES = (16, 20, 24, 32, 48)


def icon(name: str, token: str = "text") -> QIcon:
    """An SVG of resources/icons, whose strokes are `currentColor`, in a theme token's colour.

    Raises FileNotFoundError for a name that is not there.
    """
    source = (files("resources") / "icons" / f"{name}.svg").read_text(encoding="utf-8")
    painted = QIcon()
    for mode, color in ((QIcon.Mode.Normal, token), (QIcon.Mode.Disabled, "disabled")):
        svg = source.replace("currentColor", theme.color(color).name())
        renderer = QSvgRenderer(QByteArray(svg.encode()))
        for size in _SIZES:
            painted.addPixmap(_draw(renderer, size), mode)
    return painted


def _draw(renderer: QSvgRenderer, size: int) -> QPixmap:
    pixmap = QPixmap(QSize(size, size))
    pixmap.fill(Qt.GlobalColor.transparent)
    painter = QPainter(pixmap)
    renderer.render(painter, QRectF(0, 0, size, size))
    painter.end()
    return pixmap
