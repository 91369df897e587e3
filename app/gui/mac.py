"""What macOS wants and Qt has no word for. Elsewhere, or without pyobjc, nothing happens."""

from __future__ import annotations

import importlib
import platform
from typing import Any

_IS_MAC = platform.system() == "Darwin"

_REGULAR, _ACCESSORY = 0, 1  # NSApplicationActivationPolicy
_USER_INITIATED_ALLOWING_SLEEP = 0x00FFFFFF & ~(1 << 20)  # NSActivityOptions


def _framework(name: str) -> Any:
    """An Objective-C framework, or None."""
    if not _IS_MAC:
        return None
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def show_in_dock(visible: bool) -> None:
    """With a window Ondol is an app among others, with a menu and Cmd-Tab; without, it is only in
    the menu bar."""
    appkit = _framework("AppKit")
    if appkit is None:
        return
    app = appkit.NSApplication.sharedApplication()
    app.setActivationPolicy_(_REGULAR if visible else _ACCESSORY)
    if visible:
        app.activateIgnoringOtherApps_(True)


class Wakefulness:
    """Keeps App Nap away while requests run; the machine may still go to sleep."""

    def __init__(self) -> None:
        self._activity: Any = None

    def keep(self, busy: bool) -> None:
        foundation = _framework("Foundation")
        if foundation is None or busy == (self._activity is not None):
            return
        process = foundation.NSProcessInfo.processInfo()
        if busy:
            self._activity = process.beginActivityWithOptions_reason_(
                _USER_INITIATED_ALLOWING_SLEEP, "Ondol answers requests"
            )
        else:
            process.endActivity_(self._activity)
            self._activity = None
