"""Which model serves: choose a folder, or go back to the starter model."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog, QHBoxLayout, QPushButton, QWidget

from app.desk import Desk
from app.diagnostics import shorten_home
from app.gui import text, trouble
from app.gui.futures import follow
from app.gui.pages.settings_choices import Choices
from app.gui.pages.settings_form import Row, Section
from app.gui.status import describe
from app.gui.theme import SPACE
from engine.errors import EngineError
from engine.model.info import AttentionMode
from engine.snapshot import EngineState, Snapshot


class ModelSection(Section):
    """The engine's word on a folder is shown at the row, with the way out."""

    def __init__(self, desk: Desk, choices: Choices, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.set_heading(self.tr("Model"))
        self._desk = desk
        self._choices = choices
        self.choose = QPushButton(self.tr("Choose Folder…"))
        self.starter = QPushButton(self.tr("Use the Starter Model"))
        for button in (self.choose, self.starter):
            button.setAutoDefault(False)
        self.row = self.add(Row(""))
        buttons = QHBoxLayout()
        buttons.setSpacing(SPACE)
        buttons.addWidget(self.choose)
        buttons.addWidget(self.starter)
        buttons.addStretch(1)
        self.row.below.addLayout(buttons)
        self.choose.clicked.connect(self._open_dialog)
        self.starter.clicked.connect(lambda: self.use(None))
        choices.changed.connect(lambda _: self.refresh())
        self._busy = False
        self._refusal = ""
        self.refresh()

    def use(self, folder: Path | None) -> None:
        """Have Ondol serve this model (None: the starter)."""
        self._busy = True
        self._refusal = ""
        self.refresh()
        follow(self._desk.use_model(folder), self, self._taken, self._refused)

    def refresh(self) -> None:
        """Show what serves now; call it when the engine or the choice has changed."""
        snapshot = self._desk.snapshot
        self.row.name.setText(snapshot.model_id or self.tr("No model"))
        self.row.explain(
            "\n".join(filter(None, (self._state(snapshot), self._reuse(snapshot), self._place())))
        )
        self.row.note.say(self._refusal or self._failure(snapshot))
        present = self._choices.present
        for button in (self.choose, self.starter):
            button.setEnabled(present is not None and not self._busy)
        failed = snapshot.state is EngineState.FAILED
        chosen = present is not None and present.model_folder is not None
        self.starter.setVisible(failed or chosen or self._desk.given.model is not None)

    def _state(self, snapshot: Snapshot) -> str:
        if self._busy:
            return self.tr("Looking the folder over…")
        model = self._desk.model
        if model is None or snapshot.state is EngineState.FAILED:
            return describe(snapshot).words
        return self.tr("{state} · {architecture} · context of {tokens} tokens").format(
            state=describe(snapshot).words,
            architecture=model.architecture,
            tokens=text.count(model.context_window),
        )

    def _reuse(self, snapshot: Snapshot) -> str:
        """What the kinds of the model's layers mean for warm prompts, where it is worth a word."""
        model = self._desk.model
        if self._busy or model is None or snapshot.state is EngineState.FAILED:
            return ""
        match model.attention:
            case AttentionMode.PRIVATE:
                return self.tr(
                    "Its prompts cannot be kept warm, since their state cannot be restored exactly:"
                    " {reason}."
                ).format(reason=model.attention_reason)
            case AttentionMode.COPIES:
                return self.tr("Its prompts stay warm; requests take turns.")
            case AttentionMode.SHARED:
                return ""

    def _place(self) -> str:
        present = self._choices.present
        given = self._desk.given.model
        if given is not None:
            return self.tr("{folder}, as the command line says, for this run.").format(
                folder=shorten_home(str(given), Path.home())
            )
        if present is None:
            return ""
        if present.model_folder is None:
            return self.tr("The starter model, which comes with Ondol.")
        return shorten_home(str(present.model_folder), Path.home())

    def _failure(self, snapshot: Snapshot) -> str:
        return (
            self._with_way_out(trouble.reason(snapshot))
            if snapshot.state is EngineState.FAILED
            else ""
        )

    def _with_way_out(self, reason: str) -> str:
        if self._desk.snapshot.state is EngineState.FAILED:
            way_out = self.tr("Choose another folder, or use the starter model.")
        else:
            way_out = self.tr("The present model goes on. Choose another folder.")
        return f"{reason} {way_out}".strip()

    def _taken(self, _: None) -> None:
        self._busy = False
        self._choices.read()
        self.refresh()

    def _refused(self, error: Exception) -> None:
        self._busy = False
        known, told = isinstance(error, EngineError), trouble.words(error)
        self._refusal = self._with_way_out(told) if known else told
        self.refresh()

    def _open_dialog(self) -> None:
        present = self._choices.present
        chosen = self._desk.given.model or (present.model_folder if present else None)
        start = chosen or Path.home()
        dialog = QFileDialog(self, self.tr("Choose a model folder"), str(start))
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setFileMode(QFileDialog.FileMode.Directory)
        dialog.setOption(QFileDialog.Option.ShowDirsOnly)
        dialog.setLabelText(QFileDialog.DialogLabel.Accept, self.tr("Use This Model"))
        dialog.fileSelected.connect(lambda name: self.use(Path(name)))
        dialog.open()
