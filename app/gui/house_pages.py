"""The window's pages in their order. Each is imported when it is first looked at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import QCoreApplication

from app.desk import Desk
from app.gui.clock import HouseClock
from app.gui.page import Page
from app.gui.window import SETTINGS_PAGE, PageSpec
from app.storage.settings_store import Appearance

translate = QCoreApplication.translate


@dataclass(frozen=True, slots=True)
class SettingsActions:
    """What the settings page asks of the application."""

    restart: Callable[[], None]
    apply_appearance: Callable[[Appearance], None]
    remove_everything: Callable[[], None]


def house_pages(actions: SettingsActions) -> tuple[PageSpec, ...]:
    def make_settings(desk: Desk, clock: HouseClock) -> Page:
        from app.gui.pages.settings import make_settings

        return make_settings(
            desk,
            clock,
            restart=actions.restart,
            apply_appearance=actions.apply_appearance,
            remove_everything=actions.remove_everything,
        )

    return (
        PageSpec("dashboard", translate("pages", "Dashboard"), _make_dashboard),
        PageSpec("prefixes", translate("pages", "Prefixes"), _make_prefixes),
        PageSpec("requests", translate("pages", "Requests"), _make_requests),
        PageSpec("connect", translate("pages", "Connect"), _make_connect),
        PageSpec(SETTINGS_PAGE, translate("pages", "Settings"), make_settings),
    )


def _make_dashboard(desk: Desk, clock: HouseClock) -> Page:
    from app.gui.pages.dashboard import make_dashboard

    return make_dashboard(desk, clock)


def _make_prefixes(desk: Desk, clock: HouseClock) -> Page:
    from app.gui.pages.prefixes import make_prefixes

    return make_prefixes(desk, clock)


def _make_requests(desk: Desk, clock: HouseClock) -> Page:
    from app.gui.pages.requests import make_requests

    return make_requests(desk, clock)


def _make_connect(desk: Desk, clock: HouseClock) -> Page:
    from app.gui.pages.connect import make_connect

    return make_connect(desk, clock)
