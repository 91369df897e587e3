"""Ondol's folders, a report for whoever helps, and the way to be rid of it all."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QPushButton, QWidget

from app.desk import Desk
from app.diagnostics import LOG_LINES, shorten_home
from app.gui import text, trouble
from app.gui.futures import follow
from app.gui.pages.settings_diagnostics import DiagnosticsButton
from app.gui.pages.settings_form import Row, Section
from app.gui.pages.settings_remove import RemoveDialog
from app.remove import Removal


class FilesSection(Section):
    def __init__(self, desk: Desk, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.set_heading(self.tr("Files and help"))
        self._desk = desk
        self.open_data = self._add_folder(
            self.tr("Data folder"), self.tr("Open the data folder"), desk.data_folder
        )
        self.open_logs = self._add_folder(
            self.tr("Log folder"), self.tr("Open the log folder"), desk.log_folder
        )
        self.copy_diagnostics = DiagnosticsButton(desk, self.tr("the diagnostics"))
        row = self.add(
            Row(
                self.tr("Diagnostics"),
                self.copy_diagnostics,
                help_text=self.tr(
                    "Versions, device, model, figures and the last {number} lines of the log, to"
                    " paste where you ask for help. No prompt, answer or key is in it."
                ).format(number=text.count(LOG_LINES)),
            )
        )
        self.copy_diagnostics.failed.connect(row.note.say)

    def _add_folder(self, name: str, spoken: str, folder: Path) -> QPushButton:
        button = QPushButton(self.tr("Open"))
        button.setAutoDefault(False)
        button.setAccessibleName(spoken)
        row = self.add(Row(name, button, help_text=shorten_home(str(folder), Path.home())))

        def open_folder() -> None:
            opened = QDesktopServices.openUrl(QUrl.fromLocalFile(str(folder)))
            row.note.say("" if opened else self.tr("No program here opens folders."))

        button.clicked.connect(open_folder)
        return button


class RemoveSection(Section):
    """`remove_everything` is called once a person has confirmed it."""

    def __init__(
        self, desk: Desk, remove_everything: Callable[[], None], parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.set_heading(self.tr("Remove Ondol"))
        self._desk = desk
        self._remove_everything = remove_everything
        self.button = QPushButton(self.tr("Remove Everything…"))
        self.button.setAutoDefault(False)
        self.button.setProperty("role", "danger")
        self.row = self.add(
            Row(
                self.tr("Remove everything"),
                self.button,
                help_text=self.tr(
                    "Stops Ondol and deletes its data, its logs and its login item. You see first"
                    " what goes."
                ),
            )
        )
        self.button.clicked.connect(self._plan)

    def _plan(self) -> None:
        self.button.setEnabled(False)
        self.row.note.say("")
        follow(self._desk.removal(), self, self._ask, self._refuse)

    def _ask(self, removal: Removal) -> None:
        self.button.setEnabled(True)
        dialog = RemoveDialog(removal, self)
        dialog.accepted.connect(self._remove_everything)
        dialog.open()

    def _refuse(self, error: Exception) -> None:
        self.button.setEnabled(True)
        self.row.note.say(trouble.words(error))
