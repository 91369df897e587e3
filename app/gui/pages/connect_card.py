"""A client's card: its name, where the code goes, the code, and a button that copies it."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QFontDatabase, QResizeEvent, QTextOption
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QPlainTextEdit,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from app.gui.copy_button import CopyButton
from app.gui.pages.connect_snippets import Snippet
from app.gui.theme import SPACE, strong_font


class ClientCard(QFrame):
    """One snippet. It may be replaced when address or model change."""

    def __init__(self, snippet: Snippet, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("role", "card")
        name = QLabel(snippet.name)
        name.setFont(strong_font(name.font()))
        hint = QLabel(snippet.hint)
        hint.setProperty("role", "secondary")
        hint.setWordWrap(True)
        self.code = CodeBlock(snippet.name)
        self.copy = CopyButton(self._copied, snippet.name)
        words = QVBoxLayout()
        words.setSpacing(SPACE // 2)
        words.addWidget(name)
        words.addWidget(hint)
        heading = QHBoxLayout()
        heading.setSpacing(2 * SPACE)
        heading.addLayout(words, 1)
        heading.addWidget(self.copy, 0, Qt.AlignmentFlag.AlignTop)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(2 * SPACE, 2 * SPACE, 2 * SPACE, 2 * SPACE)
        layout.setSpacing(SPACE + SPACE // 2)
        layout.addLayout(heading)
        layout.addWidget(self.code)
        self.show_snippet(snippet)

    def show_snippet(self, snippet: Snippet) -> None:
        self._snippet = snippet
        self.code.setPlainText(snippet.code.rstrip("\n"))

    def _copied(self) -> str:
        return self._snippet.code


class CodeBlock(QPlainTextEdit):
    """Code to read and select, as high as it is long. Lines that are too long go on below."""

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setReadOnly(True)
        self.setAccessibleName(self.tr("Code for {name}").format(name=name))
        self.setFont(QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont))
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setTabChangesFocus(True)
        self.setWordWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.document().setDocumentMargin(SPACE + SPACE // 2)
        self.document().contentsChanged.connect(self.updateGeometry)
        self.setProperty("role", "code")

    def sizeHint(self) -> QSize:
        return QSize(320, self._height())

    def minimumSizeHint(self) -> QSize:
        return QSize(200, self._height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self.updateGeometry()

    def _height(self) -> int:
        # A plain text's size is counted in lines.
        num_lines = round(self.document().size().height())
        margins = 2 * round(self.document().documentMargin())
        return num_lines * self.fontMetrics().lineSpacing() + margins + 2 * self.frameWidth()
