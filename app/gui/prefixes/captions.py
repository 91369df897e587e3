"""The words before a field."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QWidget


def caption(words: str, field: QWidget) -> QLabel:
    """Right against its field; a letter after & leads there."""
    label = QLabel(words)
    label.setBuddy(field)
    label.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
    label.setMinimumWidth(label.sizeHint().width() + 1)  # Qt counts the underlined letter too short
    return label


def as_one_column(captions: Sequence[QLabel]) -> None:
    """So that their fields line up, wherever they stand."""
    width = max(label.minimumWidth() for label in captions)
    for label in captions:
        label.setMinimumWidth(width)
