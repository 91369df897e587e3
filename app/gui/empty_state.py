"""What stands where there is nothing to show."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QLabel, QPushButton, QVBoxLayout, QWidget

from app.gui.icons import icon
from app.gui.theme import SPACE, theme

_ICON_SIZE = 40
_TEXT_WIDTH = 420


class EmptyState(QWidget):
    """An icon, a line, a sentence, and perhaps the one thing to do.

    acted()   the button was pressed
    """

    acted = Signal()

    def __init__(
        self,
        icon_name: str,
        heading: str,
        sentence: str = "",
        action: str = "",
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._icon_name = icon_name
        self._picture = QLabel()
        title = QLabel(heading)
        font = title.font()
        font.setPointSizeF(font.pointSizeF() * 1.25)
        font.setWeight(font.Weight.DemiBold)
        title.setFont(font)
        layout = QVBoxLayout(self)
        layout.setSpacing(SPACE)
        layout.addStretch(2)
        layout.addWidget(self._picture, 0, Qt.AlignmentFlag.AlignHCenter)
        layout.addSpacing(SPACE)
        layout.addWidget(title, 0, Qt.AlignmentFlag.AlignHCenter)
        if sentence:
            explanation = QLabel(sentence)
            explanation.setProperty("role", "secondary")
            explanation.setWordWrap(True)
            explanation.setAlignment(Qt.AlignmentFlag.AlignHCenter)
            # A centred label is given the height of its text at any width, which is too little.
            explanation.setFixedSize(_TEXT_WIDTH, explanation.heightForWidth(_TEXT_WIDTH))
            layout.addWidget(explanation, 0, Qt.AlignmentFlag.AlignHCenter)
        if action:
            button = QPushButton(action)
            button.setAutoDefault(False)
            button.clicked.connect(self.acted)
            layout.addSpacing(SPACE)
            layout.addWidget(button, 0, Qt.AlignmentFlag.AlignHCenter)
        layout.addStretch(3)
        theme.changed.connect(self._paint)
        self._paint()

    def _paint(self) -> None:
        self._picture.setPixmap(icon(self._icon_name, "secondary").pixmap(_ICON_SIZE))
