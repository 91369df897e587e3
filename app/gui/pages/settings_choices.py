"""The preferences as the settings page works on them, and what waits for a restart."""

from __future__ import annotations

import enum
from collections.abc import Callable

from PySide6.QtCore import QObject, Signal

from app.desk import Desk
from app.gui import trouble
from app.gui.futures import follow
from app.storage.settings_store import Preferences
from engine.config import AdmissionMode


class Waiting(enum.Enum):
    """A choice that holds from the next start on."""

    PORT = enum.auto()
    MEMORY = enum.auto()
    TOGETHER = enum.auto()
    LANGUAGE = enum.auto()


class Choices(QObject):
    """`present` is what is stored; None until it was read.

    changed(Preferences)   read, or stored anew
    unreadable(str)        they cannot be read, and why
    """

    changed = Signal(object)
    unreadable = Signal(str)

    def __init__(self, desk: Desk, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._desk = desk
        self.present: Preferences | None = None
        self._in_force: Preferences | None = None

    def read(self) -> None:
        follow(
            self._desk.preferences(),
            self,
            self._know,
            lambda error: self.unreadable.emit(trouble.words(error)),
        )

    def store(
        self,
        change: Callable[[Preferences], Preferences],
        done: Callable[[], None],
        failed: Callable[[str], None],
    ) -> None:
        """Have the preferences changed; then `done`, or `failed` with the reason in words, once
        everything shows again what is stored."""

        def stored(preferences: Preferences) -> None:
            self._know(preferences)
            done()

        def refused(error: BaseException) -> None:
            if self.present is not None:
                self.changed.emit(self.present)
            failed(trouble.words(error))

        follow(self._desk.update_preferences(change), self, stored, refused)

    def waiting(self) -> frozenset[Waiting]:
        """What was chosen and does not hold yet."""
        now, then = self._in_force, self.present
        if now is None or then is None:
            return frozenset()
        differing = (
            (Waiting.PORT, now.port != then.port),
            (Waiting.MEMORY, now.kv_budget_bytes != then.kv_budget_bytes),
            (Waiting.TOGETHER, _together(now) != _together(then)),
            (Waiting.LANGUAGE, now.language is not then.language),
        )
        return frozenset(what for what, differs in differing if differs)

    def take_force(self) -> None:
        """From now on everything chosen holds: Ondol starts again."""
        self._in_force = self.present
        if self.present is not None:
            self.changed.emit(self.present)

    def _know(self, preferences: Preferences) -> None:
        self.present = preferences
        if self._in_force is None:
            self._in_force = preferences
        self.changed.emit(preferences)


def _together(preferences: Preferences) -> tuple[AdmissionMode, int | None]:
    return preferences.admission, preferences.max_running
