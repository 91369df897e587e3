"""The engine's state for people: a shape, a few words, and what can be done about it."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from PySide6.QtCore import QCoreApplication

from app.gui import text
from app.gui.tray.status import num_live, num_running, num_waiting, warming
from engine.snapshot import EngineState, Snapshot

translate = QCoreApplication.translate


class Shape(enum.Enum):
    """Tells states apart without a colour."""

    RING = "ring"
    DISC = "disc"
    PLAY = "play"
    BARS = "bars"
    FLAME = "flame"
    ARC = "arc"
    TRIANGLE = "triangle"
    OCTAGON = "octagon"


@dataclass(frozen=True, slots=True)
class Status:
    """`advice` says what can be done, where something can or must be; `token` is a theme colour."""

    shape: Shape
    token: str
    words: str
    advice: str = ""

    @property
    def is_trouble(self) -> bool:
        return bool(self.advice)


def describe(snapshot: Snapshot) -> Status:
    """What a person should know of the engine now."""
    match snapshot.state:
        case EngineState.STOPPED:
            return Status(Shape.RING, "secondary", translate("status", "Stopped"))
        case EngineState.STOPPING:
            return Status(Shape.RING, "secondary", translate("status", "Stopping…"))
        case EngineState.LOADING:
            return Status(Shape.ARC, "secondary", translate("status", "Loading the model…"))
        case EngineState.RESTARTING:
            return Status(
                Shape.ARC,
                "warning",
                translate("status", "Restarting…"),
                translate(
                    "status", "Requests that were running got an error. Pinned prefixes come back."
                ),
            )
        case EngineState.HUNG:
            return Status(
                Shape.TRIANGLE,
                "warning",
                translate("status", "Not responding"),
                translate(
                    "status",
                    "Running requests were ended. If this lasts, quit Ondol and start it again.",
                ),
            )
        case EngineState.FAILED:
            return Status(
                Shape.OCTAGON,
                "bad",
                translate("status", "No model is running"),
                translate("status", "Choose another model in Settings."),
            )
        case EngineState.READY | EngineState.BUSY:
            return _serving(snapshot)


def _serving(snapshot: Snapshot) -> Status:
    live, warm = num_live(snapshot), warming(snapshot)
    if snapshot.paused:
        return Status(Shape.BARS, "text", _paused(snapshot))
    if live == 1:
        return Status(Shape.PLAY, "accent", translate("status", "Busy with one request"))
    if live:
        words = translate("status", "Busy with {number} requests")
        return Status(Shape.PLAY, "accent", words.format(number=text.count(live)))
    if warm.num_prefixes:
        share = warm.done_tokens / warm.num_tokens if warm.num_tokens else 0.0
        words = translate("status", "Warming, {share}")
        return Status(Shape.FLAME, "accent", words.format(share=text.percent(share)))
    return Status(Shape.DISC, "good", translate("status", "Ready"))


def _paused(snapshot: Snapshot) -> str:
    running, waiting = num_running(snapshot), num_waiting(snapshot)
    if running:
        words = translate("status", "Pausing, {number} still running")
        return words.format(number=text.count(running))
    if waiting:
        words = translate("status", "Paused, {number} waiting")
        return words.format(number=text.count(waiting))
    return translate("status", "Paused")
