"""An icon that nobody sees: it notes what it is told, and a test uses it as a person would."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from app.gui.tray.menu import Item, MenuItem
from app.gui.tray.status import TrayState
from app.gui.tray.tray import TrayListener


@dataclass
class FakeTray:
    """Satisfies Tray. `states`, `items` and `messages` are in the order in which they came."""

    visible: bool = True
    states: list[TrayState] = field(default_factory=list)
    tooltips: list[str] = field(default_factory=list)
    items: list[tuple[MenuItem, ...]] = field(default_factory=list)
    messages: list[tuple[str, str]] = field(default_factory=list)
    listener: TrayListener | None = None
    closed: bool = False

    def attach(self, listener: TrayListener) -> None:
        self.listener = listener

    def set_state(self, state: TrayState, tooltip: str) -> None:
        self.states.append(state)
        self.tooltips.append(tooltip)

    def set_items(self, items: Sequence[MenuItem]) -> None:
        self.items.append(tuple(items))

    def notify(self, title: str, message: str) -> None:
        self.messages.append((title, message))

    def is_visible(self) -> bool:
        return self.visible

    def close(self) -> None:
        self.closed = True

    def choose(self, item: Item) -> None:
        assert self.listener is not None
        self.listener.chosen(item)

    def line(self, item: Item) -> MenuItem:
        """A line of the menu as it is now."""
        (line,) = (line for line in self.items[-1] if line.item is item)
        return line
