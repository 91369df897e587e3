"""The fields of the sheet in which a prefix is written."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import (
    QComboBox,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from app.desk import Desk
from app.gui import trouble
from app.gui.prefixes import exact_text, words
from app.gui.prefixes.captions import as_one_column, caption
from app.gui.prefixes.diff_view import DiffView
from app.gui.prefixes.field_note import FieldNote
from app.gui.prefixes.price_line import PriceLine
from app.gui.prefixes.text_area import TextArea
from app.gui.prefixes.unsaved import Unsaved
from app.gui.segments import Segments
from app.gui.theme import SPACE
from app.storage.content import TemplateKind
from app.storage.errors import InvalidTemplate
from app.storage.templates import Template

_JSON = (TemplateKind.TOOL_SCHEMA, TemplateKind.CHAT_HISTORY)
_TEXT, _CHANGES = 0, 1
_TOOLS_EXAMPLE = """[
  {
    "type": "function",
    "function": {
      "name": "set_light",
      "description": "…",
      "parameters": {"type": "object", "properties": {}}
    }
  }
]"""
_CHAT_EXAMPLE = """[
  {"role": "system", "content": "…"},
  {"role": "user", "content": "…"}
]"""


class DraftForm(QWidget):
    """Name, kind, tags and text; for a template that exists also what changed.

    changed()          any field
    contentChanged()   the text, or what kind it is of
    """

    changed = Signal()
    contentChanged = Signal()

    def __init__(
        self,
        desk: Desk,
        kind: TemplateKind,
        template: Template | None,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._template = template
        self._kind = kind
        self.name = QLineEdit(template.name if template else "")
        self.tags = QLineEdit(", ".join(template.tags) if template else "")
        self.text = TextArea()
        self.note = QLineEdit()
        self.price = PriceLine(desk)
        self._kinds = QComboBox() if template is None else None  # a kind stays for good
        self.sides = Segments(self.tr("Text or changes"), (self.tr("Text"), self.tr("Changes")))
        self.changes = DiffView()
        self._pages = QStackedWidget()
        self._name_note, self._tags_note = FieldNote(), FieldNote()
        self._content_note, self._unkept_note = FieldNote(), FieldNote("warning")
        self._caption = QLabel()
        self._note_row = QWidget()
        self._fill()
        self._lay_out()
        self._connect()
        self._show_kind()

    @property
    def kind(self) -> TemplateKind:
        return self._kind

    @property
    def touched(self) -> bool:
        """Whether the text was typed in. Reading a long text for every key would be slow."""
        return self.text.document().isModified()

    def tag_list(self) -> tuple[str, ...]:
        return tuple(tag for tag in map(str.strip, self.tags.text().split(",")) if tag)

    def unsaved(self) -> Unsaved:
        """All of it, to go on with another time."""
        return Unsaved(
            kind=self._kind,
            template_id=self._template.id if self._template else None,
            name=self.name.text(),
            tags=self.tags.text(),
            content=self.text.content() if self.touched else None,
            note=self.note.text(),
        )

    def restore(self, unsaved: Unsaved) -> None:
        """Go on where somebody had to stop."""
        self.name.setText(unsaved.name)
        self.tags.setText(unsaved.tags)
        self.note.setText(unsaved.note)
        if unsaved.content is not None:
            self.text.restore(unsaved.content)

    def begin(self) -> None:
        """Put the cursor where one goes on."""
        (self.text if self._template else self.name).setFocus()

    def stop(self) -> None:
        self.price.stop()

    def complain_of_name(self, words: str) -> None:
        self._name_note.say(words)
        self.name.setFocus()

    def complain_of_tags(self, words: str) -> None:
        self._tags_note.say(words)
        self.tags.setFocus()

    def complain_of_content(self, error: InvalidTemplate) -> None:
        self._show_check(error)
        self.sides.choose(_TEXT)
        self.text.setFocus()

    def show_note_field(self, shown: bool) -> None:
        self._note_row.setVisible(shown)

    def _fill(self) -> None:
        self.name.setPlaceholderText(self.tr("What you call it"))
        self.tags.setPlaceholderText(self.tr("Separated by commas"))
        self.note.setPlaceholderText(self.tr("What is new in this version"))
        if self._kinds is not None:
            for kind in TemplateKind:
                self._kinds.addItem(words.kind(kind), kind)
            self._kinds.setCurrentIndex(self._kinds.findData(self._kind))
            self._kinds.currentIndexChanged.connect(self._on_kind)
        self._pages.addWidget(self.text)
        self._pages.addWidget(self.changes)
        if self._template is not None:
            content = self._template.latest.content
            self.text.set_content(content)
            if not exact_text.keeps(content):
                self._unkept_note.say(
                    self.tr(
                        "This text has unusual line ends or marks. Editing makes ordinary ones of"
                        " them."
                    )
                )

    def _lay_out(self) -> None:
        fields = QGridLayout()
        fields.setHorizontalSpacing(2 * SPACE)
        fields.setVerticalSpacing(SPACE)
        fields.setColumnStretch(1, 1)
        kind_name = self.tr("Kind") if self._kinds is None else self.tr("&Kind")
        kind = QLabel(words.kind(self._kind)) if self._kinds is None else self._kinds
        rows: tuple[tuple[str, QWidget, FieldNote | None], ...] = (
            (self.tr("&Name"), self.name, self._name_note),
            (kind_name, kind, None),
            (self.tr("&Tags"), self.tags, self._tags_note),
        )
        captions = [caption(name, field) for name, field, _ in rows]
        for number, (_, field, note) in enumerate(rows):
            fields.addWidget(captions[number], 2 * number, 0)
            fields.addWidget(field, 2 * number, 1)
            if note is not None:
                fields.addWidget(note, 2 * number + 1, 1)
        note_row = QHBoxLayout(self._note_row)
        note_row.setContentsMargins(0, 0, 0, 0)
        note_row.setSpacing(2 * SPACE)
        captions.append(caption(self.tr("N&ote"), self.note))
        as_one_column(captions)
        note_row.addWidget(captions[-1])
        note_row.addWidget(self.note, 1)
        self._note_row.hide()
        above = QHBoxLayout()
        above.addWidget(self._caption)
        above.addWidget(self.sides)
        above.addStretch(1)
        self._caption.setVisible(self._template is None)
        self.sides.setVisible(self._template is not None)
        self._caption.setBuddy(self.text)

        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(SPACE)
        layout.addLayout(fields)
        layout.addSpacing(SPACE)
        layout.addLayout(above)
        layout.addWidget(self._pages, 1)
        layout.addWidget(self._content_note)
        layout.addWidget(self._unkept_note)
        layout.addWidget(self.price)
        layout.addWidget(self._note_row)

    def _connect(self) -> None:
        self.name.textChanged.connect(self._on_name)
        self.tags.textChanged.connect(self._on_tags)
        self.note.textChanged.connect(self.changed)
        self.text.textChanged.connect(self._on_text)
        self.sides.chosen.connect(self._on_side)
        self.price.checked.connect(self._show_check)

    def _on_name(self) -> None:
        self._name_note.say("")
        self.changed.emit()

    def _on_tags(self) -> None:
        self._tags_note.say("")
        self.changed.emit()

    def _on_text(self) -> None:
        self._content_note.say("")
        self.changed.emit()
        self.contentChanged.emit()

    def _on_kind(self, number: int) -> None:
        self._kind = list(TemplateKind)[number]
        self._show_kind()
        self._on_text()

    def _on_side(self, side: int) -> None:
        self._pages.setCurrentIndex(side)
        if side == _CHANGES and self._template is not None:
            self.changes.compare(self._template.latest.content, self.text.content())

    def _show_kind(self) -> None:
        self.text.set_numbered(self._kind in _JSON)
        match self._kind:
            case TemplateKind.TOOL_SCHEMA:
                self._caption.setText(self.tr("Tools, as &JSON"))
                self.text.setPlaceholderText(_TOOLS_EXAMPLE)
            case TemplateKind.CHAT_HISTORY:
                self._caption.setText(self.tr("Messages, as &JSON"))
                self.text.setPlaceholderText(_CHAT_EXAMPLE)
            case _:
                self._caption.setText(self.tr("Te&xt"))
                self.text.setPlaceholderText(
                    self.tr("Clients must send the same text, letter by letter.")
                )
        self.text.setAccessibleName(self._caption.text().replace("&", ""))

    def _show_check(self, error: InvalidTemplate | None) -> None:
        self.text.clear_mark()
        self._content_note.say(trouble.words(error) if error else "")
        if error is not None and error.line is not None:
            self.text.mark_line(error.line)
