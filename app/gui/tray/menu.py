"""What the menu says: a list of plain items, made anew from the figures whenever they change."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from PySide6.QtCore import QCoreApplication

from app.gui import text
from app.gui.tray.status import Today, TrayState, num_running, num_waiting, warming
from engine.snapshot import EngineState, Snapshot


class Item(enum.Enum):
    """The lines of the menu, from top to bottom. They are always the same ones; what has nothing
    to say is invisible."""

    STATUS = "status"
    PREFILL = "prefill"
    WARMING = "warming"
    TODAY = "today"
    COPY_URL = "copy url"
    PIN_LAST = "pin last"
    OPEN = "open"
    PAUSE = "pause"
    QUIT = "quit"


translate = QCoreApplication.translate

GROUPS = (
    (Item.STATUS, Item.PREFILL, Item.WARMING, Item.TODAY),
    (Item.COPY_URL, Item.PIN_LAST),
    (Item.OPEN, Item.PAUSE),
    (Item.QUIT,),
)


@dataclass(frozen=True, slots=True)
class MenuItem:
    """One line. An item that is not enabled only informs."""

    item: Item
    text: str
    enabled: bool = True
    visible: bool = True


def menu_items(snapshot: Snapshot, today: Today, *, can_pin: bool) -> tuple[MenuItem, ...]:
    """All lines in their order. `can_pin`: a chat has arrived that could be pinned."""
    prefill, heating = prefill_text(snapshot), warming_text(snapshot)
    pause = translate("tray", "Resume") if snapshot.paused else translate("tray", "Pause")
    return (
        MenuItem(Item.STATUS, status_text(snapshot), enabled=False),
        MenuItem(Item.PREFILL, prefill, enabled=False, visible=bool(prefill)),
        MenuItem(Item.WARMING, heating, enabled=False, visible=bool(heating)),
        MenuItem(Item.TODAY, today_text(today), enabled=False),
        MenuItem(Item.COPY_URL, translate("tray", "Copy Base URL")),
        MenuItem(Item.PIN_LAST, translate("tray", "Pin the Last Request…"), enabled=can_pin),
        MenuItem(Item.OPEN, translate("tray", "Open Ondol")),
        MenuItem(Item.PAUSE, pause),
        MenuItem(Item.QUIT, translate("tray", "Quit Ondol")),
    )


def status_text(snapshot: Snapshot) -> str:
    """The model and what it is doing, such as "SmolLM2-135M-Instruct: 2 requests running"."""
    doing = _doing(snapshot)
    model = snapshot.model_id.rsplit("/", 1)[-1]
    return (
        translate("tray", "{model}: {doing}").format(model=model, doing=doing) if model else doing
    )


def prefill_text(snapshot: Snapshot) -> str:
    """How far the longest prompt is; empty where none is being read."""
    if not snapshot.prefill_tokens:
        return ""
    return translate("tray", "Reading a prompt: {done} of {total} tokens").format(
        done=text.count(snapshot.prefill_done), total=text.count(snapshot.prefill_tokens)
    )


def warming_text(snapshot: Snapshot) -> str:
    """How far the prefixes that are being warmed are; empty where none is."""
    heating = warming(snapshot)
    if not heating.num_prefixes:
        return ""
    share = heating.done_tokens / heating.num_tokens if heating.num_tokens else 0.0
    if heating.num_prefixes == 1:
        return translate("tray", "Warming a prefix: {share}").format(share=text.percent(share))
    return translate("tray", "Warming {count} prefixes: {share}").format(
        count=text.count(heating.num_prefixes), share=text.percent(share)
    )


def today_text(today: Today) -> str:
    if not today.hits:
        return translate("tray", "Today: nothing reused yet")
    return translate("tray", "Today: {tokens} tokens reused, cache hits: {hits}").format(
        tokens=text.count(today.reused_tokens), hits=text.count(today.hits)
    )


def tooltip(snapshot: Snapshot, state: TrayState) -> str:
    """What hovering over the icon says; also its name for screen readers."""
    names = {
        TrayState.IDLE: translate("tray", "Ondol is ready"),
        TrayState.WORKING: translate("tray", "Ondol is working"),
        TrayState.WARMING: translate("tray", "Ondol is warming up"),
        TrayState.PAUSED: translate("tray", "Ondol is paused"),
        TrayState.ERROR: translate("tray", "Ondol needs attention"),
    }
    return f"{names[state]}\n{status_text(snapshot)}"


def _doing(snapshot: Snapshot) -> str:
    match snapshot.state:
        case EngineState.READY | EngineState.BUSY:
            return _serving(snapshot)
        case EngineState.LOADING:
            return translate("tray", "loading")
        case EngineState.HUNG:
            return translate("tray", "not answering")
        case EngineState.RESTARTING:
            return translate("tray", "restarting after an error")
        case EngineState.FAILED:
            return translate("tray", "cannot be used")
        case EngineState.STOPPED | EngineState.STOPPING:
            return translate("tray", "stopped")


def _serving(snapshot: Snapshot) -> str:
    running, waiting = num_running(snapshot), num_waiting(snapshot)
    if snapshot.paused:
        if waiting:
            return translate("tray", "paused, {count} waiting").format(count=text.count(waiting))
        return translate("tray", "paused")
    if running and waiting:
        return translate("tray", "{running} running, {waiting} waiting").format(
            running=text.count(running), waiting=text.count(waiting)
        )
    if running + waiting == 1:
        return translate("tray", "1 request running")
    if running or waiting:
        return translate("tray", "{count} requests running").format(
            count=text.count(running + waiting)
        )
    return translate("tray", "ready")
