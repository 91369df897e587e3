"""A scroll bar that keeps its place and shows nothing while there is nothing to scroll."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractScrollArea


def keep_place_for_scroll_bar(area: QAbstractScrollArea) -> None:
    """Columns do not move when the list grows beyond its room."""
    bar = area.verticalScrollBar()
    area.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOn)
    # The style sheet draws no handle on a bar that is not enabled.
    bar.rangeChanged.connect(lambda least, most: bar.setEnabled(most > least))
    bar.setEnabled(bar.maximum() > bar.minimum())
