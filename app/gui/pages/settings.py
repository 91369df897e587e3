"""What a person can set, and the way out of trouble."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.desk import Desk
from app.gui.clock import HouseClock
from app.gui.page import MARGINS, Page
from app.gui.page_scroll import PageScroll
from app.gui.pages.settings_choices import Choices
from app.gui.pages.settings_files import FilesSection, RemoveSection
from app.gui.pages.settings_look import LookSection
from app.gui.pages.settings_memory import MemorySection
from app.gui.pages.settings_model import ModelSection
from app.gui.pages.settings_restart import RestartBar
from app.gui.pages.settings_server import ServerSection
from app.gui.prefixes.field_note import FieldNote
from app.gui.theme import SPACE
from app.storage.settings_store import Appearance

_MOST_WIDTH = 760  # pixels; wider, names and their controls would lose each other


def make_settings(
    desk: Desk,
    clock: HouseClock,
    *,
    restart: Callable[[], None],
    apply_appearance: Callable[[Appearance], None],
    remove_everything: Callable[[], None],
) -> Page:
    """`restart` lets what was chosen hold; `remove_everything` stops Ondol, removes what
    `app.remove` plans, and quits."""
    return SettingsPage(
        desk,
        clock,
        restart=restart,
        apply_appearance=apply_appearance,
        remove_everything=remove_everything,
    )


class SettingsPage(Page):
    """Every choice is stored at once; there is no Save."""

    icon_name = "settings"

    def __init__(
        self,
        desk: Desk,
        clock: HouseClock,
        *,
        restart: Callable[[], None],
        apply_appearance: Callable[[Appearance], None],
        remove_everything: Callable[[], None],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(desk, clock, parent)
        self._restart = restart
        self._model_shown: object = None
        self._given_shown = desk.given
        self.choices = Choices(desk, self)
        self._above = QWidget()
        self._above.hide()
        self.trouble = FieldNote("warning")
        self.restart_bar = RestartBar(self._on_restart)
        self.model = ModelSection(desk, self.choices)
        self.memory = MemorySection(desk, self.choices)
        self.server = ServerSection(desk, self.choices)
        self.look = LookSection(self.choices, apply_appearance)
        self.files = FilesSection(desk)
        self.removal = RemoveSection(desk, remove_everything)
        self._lay_out()
        self.choices.changed.connect(self._on_choices)
        self.choices.unreadable.connect(self._on_unreadable)
        clock.snapshotChanged.connect(self._on_snapshot)
        self.choices.read()

    def title(self) -> str:
        return self.tr("Settings")

    def entered(self) -> None:
        """Read again what others may have changed meanwhile."""
        self.server.ask_login()
        self.memory.ask_limits()
        self._on_snapshot()

    def _on_choices(self) -> None:
        self.trouble.say("")
        self._show_waiting()

    def _on_unreadable(self, reason: str) -> None:
        self.trouble.say(self.tr("The settings cannot be read: {reason}").format(reason=reason))
        self._make_room_above()

    def _on_snapshot(self) -> None:
        if not self.isVisible():
            return
        self.model.refresh()
        self.server.refresh()
        if self.desk.given != self._given_shown:
            self._given_shown = self.desk.given
            self.memory.refresh_given()
        self._show_waiting()
        if self.desk.model is not self._model_shown:
            self._model_shown = self.desk.model
            self.memory.ask_limits()
            self.memory.refresh()

    def _show_waiting(self) -> None:
        self.restart_bar.show_waiting(self.choices.waiting(), self.desk.snapshot.num_running)
        self._make_room_above()

    def _make_room_above(self) -> None:
        self._above.setHidden(self.trouble.isHidden() and self.restart_bar.isHidden())

    def _on_restart(self) -> None:
        self.choices.take_force()
        self._restart()

    def _lay_out(self) -> None:
        rows = QWidget()
        rows.setMaximumWidth(_MOST_WIDTH)
        column = QVBoxLayout(rows)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(3 * SPACE)
        column.addWidget(self.model)
        column.addWidget(self.memory)
        column.addWidget(self.server)
        column.addWidget(self.look)
        column.addWidget(self.files)
        column.addWidget(self.removal)
        column.addStretch(1)
        scroll = PageScroll()
        scroll.column.addWidget(rows)
        left, top, right, _ = MARGINS
        above = QVBoxLayout(self._above)
        above.setContentsMargins(left, top, right, SPACE)
        above.setSpacing(SPACE)
        above.addWidget(self.trouble)
        above.addWidget(self.restart_bar)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self._above)
        layout.addWidget(scroll, 1)
