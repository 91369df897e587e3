"""A button that copies a text and says so."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QSize, QTimer
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QPushButton, QWidget

from app.gui.icons import icon
from app.gui.theme import theme

CONFIRMED_MS = 1600


class CopyButton(QPushButton):
    """Copies what `text` gives when it is pressed. For a moment a tick and a word confirm it.

    `what` names the copied thing for screen readers.
    """

    def __init__(
        self,
        text: Callable[[], str],
        what: str,
        label: str | None = None,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._copied_text = text
        self._label = self.tr("Copy") if label is None else label
        self._done = self.tr("Copied")
        self._confirmed = QTimer(self)
        self._confirmed.setSingleShot(True)
        self._confirmed.setInterval(CONFIRMED_MS)
        self._confirmed.timeout.connect(self._show)
        self.setAccessibleName(self.tr("Copy {what}").format(what=what))
        self.setAutoDefault(False)
        self.clicked.connect(self.copy)
        theme.changed.connect(self._show)
        self._show()

    def sizeHint(self) -> QSize:
        """As wide as the wider of its two texts, so that nothing moves when it confirms."""
        metrics = self.fontMetrics()
        present, widest = (
            metrics.horizontalAdvance(self.text()),
            max(map(metrics.horizontalAdvance, (f" {self._label}", f" {self._done}"))),
        )
        return super().sizeHint() + QSize(widest - present, 0)

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def copy(self) -> None:
        self.put(self._copied_text())

    def put(self, text: str) -> None:
        """Copy this text and confirm it."""
        QGuiApplication.clipboard().setText(text)
        self._confirmed.start()
        self._show()

    def _show(self) -> None:
        copied = self._confirmed.isActive()
        # A space, as style sheets have no distance between icon and text.
        self.setText(f" {self._done if copied else self._label}")
        self.setIcon(icon("check", "good") if copied else icon("copy"))
        self.setAccessibleDescription(self._done if copied else "")
