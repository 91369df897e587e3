"""What answers that are written at once may cost the warm prefixes, and how many they may be."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QComboBox, QWidget

from app.desk import Desk
from app.gui import text
from app.gui.pages.settings_choices import Choices
from app.gui.pages.settings_form import Row
from app.storage.settings_store import Preferences
from engine.config import AdmissionMode, EngineConfig

NUMBERS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64)


class AdmissionRow(Row):
    """One of four ways; the present one is explained below the name. One that the command line
    gives counts more for this run."""

    def __init__(self, desk: Desk, choices: Choices, parent: QWidget | None = None) -> None:
        self.choice = QComboBox()
        super().__init__("", self.choice, parent=parent)
        self.name.setText(self.tr("When several ask at once"))
        self.choice.setAccessibleName(self.name.text())
        self._desk = desk
        self._choices = choices
        for mode in AdmissionMode:
            self.choice.addItem(self._name_of(mode), mode)
            self.choice.setItemData(
                self.choice.count() - 1, self._explanation(mode), Qt.ItemDataRole.ToolTipRole
            )
        self.choice.setEnabled(False)
        self.choice.activated.connect(self._on_choice)
        choices.changed.connect(self._show)

    def refresh(self) -> None:
        """What the command line gave holds until a choice takes its place."""
        if self.choice.isEnabled():
            self._explain(self.choice.currentData())

    def _show(self, preferences: Preferences) -> None:
        self.choice.setCurrentIndex(self.choice.findData(preferences.admission))
        self.choice.setEnabled(True)
        self.refresh()

    def _on_choice(self, number: int) -> None:
        mode = self.choice.itemData(number)
        self._explain(mode)
        self._choices.store(
            lambda now: replace(now, admission=mode), lambda: self.note.say(""), self.note.say
        )

    def _explain(self, mode: AdmissionMode) -> None:
        given, words = self._desk.given.admission, ""
        if given is not None:
            words = self.tr("For this run, as the command line says: {choice}.").format(
                choice=self._name_of(given)
            )
        self.explain(self._explanation(mode), words)

    def _name_of(self, mode: AdmissionMode) -> str:
        match mode:
            case AdmissionMode.PROTECT_CACHE:
                return self.tr("Keep prefixes warm (recommended)")
            case AdmissionMode.BALANCED:
                return self.tr("Balanced")
            case AdmissionMode.MAX_THROUGHPUT:
                return self.tr("Most answers at once")
            case AdmissionMode.AUTO:
                return self.tr("Automatic")

    def _explanation(self, mode: AdmissionMode) -> str:
        match mode:
            case AdmissionMode.PROTECT_CACHE:
                return self.tr(
                    "An answer starts once there is room for it beside the prefixes in use; until"
                    " then it waits."
                )
            case AdmissionMode.BALANCED:
                return self.tr(
                    "Answers may take half of the room of the prefixes in use, so fewer wait."
                )
            case AdmissionMode.MAX_THROUGHPUT:
                return self.tr(
                    "As many answers as fit. Prefixes get cold sooner, and answers may have to make"
                    " way for each other."
                )
            case AdmissionMode.AUTO:
                return self.tr(
                    "Ondol decides by how much of what is asked was warm lately: the more, the more"
                    " it protects."
                )


class AtOnceRow(Row):
    """Automatic, or one of some numbers. One that the command line gives counts more for this
    run."""

    def __init__(self, desk: Desk, choices: Choices, parent: QWidget | None = None) -> None:
        self.choice = QComboBox()
        super().__init__("", self.choice, parent=parent)
        self.name.setText(self.tr("Answers at once"))
        self.choice.setAccessibleName(self.name.text())
        self._desk = desk
        self._choices = choices
        self.refresh()
        self.choice.addItem(self.tr("Automatic"), None)
        for number in NUMBERS:
            self._add(number)
        self.choice.setEnabled(False)
        self.choice.activated.connect(self._on_choice)
        choices.changed.connect(self._show)

    def refresh(self) -> None:
        """What the command line gave holds until a choice takes its place."""
        given, words = self._desk.given.max_running, ""
        if given is not None:
            words = self.tr("{number} for this run, as the command line says.").format(
                number=text.count(given)
            )
        self.explain(
            self.tr(
                "Never more than this, however much memory is free. Automatic stops at {number}."
            ).format(number=text.count(EngineConfig().max_running)),
            words,
        )

    def _add(self, number: int) -> None:
        self.choice.addItem(text.count(number), number)

    def _show(self, preferences: Preferences) -> None:
        chosen = preferences.max_running
        if self.choice.findData(chosen) < 0 and chosen is not None:
            self._add(chosen)
        self.choice.setCurrentIndex(self.choice.findData(chosen))
        self.choice.setEnabled(True)

    def _on_choice(self, number: int) -> None:
        chosen = self.choice.itemData(number)
        self._choices.store(
            lambda now: replace(now, max_running=chosen), lambda: self.note.say(""), self.note.say
        )
