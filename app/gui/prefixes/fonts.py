"""Type whose columns align, for JSON and for comparisons."""

from __future__ import annotations

from PySide6.QtGui import QFont, QFontDatabase


def fixed_font(base: QFont) -> QFont:
    """The system's, as large as the text around it."""
    font = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont)
    font.setPointSizeF(base.pointSizeF())
    return font
