"""What of the engine's life a person should be told, once each."""

from __future__ import annotations

import enum

from engine.snapshot import EngineState, Snapshot

_STOPPED_WORKING = (EngineState.RESTARTING, EngineState.HUNG)
_SERVES = (EngineState.READY, EngineState.BUSY)


class News(enum.Enum):
    STOPPED_WORKING = "stopped working"  # requests got an error; it restarts, or is given up
    CANNOT_SERVE = "cannot serve"  # it waits for a person
    BACK = "back"


class EngineWatch:
    """Fed with every snapshot; says what is new about it."""

    def __init__(self) -> None:
        self._told: News | None = None

    def look(self, snapshot: Snapshot) -> News | None:
        news = None
        if snapshot.state in _STOPPED_WORKING:
            news = News.STOPPED_WORKING
        elif snapshot.state is EngineState.FAILED:
            news = News.CANNOT_SERVE
        elif snapshot.state in _SERVES and self._told is not None:
            self._told = None
            return News.BACK
        if news is None or news is self._told:
            return None
        self._told = news
        return news
