"""How much memory computed prompts may take, what fits into it, and who may use it at once."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QHideEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QSlider, QWidget

from app.budget import KvLimits
from app.desk import Desk
from app.gui import text, trouble
from app.gui.futures import follow
from app.gui.pages.settings_choices import Choices
from app.gui.pages.settings_form import Row, Section
from app.gui.pages.settings_together import AdmissionRow, AtOnceRow
from app.gui.segments import Segments
from app.gui.theme import SPACE
from app.storage.settings_store import Preferences

STEP_BYTES = 256 * 1024**2
STORE_AFTER_MS = 400

_AUTOMATIC, _CHOSEN = 0, 1
_STEPS_PER_PAGE = 4
_CONVERSATIONS = (8000, 4000, 2000, 1000, 500)  # tokens; the first of which two fit is shown


class MemorySection(Section):
    """A size is stored when the slider has rested for a moment, or is out of sight."""

    def __init__(self, desk: Desk, choices: Choices, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.set_heading(self.tr("Memory"))
        self._desk = desk
        self._choices = choices
        self._limits: KvLimits | None = None
        self.how = Segments(
            self.tr("How the memory is chosen"), (self.tr("Automatic"), self.tr("Custom"))
        )
        self.slider = QSlider(Qt.Orientation.Horizontal)
        self.slider.setPageStep(_STEPS_PER_PAGE)
        self.slider.setAccessibleName(self.tr("Memory for prompts"))
        self.figure = QLabel()
        self.figure.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.figure.setMinimumWidth(self.figure.fontMetrics().horizontalAdvance("8888.8 GiB"))
        self.row = self.add(
            Row(
                self.tr("Memory for prompts"),
                self.how,
            )
        )
        self.fits = QLabel()
        self.fits.setWordWrap(True)
        self._lay_out_slider()
        self.admission = AdmissionRow(desk, choices)
        self.at_once = AtOnceRow(desk, choices)
        self.add(self.admission)
        self.add(self.at_once)
        self._rested = QTimer(self)
        self._rested.setSingleShot(True)
        self._rested.setInterval(STORE_AFTER_MS)
        self._rested.timeout.connect(self._store)
        self.how.chosen.connect(self._on_how)
        self.slider.valueChanged.connect(self._on_slider)
        choices.changed.connect(self._show)
        self._enable()
        self.refresh_given()

    def ask_limits(self) -> None:
        """Learn what is possible; another model changes it."""
        follow(
            self._desk.kv_limits(),
            self,
            self._know,
            lambda error: self.row.note.say(trouble.words(error)),
        )

    def refresh(self) -> None:
        """What fits depends on the model."""
        self.figure.setText(text.size(self._bytes) if self._bytes else "")
        self.fits.setText(self._words())

    def refresh_given(self) -> None:
        """What the command line gave holds until a choice takes its place at a start."""
        self.row.explain(
            self.tr(
                "Computed prompts stay in it for reuse, beside the answers being written. The"
                " model comes on top."
            ),
            self._given(),
        )
        self.admission.refresh()
        self.at_once.refresh()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        if self._rested.isActive():
            self._rested.stop()
            self._store()

    @property
    def _bytes(self) -> int:
        """What is chosen here; 0 while that is not known."""
        if self.how.current == _CHOSEN:
            return self.slider.value() * STEP_BYTES
        return self._limits.automatic if self._limits else 0

    def _know(self, limits: KvLimits) -> None:
        self._limits = limits
        present = self._choices.present
        if present is not None:
            self._show(present)
        self._enable()

    def _show(self, preferences: Preferences) -> None:
        """Put the controls to what is stored."""
        if self._rested.isActive():
            return  # a newer choice is about to be stored
        chosen = preferences.kv_budget_bytes
        for control in (self.how, self.slider):
            control.blockSignals(True)
        self.how.choose(_AUTOMATIC if chosen is None else _CHOSEN)
        if self._limits is not None:
            self.slider.setRange(
                self._limits.least // STEP_BYTES,
                max(self._limits.most, chosen or 0) // STEP_BYTES,
            )
            self.slider.setValue((chosen or self._limits.automatic) // STEP_BYTES)
        for control in (self.how, self.slider):
            control.blockSignals(False)
        self._enable()
        self.refresh()

    def _enable(self) -> None:
        known = self._limits is not None and self._choices.present is not None
        self.how.setEnabled(known)
        self.slider.setEnabled(known and self.how.current == _CHOSEN)

    def _on_how(self) -> None:
        self._enable()
        self.refresh()
        self._rested.start()

    def _on_slider(self) -> None:
        self.refresh()
        self.slider.setToolTip(text.size(self._bytes))
        self._rested.start()

    def _store(self) -> None:
        chosen = None if self.how.current == _AUTOMATIC else self._bytes
        self._choices.store(
            lambda now: replace(now, kv_budget_bytes=chosen),
            lambda: self.row.note.say(""),
            self.row.note.say,
        )

    def _given(self) -> str:
        given = self._desk.given.kv_budget_bytes
        if given is None:
            return ""
        return self.tr("{size} for this run, as the command line says.").format(
            size=text.size(given)
        )

    def _words(self) -> str:
        model = self._desk.model
        if not self._bytes:
            return ""
        if model is None or not model.bytes_per_token:
            return self.tr("How many tokens fit is known once a model is loaded.")
        num_tokens = model.cost.tokens_within(self._bytes)
        for conversation in _CONVERSATIONS:
            number = self._bytes // model.cost.prefix_bytes(conversation)
            if conversation <= model.context_window and number >= 2:
                return self.tr(
                    "Room for about {tokens} tokens, such as {number} conversations of {each}."
                ).format(
                    tokens=text.count(about(num_tokens)),
                    number=text.count(number),
                    each=text.count(conversation),
                )
        return self.tr("Room for about {tokens} tokens.").format(
            tokens=text.count(about(num_tokens))
        )

    def _lay_out_slider(self) -> None:
        line = QHBoxLayout()
        line.setSpacing(2 * SPACE)
        line.addWidget(self.slider, 1)
        line.addWidget(self.figure)
        self.row.below.addLayout(line)
        self.row.below.addWidget(self.fits)


def about(number: int) -> int:
    """The number with its first two digits alone."""
    factor = int(10 ** max(0, len(str(number)) - 2))
    return round(number / factor) * factor
