"""How Ondol looks, and in which language it speaks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from PySide6.QtWidgets import QComboBox, QWidget

from app.gui.pages.settings_choices import Choices
from app.gui.pages.settings_form import Row, Section
from app.gui.segments import Segments
from app.storage.settings_store import Appearance, Language, Preferences

_APPEARANCES = (Appearance.SYSTEM, Appearance.LIGHT, Appearance.DARK)


class LookSection(Section):
    def __init__(
        self,
        choices: Choices,
        apply_appearance: Callable[[Appearance], None],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.set_heading(self.tr("Look and language"))
        self._choices = choices
        self._apply_appearance = apply_appearance
        self.appearance = Segments(
            self.tr("Appearance"), (self.tr("System"), self.tr("Light"), self.tr("Dark"))
        )
        self.appearance_row = self.add(Row(self.tr("Appearance"), self.appearance))
        self.language = QComboBox()
        self.language.setAccessibleName(self.tr("Language"))
        # Languages name themselves.
        self.language.addItem(self.tr("System"), Language.SYSTEM)
        self.language.addItem("English", Language.ENGLISH)
        self.language.addItem("한국어", Language.KOREAN)
        self.language_row = self.add(Row(self.tr("Language"), self.language))
        self.appearance.setEnabled(False)
        self.language.setEnabled(False)
        self.appearance.chosen.connect(self._on_appearance)
        self.language.activated.connect(self._on_language)
        choices.changed.connect(self._show)

    def _show(self, preferences: Preferences) -> None:
        self.appearance.blockSignals(True)
        self.appearance.choose(_APPEARANCES.index(preferences.appearance))
        self.appearance.blockSignals(False)
        self.language.setCurrentIndex(self.language.findData(preferences.language))
        self.appearance.setEnabled(True)
        self.language.setEnabled(True)

    def _on_appearance(self, number: int) -> None:
        appearance = _APPEARANCES[number]
        self._apply_appearance(appearance)
        self._choices.store(
            lambda now: replace(now, appearance=appearance),
            lambda: self.appearance_row.note.say(""),
            self.appearance_row.note.say,
        )

    def _on_language(self, number: int) -> None:
        language = self.language.itemData(number)
        self._choices.store(
            lambda now: replace(now, language=language),
            lambda: self.language_row.note.say(""),
            self.language_row.note.say,
        )
