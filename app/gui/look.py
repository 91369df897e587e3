"""Light or dark: as a person chose, or as the system is, also when that changes."""

from __future__ import annotations

from PySide6.QtCore import QObject, Qt
from PySide6.QtWidgets import QApplication

from app.gui.theme import theme
from app.storage.settings_store import Appearance

_SCHEMES = {
    Appearance.SYSTEM: Qt.ColorScheme.Unknown,
    Appearance.LIGHT: Qt.ColorScheme.Light,
    Appearance.DARK: Qt.ColorScheme.Dark,
}
_MIDDLE = 128


class Look(QObject):
    """Keeps the theme in line with the appearance and the system."""

    def __init__(self, app: QApplication, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._app = app
        self._appearance = Appearance.SYSTEM
        # Some platforms do not name their scheme, but show it in the palette they begin with.
        self._began_dark = app.palette().window().color().lightness() < _MIDDLE
        app.styleHints().colorSchemeChanged.connect(self._apply)
        self._apply()

    def use(self, appearance: Appearance) -> None:
        self._appearance = appearance
        # Also for what Qt does not draw, such as a title bar. Unknown leaves it to the system.
        self._app.styleHints().setColorScheme(_SCHEMES[appearance])
        self._apply()

    def close(self) -> None:
        self._app.styleHints().colorSchemeChanged.disconnect(self._apply)

    def _apply(self) -> None:
        scheme = self._app.styleHints().colorScheme()
        is_dark = (
            self._began_dark if scheme is Qt.ColorScheme.Unknown else scheme is Qt.ColorScheme.Dark
        )
        theme.apply(self._app, self._appearance, system_is_dark=is_dark)
