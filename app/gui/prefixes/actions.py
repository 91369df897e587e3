"""What can be done with the selected prefixes, by button, menu and key."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QMenu, QToolButton, QWidget

from app.gui.icons import icon
from app.gui.prefixes import words
from app.gui.prefixes.rows import PrefixRow
from app.gui.theme import theme
from app.storage.content import TemplateKind
from engine.snapshot import PinState

_FOR_THE_PAGE = Qt.ShortcutContext.WindowShortcut  # wherever the focus is; not while hidden
_FOR_THE_LIST = Qt.ShortcutContext.WidgetShortcut
_Keys = QKeySequence | QKeySequence.StandardKey | str


class Actions(QObject):
    """The actions know when they make sense, and how they look; the page does them."""

    def __init__(self, page: QWidget, table: QWidget) -> None:
        super().__init__(page)
        self._page, self._table = page, table
        self._icon_names: dict[QAction, str] = {}
        self.new = {kind: self._new(kind) for kind in TemplateKind}
        self.from_file = self._make("file", self.tr("From File…"), QKeySequence.StandardKey.Open)
        self.edit = self._make("edit", self.tr("Edit…"), "Return", of_list=True)
        self.pin = self._make("pin", self.tr("Pin"), "Ctrl+P")
        self.unpin = self._make("unpin", self.tr("Unpin"), "Ctrl+Shift+P")
        self.together = self._make("policy", self.tr("Choose Policy…"))
        self.warm = self._make("warm", self.tr("Warm Now"), "Ctrl+R")
        self.cancel = self._make("cancel", self.tr("Cancel"), "Ctrl+.")
        self.versions = self._make("clock", self.tr("Versions…"))
        self.copy = self._make(
            "copy", self.tr("Copy Text"), QKeySequence.StandardKey.Copy, of_list=True
        )
        self.delete = self._make(
            "delete", self.tr("Delete"), QKeySequence.StandardKey.Delete, of_list=True
        )
        self.delete.setShortcuts([QKeySequence("Del"), QKeySequence("Backspace")])
        self.edit.setShortcuts([QKeySequence("Return"), QKeySequence("Enter")])
        self.restore = self._make("undo", self.tr("Restore"))
        theme.changed.connect(self._tint)
        self._tint()
        self.see([])

    def see(self, rows: Sequence[PrefixRow]) -> None:
        """These are selected, all living or all deleted."""
        living = [row for row in rows if not row.deleted]
        all_pinned = bool(living) and all(row.pinned for row in living)
        under_way = any(row.under_way for row in living)
        cold = any(row.state in (PinState.ABSENT, PinState.FAILED) for row in living)
        one = len(rows) == 1
        tools = one and all_pinned and rows[0].kind is TemplateKind.TOOL_SCHEMA
        gone = bool(rows) and not living
        for action, visible, enabled in (
            (self.edit, not gone, one),
            (self.pin, not gone and not all_pinned, bool(living)),
            (self.unpin, all_pinned, True),
            (self.together, tools, True),
            (self.warm, not gone and not under_way, cold),
            (self.cancel, under_way, True),
            (self.delete, not gone, bool(living)),
            (self.restore, gone, True),
            (self.versions, True, one),
            (self.copy, True, one),
        ):
            action.setVisible(visible)
            action.setEnabled(enabled)

    def new_menu(self, parent: QWidget) -> QMenu:
        menu = QMenu(parent)
        menu.addActions(list(self.new.values()))
        menu.addSeparator()
        menu.addAction(self.from_file)
        return menu

    def context_menu(self, parent: QWidget) -> QMenu:
        menu = QMenu(parent)
        menu.addActions([self.edit, self.versions, self.copy])
        menu.addSeparator()
        menu.addActions([self.pin, self.unpin, self.together, self.warm, self.cancel])
        menu.addSeparator()
        menu.addActions([self.delete, self.restore])
        return menu

    def _new(self, kind: TemplateKind) -> QAction:
        keys: _Keys | None = None
        if kind is TemplateKind.SYSTEM_POLICY:
            keys = QKeySequence.StandardKey.New
        action = self._make(words.ICON_NAMES[kind], words.new(kind), keys)
        action.setData(kind)
        return action

    def _make(
        self, icon_name: str, name: str, keys: _Keys | None = None, *, of_list: bool = False
    ) -> QAction:
        action = QAction(name, self)
        self._icon_names[action] = icon_name
        if keys is not None:
            action.setShortcut(QKeySequence(keys))
            action.setShortcutContext(_FOR_THE_LIST if of_list else _FOR_THE_PAGE)
            native = action.shortcut().toString(QKeySequence.SequenceFormat.NativeText)
            action.setToolTip(f"{name.rstrip('…')} ({native})")
        (self._table if of_list else self._page).addAction(action)
        return action

    def _tint(self) -> None:
        for action, name in self._icon_names.items():
            action.setIcon(icon(name))


def tool_button(action: QAction) -> QToolButton:
    """Its icon alone; it goes where the action goes."""
    button = QToolButton()
    button.setDefaultAction(action)
    button.setAutoRaise(True)
    button.setAccessibleName(action.text())
    button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonIconOnly)
    button.setVisible(action.isVisible())
    action.visibleChanged.connect(lambda: button.setVisible(action.isVisible()))
    return button
