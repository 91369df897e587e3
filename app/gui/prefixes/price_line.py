"""One line that says what a text would cost, a moment after it was last changed."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QTimer, Signal
from PySide6.QtWidgets import QLabel, QWidget

from app.desk import Desk
from app.gui import trouble
from app.gui.futures import follow
from app.gui.prefixes import words
from app.prefixes import Price
from app.storage.content import TemplateKind
from app.storage.errors import InvalidTemplate
from engine.errors import EngineUnavailable

PAUSE_MS = 300

Question = tuple[TemplateKind, str, str | None]  # and the policy that a tool schema is sent with


class PriceLine(QLabel):
    """Only the answer to the latest question is shown.

    checked(InvalidTemplate | None)   why the text cannot be kept, if it cannot
    """

    checked = Signal(object)

    def __init__(self, desk: Desk, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._desk = desk
        self._question = 0
        self._read: Callable[[], Question] | None = None
        self._pause = QTimer(self)
        self._pause.setSingleShot(True)
        self._pause.setInterval(PAUSE_MS)
        self._pause.timeout.connect(self._ask)
        self.setProperty("role", "secondary")
        self.setWordWrap(True)

    def ask(self, read: Callable[[], Question]) -> None:
        """Check and count what `read` gives, once nothing was asked for 300 ms."""
        self._question += 1
        self._read = read
        self.setText(self.tr("Counting…"))
        self._pause.start()

    def stop(self) -> None:
        """No answer is awaited any more."""
        self._question += 1
        self._pause.stop()

    def _ask(self) -> None:
        assert self._read is not None
        kind, content, policy = self._read()
        question = self._question

        def valid(_: None) -> None:
            if question == self._question:
                self.checked.emit(None)
                follow(self._desk.price(kind, content, policy), self, counted, failed)

        def counted(price: Price) -> None:
            if question == self._question:
                self.setText(words.price(price))

        def failed(error: Exception) -> None:
            if question != self._question:
                return
            self.setText("")
            if isinstance(error, InvalidTemplate):
                self.checked.emit(error)
            elif isinstance(error, EngineUnavailable):
                self.setText(self.tr("Tokens are counted as soon as a model serves."))
            else:
                self.setText(trouble.words(error))

        if not content.strip():
            self.setText("")
            return
        follow(self._desk.check_content(kind, content), self, valid, failed)
