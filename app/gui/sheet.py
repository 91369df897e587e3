"""A dialog over the window in which something is written."""

from __future__ import annotations

from PySide6.QtWidgets import QDialog


class WritingSheet(QDialog):
    """Closing it asks before anything is lost; Ondol's end does not ask."""

    def keep_unsaved(self) -> None:
        """Ondol ends: keep what has been written for the next time."""
        raise NotImplementedError
