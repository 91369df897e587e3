"""What the application asks and tells. Answers call back; nothing waits for them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QFormLayout,
    QLabel,
    QLineEdit,
    QMessageBox,
    QSpinBox,
    QVBoxLayout,
    QWidget,
)

from app.gui import trouble
from app.gui.futures import follow
from app.gui.icons import icon
from app.gui.theme import SPACE, strong_font
from app.settings import MAX_PORT

_WIDTH = 50 * SPACE
_MESSAGE_WIDTH = 42 * SPACE
_PICTURE_SIZE = 32
_PICTURES = {
    QMessageBox.Icon.Warning: ("warning", "warning"),
    QMessageBox.Icon.Information: ("info", "accent"),
    QMessageBox.Icon.Critical: ("error", "bad"),
}


class Shelf:
    """The dialogs that are open, one of a kind."""

    def __init__(self, find_parent: Callable[[], QWidget | None]) -> None:
        """`find_parent` gives the window that a dialog belongs to, if one can be seen."""
        self._find_parent = find_parent
        self._open: dict[str, QDialog] = {}
        self._alive: set[QDialog] = set()

    def __contains__(self, dialog: QDialog) -> bool:
        return dialog in self._open.values()

    def show(self, kind: str, make: Callable[[QWidget | None], QDialog]) -> None:
        """Open what `make` makes, or bring forward the one of this kind that is open."""
        dialog = self._open.get(kind)
        if dialog is None:
            dialog = self._open[kind] = make(self._find_parent())
            dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
            dialog.finished.connect(lambda _: self._open.pop(kind, None))
            self._keep_alive(dialog)
            dialog.open()
        dialog.raise_()
        dialog.activateWindow()

    def _keep_alive(self, dialog: QDialog) -> None:
        """Until Qt deletes it. A dialog without a parent is Python's: with its last reference it
        would go at once, in the middle of its own closing."""
        self._alive.add(dialog)
        dialog.destroyed.connect(lambda: self._alive.discard(dialog))

    def raise_all(self) -> None:
        for dialog in self._open.values():
            dialog.raise_()

    def close_all(self) -> None:
        for dialog in list(self._open.values()):
            dialog.close()


def confirm(
    question: str,
    why: str,
    yes: str,
    on_yes: Callable[[], None],
    on_no: Callable[[], None] | None = None,
) -> Callable[[QWidget | None], QMessageBox]:
    """Ask before something is lost. `yes` is the verb on the button; the default is to cancel."""

    def make(parent: QWidget | None) -> QMessageBox:
        box = _message(parent, QMessageBox.Icon.Warning, question, why)
        button = box.addButton(yes, QMessageBox.ButtonRole.AcceptRole)
        stay = box.addButton(QMessageBox.StandardButton.Cancel)
        box.setDefaultButton(stay)
        box.setEscapeButton(stay)
        button.clicked.connect(lambda _checked: on_yes())
        if on_no is not None:
            stay.clicked.connect(lambda _checked: on_no())
        return box

    return make


def tell(
    headline: str,
    words: str,
    *,
    button: str = "",
    on_closed: Callable[[], None] | None = None,
    more: str = "",
    on_more: Callable[[], None] | None = None,
    is_fatal: bool = False,
) -> Callable[[QWidget | None], QMessageBox]:
    """Tell something. `button` closes (OK where it has no name); `more` does something beside it
    and closes as well."""

    def make(parent: QWidget | None) -> QMessageBox:
        picture = QMessageBox.Icon.Critical if is_fatal else QMessageBox.Icon.Information
        box = _message(parent, picture, headline, words)
        if button:
            close = box.addButton(button, QMessageBox.ButtonRole.RejectRole)
        else:
            close = box.addButton(QMessageBox.StandardButton.Ok)
        box.setDefaultButton(close)
        box.setEscapeButton(close)
        if more and on_more is not None:
            box.addButton(more, QMessageBox.ButtonRole.ActionRole).clicked.connect(
                lambda _checked: on_more()
            )
        if on_closed is not None:
            box.finished.connect(lambda _: on_closed())
        return box

    return make


class PortDialog(QDialog):
    """The port is taken: another one, or the same again once it is free.

    `on_port` gets the choice, `on_quit` is called where there is none.
    """

    def __init__(
        self,
        parent: QWidget | None,
        url: str,
        free_port: int,
        on_port: Callable[[int], None],
        on_quit: Callable[[], None],
    ) -> None:
        super().__init__(parent)
        _prepare(self, self.tr("Port taken"))
        taken = int(url.rsplit(":", 1)[-1])
        self._taken = taken
        headline = _headline(self.tr("Another program is using port {port}").format(port=taken))
        words = _words(
            self.tr(
                "Ondol listens on {url} for chat clients. Choose another port here and in your"
                " clients, or quit the other program and try this one again."
            ).format(url=url)
        )
        self.port = QSpinBox()
        self.port.setRange(1, MAX_PORT)
        self.port.setGroupSeparatorShown(False)
        self.port.setValue(free_port or taken)
        self.port.setAccessibleName(self.tr("Port"))
        self.port.selectAll()
        form = QFormLayout()
        form.addRow(self.tr("Port:"), self.port)
        buttons = QDialogButtonBox()
        self.use = buttons.addButton("", QDialogButtonBox.ButtonRole.AcceptRole)
        buttons.addButton(self.tr("Quit Ondol"), QDialogButtonBox.ButtonRole.RejectRole)
        buttons.accepted.connect(self.accept)
        buttons.rejected.connect(self.reject)
        self.port.valueChanged.connect(self._name_button)
        self._name_button()
        _stack(self, buttons, headline, words, form)
        self.accepted.connect(lambda: on_port(self.port.value()))
        self.rejected.connect(on_quit)

    def _name_button(self) -> None:
        again = self.port.value() == self._taken
        self.use.setText(self.tr("Try Again") if again else self.tr("Use This Port"))


class NameDialog(QDialog):
    """A name for the prefix that is made of the last request. It stays open until that has worked,
    and says why it has not."""

    def __init__(
        self,
        parent: QWidget | None,
        name: str,
        keep: Callable[[str], Future[Any]],
        on_kept: Callable[[str], None],
    ) -> None:
        """`keep` begins to make it; `on_kept` gets the name when it is there."""
        super().__init__(parent)
        _prepare(self, self.tr("Pin the last request"))
        self._keep = keep
        self._on_kept = on_kept
        headline = _headline(self.tr("Keep the last request warm"))
        words = _words(
            self.tr(
                "The next chat that begins like it starts without computing that beginning again."
                " You find it under Prefixes."
            )
        )
        self.name = QLineEdit(name)
        self.name.selectAll()
        self.name.textChanged.connect(self._look)
        self.error = _words("")
        self.error.setProperty("role", "bad")
        self.error.hide()
        form = QFormLayout()
        form.addRow(self.tr("Name:"), self.name)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel)
        self.pin = buttons.addButton(self.tr("Pin"), QDialogButtonBox.ButtonRole.AcceptRole)
        buttons.accepted.connect(self._try)
        buttons.rejected.connect(self.reject)
        _stack(self, buttons, headline, words, form, self.error)

    def _look(self) -> None:
        self.error.hide()
        self.pin.setEnabled(bool(self.name.text().strip()))

    def _try(self) -> None:
        self.pin.setEnabled(False)
        follow(self._keep(self.name.text().strip()), self, self._kept, self._failed)

    def _kept(self, _result: object) -> None:
        self._on_kept(self.name.text().strip())
        self.accept()

    def _failed(self, error: Exception) -> None:
        self.pin.setEnabled(True)
        self.error.setText(trouble.words(error))
        self.error.show()
        self.name.setFocus()
        self.name.selectAll()


def _message(
    parent: QWidget | None, picture: QMessageBox.Icon, headline: str, words: str
) -> QMessageBox:
    box = QMessageBox(parent)
    box.setWindowTitle("Ondol")
    box.setTextFormat(Qt.TextFormat.PlainText)
    box.setText(headline)
    box.setInformativeText(words)
    box.setIcon(picture)
    if sys.platform != "darwin":  # there the system draws it
        _draw_as_ours(box, picture)
    return box


def _draw_as_ours(box: QMessageBox, picture: QMessageBox.Icon) -> None:
    name, token = _PICTURES[picture]
    size = QSize(_PICTURE_SIZE, _PICTURE_SIZE)
    box.setIconPixmap(icon(name, token).pixmap(size, box.devicePixelRatioF()))
    box.setStyleSheet(
        "QLabel#qt_msgbox_label { font-weight: 600; }"
        f"QLabel#qt_msgbox_informativelabel {{ min-width: {_MESSAGE_WIDTH}px; }}"
    )
    layout = box.layout()
    if layout is not None:
        layout.setContentsMargins(2 * SPACE, 3 * SPACE, 3 * SPACE, 2 * SPACE)


def _prepare(dialog: QDialog, title: str) -> None:
    dialog.setWindowTitle(title)


def _headline(words: str) -> QLabel:
    label = QLabel(words)
    label.setWordWrap(True)
    label.setFont(strong_font(label.font()))
    label.setFixedWidth(_WIDTH)
    return label


def _words(words: str) -> QLabel:
    label = QLabel(words)
    label.setWordWrap(True)
    label.setTextFormat(Qt.TextFormat.PlainText)
    label.setFixedWidth(_WIDTH)  # so that its height is known, and the dialog grows with it
    return label


def _stack(dialog: QDialog, buttons: QDialogButtonBox, *parts: QWidget | QFormLayout) -> None:
    layout = QVBoxLayout(dialog)
    layout.setContentsMargins(3 * SPACE, 3 * SPACE, 3 * SPACE, 2 * SPACE)
    layout.setSpacing(SPACE + SPACE // 2)
    layout.setSizeConstraint(QVBoxLayout.SizeConstraint.SetFixedSize)
    for part in parts:
        if isinstance(part, QWidget):
            layout.addWidget(part)
        else:
            layout.addLayout(part)
    layout.addSpacing(SPACE)
    layout.addWidget(buttons)
