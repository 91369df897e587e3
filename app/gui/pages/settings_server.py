"""Where clients find Ondol, and whether the system starts it."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLineEdit, QWidget

from app.desk import Desk
from app.gui import trouble
from app.gui.futures import follow
from app.gui.pages.settings_choices import Choices, Waiting
from app.gui.pages.settings_form import Row, Section
from app.gui.pages.settings_switch import Switch
from app.settings import MAX_PORT
from app.storage.settings_store import Preferences

LEAST_PORT = 1024

_WIDEST = "888888"


class ServerSection(Section):
    def __init__(self, desk: Desk, choices: Choices, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.set_heading(self.tr("Server"))
        self._desk = desk
        self._choices = choices
        self.port = QLineEdit()
        self.port.setInputMethodHints(Qt.InputMethodHint.ImhDigitsOnly)
        self.port.setAlignment(Qt.AlignmentFlag.AlignRight)
        self.port.setFixedWidth(self.port.fontMetrics().horizontalAdvance(_WIDEST) + 32)
        self.port_row = self.add(Row(self.tr("Port"), self.port))
        self._is_login_on = False
        self.login = Switch(self.tr("Start at login"))
        self.login_row = self.add(
            Row(
                self.tr("Start at login"),
                self.login,
                help_text=self.tr("The system starts Ondol in the menu bar, without its window."),
            )
        )
        self.port.setEnabled(False)
        self.login.setEnabled(False)
        self.port.editingFinished.connect(self._on_port)
        self.port.textEdited.connect(lambda _: self.port_row.note.say(""))
        self.login.clicked.connect(self._on_login)
        choices.changed.connect(self._show)

    def ask_login(self) -> None:
        """Read from the system whether it starts Ondol: others may change that."""
        follow(self._desk.starts_at_login(), self, self._show_login, self._login_failed)

    def refresh(self) -> None:
        """Say where Ondol is found now."""
        url = self._desk.url
        if Waiting.PORT in self._choices.waiting():
            words = self.tr("Until the restart clients find Ondol at {url}.").format(url=url)
        else:
            words = self.tr("Clients find Ondol at {url}.").format(url=url)
        self.port_row.explain(words)

    def _show(self, preferences: Preferences) -> None:
        self.port.setEnabled(True)
        is_typing = self.port.hasFocus() and self.port.isModified()
        if not is_typing and not self.port_row.note.text():
            self.port.setText(str(preferences.port))
        self.refresh()

    def _on_port(self) -> None:
        present = self._choices.present
        if present is None or self.port.text() == str(present.port):
            return
        port = parse_port(self.port.text())
        if port is None:
            self.port_row.note.say(
                self.tr("Choose a number from {least} to {most}.").format(
                    least=LEAST_PORT, most=MAX_PORT
                )
            )
            return
        self._choices.store(
            lambda now: replace(now, port=port),
            lambda: self.port_row.note.say(""),
            self.port_row.note.say,
        )

    def _on_login(self, wanted: bool) -> None:
        self.login.setEnabled(False)
        follow(self._desk.start_at_login(wanted), self, self._show_login, self._login_failed)

    def _show_login(self, is_on: bool) -> None:
        self._is_login_on = is_on
        self.login.setEnabled(True)
        self.login.setChecked(is_on)
        self.login_row.note.say("")

    def _login_failed(self, error: Exception) -> None:
        """The box goes back to what it was, and the row says why."""
        self.login.setEnabled(True)
        self.login.setChecked(self._is_login_on)
        self.login_row.note.say(
            self.tr("The login item could not be changed: {reason}.").format(
                reason=trouble.words(error).rstrip(".")
            )
        )


def parse_port(typed: str) -> int | None:
    """The port that was typed; None where it is none that a person may use."""
    digits = typed.strip()
    if not digits.isascii() or not digits.isdigit() or len(digits) > len(str(MAX_PORT)):
        return None
    port = int(digits)
    return port if LEAST_PORT <= port <= MAX_PORT else None
