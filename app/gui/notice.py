"""A notice above the page when something is wrong: what, why, and the way out; or a quiet line when
something is unusual."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from app.gui import trouble
from app.gui.icons import icon
from app.gui.status import Status, describe
from app.gui.theme import SPACE, strong_font, theme
from engine.snapshot import EngineState, Snapshot

_ICON_SIZE = 24
_SMALL_ICON_SIZE = 16
_TOKENS = {"error": "bad", "warning": "warning", "info": "secondary"}


class Notice(QWidget):
    """Hidden while all is well.

    settingsWanted   a person wants to change what is wrong
    """

    settingsWanted = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        card = QFrame()
        card.setProperty("role", "card")
        self._shown: tuple[str, str, str] = ("", "", "")
        self._picture_name = ""
        self._picture = QLabel()
        self._headline = QLabel()
        self._headline.setFont(strong_font(self.font()))
        self._reason = _words()
        self._reason.setProperty("role", "secondary")
        self._button = QPushButton(self.tr("Open Settings"))
        self._button.clicked.connect(self.settingsWanted)
        texts = QVBoxLayout()
        texts.setSpacing(SPACE // 4)
        texts.addWidget(self._headline)
        texts.addWidget(self._reason)
        around = QVBoxLayout(self)
        around.setContentsMargins(3 * SPACE, 2 * SPACE, 3 * SPACE, 0)
        around.addWidget(card)
        layout = QHBoxLayout(card)
        self._row = layout
        layout.setContentsMargins(2 * SPACE, 12, 2 * SPACE, 12)
        layout.setSpacing(2 * SPACE)
        layout.addWidget(self._picture)
        layout.addLayout(texts, 1)
        layout.addWidget(self._button, alignment=Qt.AlignmentFlag.AlignVCenter)
        theme.changed.connect(self._tint)
        self.hide()

    def show_state(self, snapshot: Snapshot, storage_trouble: BaseException | None) -> None:
        """Tell of the engine's trouble, else of the storage's, else of what is unusual, else
        nothing."""
        status = describe(snapshot)
        if status.is_trouble:
            self._show_engine(snapshot, status)
        elif storage_trouble is not None:
            self._show(
                "warning",
                self.tr("History is not being stored"),
                self.tr("{reason} Nothing is lost yet: it is tried again.").format(
                    reason=trouble.words(storage_trouble)
                ),
                with_button=False,
            )
        elif snapshot.notice:
            self._show("info", "", trouble.notice(snapshot), with_button=False)
        else:
            self._shown = ("", "", "")
            self.hide()

    def _show_engine(self, snapshot: Snapshot, status: Status) -> None:
        failed = snapshot.state is EngineState.FAILED
        self._show(
            "error" if failed else "warning",
            status.words,
            f"{trouble.reason(snapshot)} {status.advice}".strip(),
            with_button=failed,
        )

    def _show(self, picture: str, headline: str, reason: str, *, with_button: bool) -> None:
        if self._shown == (picture, headline, reason):
            return
        self._shown = (picture, headline, reason)
        self._picture_name = picture
        self._headline.setText(headline)
        self._headline.setVisible(bool(headline))
        self._reason.setText(reason)
        at = Qt.AlignmentFlag.AlignTop if headline else Qt.AlignmentFlag.AlignVCenter
        self._row.setAlignment(self._picture, at)
        self._button.setVisible(with_button)
        self.setAccessibleName(headline or reason)
        self.setAccessibleDescription(reason if headline else "")
        self._tint()
        self.show()

    def _tint(self) -> None:
        if self._picture_name:
            token = _TOKENS[self._picture_name]
            side = _ICON_SIZE if self._headline.text() else _SMALL_ICON_SIZE
            size = QSize(side, side)
            self._picture.setPixmap(
                icon(self._picture_name, token).pixmap(size, self.devicePixelRatioF())
            )


def _words() -> QLabel:
    label = QLabel()
    label.setWordWrap(True)
    label.setTextFormat(Qt.TextFormat.PlainText)
    label.setTextInteractionFlags(
        Qt.TextInteractionFlag.TextSelectableByMouse
        | Qt.TextInteractionFlag.TextSelectableByKeyboard
    )
    return label
