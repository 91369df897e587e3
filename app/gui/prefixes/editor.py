"""The sheet in which a prefix is written. Nothing that was typed is lost, whatever ends Ondol."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QDialogButtonBox, QVBoxLayout, QWidget

from app.desk import Desk
from app.gui import trouble
from app.gui.dialogs import confirm
from app.gui.futures import follow
from app.gui.prefixes.draft import DraftForm
from app.gui.prefixes.field_note import FieldNote
from app.gui.prefixes.price_line import Question
from app.gui.prefixes.unsaved import UnsavedWork
from app.gui.sheet import WritingSheet
from app.gui.theme import SPACE
from app.storage.content import TemplateKind, clean_name, clean_tags
from app.storage.errors import InvalidTemplate, NameTaken
from app.storage.templates import Template


@dataclass(frozen=True, slots=True)
class _Draft:
    """What is to be stored."""

    name: str
    kind: TemplateKind
    tags: tuple[str, ...]
    content: str
    note: str


class EditorSheet(WritingSheet):
    """Writes a new template, or the next version of one.

    saved(Template, bool)   it is stored; whether its text is another than before
    """

    saved = Signal(object, bool)

    def __init__(
        self,
        desk: Desk,
        kind: TemplateKind,
        template: Template | None = None,
        policy: Template | None = None,
        parent: QWidget | None = None,
    ) -> None:
        """`policy` is what the template is pinned together with; the price counts it."""
        super().__init__(parent)
        self._desk = desk
        self._template = template
        self._policy = policy
        self._text_changed = False
        self._asking = False
        self.setWindowModality(Qt.WindowModality.WindowModal)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.resize(720, 540)

        self._work = UnsavedWork(desk.data_folder)
        self._first_kind = kind
        self._form = DraftForm(desk, kind, template, self)
        self._trouble = FieldNote()
        self._restored = FieldNote("warning")
        self._buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel)
        self._save_button = self._buttons.addButton(
            self.tr("Create"), QDialogButtonBox.ButtonRole.AcceptRole
        )
        self._save_button.setDefault(True)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(3 * SPACE, 2 * SPACE, 3 * SPACE, 2 * SPACE)
        layout.setSpacing(2 * SPACE)
        layout.addWidget(self._restored)
        layout.addWidget(self._form, 1)
        layout.addWidget(self._trouble)
        layout.addWidget(self._buttons)

        self._form.changed.connect(self._on_change)
        self._form.contentChanged.connect(self._count)
        self._buttons.accepted.connect(self.save)
        self._buttons.rejected.connect(self.reject)
        self._fields_before = self._fields()
        restored = self._restore()
        self._on_change()
        if restored or template is not None:
            self._count()
        self._form.begin()

    @property
    def form(self) -> DraftForm:
        return self._form

    @property
    def has_changes(self) -> bool:
        return self._form.touched or self._fields() != self._fields_before

    def save(self) -> None:
        """Store what differs; the sheet closes only when all of it is stored."""
        draft = self._draft()
        if not self._is_valid(draft):
            return
        self._trouble.say("")
        self.setEnabled(False)
        self._save_button.setText(self.tr("Saving…"))
        if self._template is None:
            answer = self._desk.create_template(draft.name, draft.kind, draft.content, draft.tags)
            self._text_changed = True
            self._then(answer, self._finish)
        else:
            self._save_next(draft)

    def reject(self) -> None:
        """Asks first if something would be lost."""
        if not self.isEnabled():
            return  # it is being stored just now
        if self.has_changes:
            self._ask_to_discard()
        else:
            self._leave()

    def keep_unsaved(self) -> None:
        """Ondol ends without asking: the sheet that is opened next goes on from here."""
        if self.has_changes and self.isEnabled():
            self._forget_unsaved()  # of the kind it had at first
            self._work.keep(self._form.unsaved())

    def _restore(self) -> bool:
        """Show what `keep_unsaved` has kept; returns whether there was anything."""
        unsaved = self._work.find(self._form.kind, self._template.id if self._template else None)
        if unsaved is not None:
            self._form.restore(unsaved)
            self._restored.say(
                self.tr("This is what you were writing when Ondol ended. It is not saved yet.")
            )
        return unsaved is not None

    def _forget_unsaved(self) -> None:
        self._work.forget(self._first_kind, self._template.id if self._template else None)

    def _leave(self) -> None:
        self._forget_unsaved()
        self._form.stop()
        super().reject()

    def _ask_to_discard(self) -> None:
        if self._asking:
            return
        self._asking = True
        question = confirm(
            self.tr("Discard what you have written?"),
            self.tr("It has not been saved and cannot be brought back."),
            self.tr("Discard"),
            self._leave,
        )(self)
        question.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        question.setWindowModality(Qt.WindowModality.WindowModal)
        question.finished.connect(self._on_answer)
        question.open()

    def _on_answer(self) -> None:
        self._asking = False

    def _save_next(self, draft: _Draft) -> None:
        """One change after the other: each is stored before the next is asked for, and after a
        failure only the rest is left."""
        template = self._template
        assert template is not None
        answer: Future[Template]
        if clean_name(draft.name) != template.name:
            answer = self._desk.rename(template.id, draft.name)
        elif clean_tags(draft.tags) != template.tags:
            answer = self._desk.set_tags(template.id, draft.tags)
        elif draft.content != template.latest.content:
            self._text_changed = True
            answer = self._desk.add_version(template.id, draft.content, draft.note)
        else:
            self._finish(template)
            return

        def stored(changed: Template) -> None:
            self._template = changed
            self._save_next(draft)

        self._then(answer, stored)

    def _then(self, answer: Future[Any], done: Callable[[Template], None]) -> None:
        follow(answer, self, done, self._on_failure)

    def _finish(self, template: Template) -> None:
        self._forget_unsaved()
        self._form.stop()
        self.saved.emit(template, self._text_changed)
        self.accept()

    def _on_failure(self, error: Exception) -> None:
        self._text_changed = False
        self.setEnabled(True)
        self._on_change()
        if isinstance(error, NameTaken):
            self._form.complain_of_name(trouble.words(error))
        elif isinstance(error, InvalidTemplate):
            self._form.complain_of_content(error)
        else:
            self._trouble.say(self.tr("Not saved. {reason}").format(reason=trouble.words(error)))

    def _is_valid(self, draft: _Draft) -> bool:
        """Says at name and tags what is wrong with them; the text is checked by the storage."""
        try:
            clean_name(draft.name)
        except InvalidTemplate as error:
            self._form.complain_of_name(trouble.words(error))
            return False
        try:
            clean_tags(draft.tags)
        except InvalidTemplate as error:
            self._form.complain_of_tags(trouble.words(error))
            return False
        return True

    def _on_change(self) -> None:
        if self._template is None:
            self.setWindowTitle(self.tr("New Prefix"))
            self._save_button.setText(self.tr("Create"))
            self._save_button.setEnabled(True)
            return
        self.setWindowTitle(self.tr("Edit “{name}”").format(name=self._template.name))
        new_version = self._form.touched
        self._form.show_note_field(new_version)
        self._save_button.setText(
            self.tr("Save Version {number}").format(number=self._template.latest.number + 1)
            if new_version
            else self.tr("Save")
        )
        self._save_button.setEnabled(self.has_changes)

    def _count(self) -> None:
        self._form.price.ask(self._question)

    def _question(self) -> Question:
        policy = self._policy.latest.content if self._policy else None
        return self._form.kind, self._form.text.content(), policy

    def _fields(self) -> tuple[object, ...]:
        form = self._form
        return form.name.text(), form.kind, form.tags.text(), form.note.text()

    def _draft(self) -> _Draft:
        form = self._form
        return _Draft(
            form.name.text(), form.kind, form.tag_list(), form.text.content(), form.note.text()
        )
