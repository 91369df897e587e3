"""The icon in the menu bar as the rest of the app sees it: four things to say, three to hear."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from app.gui.tray.menu import Item, MenuItem
from app.gui.tray.status import TrayState


class TrayListener(Protocol):
    """Who is told what a person does with the icon."""

    def menu_opens(self) -> None:
        """The menu is about to be seen; its items may be set once more."""

    def chosen(self, item: Item) -> None: ...

    def clicked(self) -> None:
        """The icon itself or its message, where a click does not open the menu."""


class Tray(Protocol):
    """One icon. All methods are quick; none raises."""

    def attach(self, listener: TrayListener) -> None: ...

    def set_state(self, state: TrayState, tooltip: str) -> None: ...

    def set_items(self, items: Sequence[MenuItem]) -> None:
        """Change lines in place; those that are not named stay as they are."""

    def notify(self, title: str, message: str) -> None:
        """A passing message beside the icon. Where there is no icon, nothing."""

    def is_visible(self) -> bool:
        """Whether a person can see the icon, so that the window may be closed."""

    def close(self) -> None:
        """Take the icon away."""
