"""What the page says before there is anything on it."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QLabel, QVBoxLayout, QWidget

from app.gui.prefixes.start_card import StartCard
from app.gui.prefixes.words import ICON_NAMES
from app.gui.theme import SPACE, title_font
from app.storage.content import TemplateKind

_WIDTH_PX = 460


class Welcome(QWidget):
    """chosen(TemplateKind)   make one of these"""

    chosen = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        heading = QLabel(self.tr("Compute it once, keep it warm"))
        heading.setFont(title_font(self.font()))
        lesson = QLabel(
            self.tr(
                "A prefix is what many requests begin with: the policy of an assistant, its tools,"
                " a document. Pinned here it stays in memory, and answers to every request that"
                " begins with it start at once."
            )
        )
        lesson.setWordWrap(True)
        lesson.setProperty("role", "secondary")
        starts = {
            TemplateKind.SYSTEM_POLICY: StartCard(
                ICON_NAMES[TemplateKind.SYSTEM_POLICY],
                self.tr("Write a system policy"),
                self.tr("The text that tells an assistant who it is and how it answers."),
            ),
            TemplateKind.TOOL_SCHEMA: StartCard(
                ICON_NAMES[TemplateKind.TOOL_SCHEMA],
                self.tr("Paste a tool schema"),
                self.tr("The JSON list of functions that an assistant may call."),
            ),
            TemplateKind.DOCUMENT: StartCard(
                ICON_NAMES[TemplateKind.DOCUMENT],
                self.tr("Keep a document"),
                self.tr("A text that many questions are about. Or drop a file here."),
            ),
        }
        column = QWidget()
        column.setFixedWidth(_WIDTH_PX)
        inside = QVBoxLayout(column)
        inside.setContentsMargins(0, 0, 0, 0)
        inside.setSpacing(SPACE)
        inside.addWidget(heading)
        inside.addWidget(lesson)
        inside.addSpacing(2 * SPACE)
        for kind, button in starts.items():
            button.clicked.connect(lambda _=False, kind=kind: self.chosen.emit(kind))
            inside.addWidget(button)
        layout = QVBoxLayout(self)
        layout.addStretch(2)
        layout.addWidget(column, 0, Qt.AlignmentFlag.AlignHCenter)
        layout.addStretch(3)
