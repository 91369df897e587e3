"""What a person chose, and what the app remembers of its last run: one row a preference, as JSON.

Only what was changed is written, so a default may change for those who never chose.
"""

from __future__ import annotations

import enum
import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.settings import (
    DEFAULT_PORT,
    MAX_PORT,
    MIN_KV_BUDGET_BYTES,
    SettingsError,
    format_size,
)
from engine.config import AdmissionMode

if TYPE_CHECKING:
    from sqlite_utils import Database

logger = logging.getLogger(__name__)


class Appearance(enum.Enum):
    SYSTEM = "system"
    LIGHT = "light"
    DARK = "dark"


class Language(enum.Enum):
    SYSTEM = "system"
    ENGLISH = "en"
    KOREAN = "ko"


@dataclass(frozen=True, slots=True)
class Preferences:
    """The app's settings. Raises SettingsError.

    model_folder      None: the starter model
    port              TCP port; 0 takes any free one
    kv_budget_bytes   most bytes of KV; None: the engine chooses
    admission         what running requests may cost the warm prefixes
    max_running       most requests that run at once; None: the engine's own limit
    start_at_login    whether the system starts Ondol
    told_of_hiding    whether a person was told that Ondol goes on without its window
    last_run_clean    False while Ondol runs, so that a crash is noticed by the next run
    """

    model_folder: Path | None = None
    port: int = DEFAULT_PORT
    kv_budget_bytes: int | None = None
    admission: AdmissionMode = AdmissionMode.PROTECT_CACHE
    max_running: int | None = None
    appearance: Appearance = Appearance.SYSTEM
    language: Language = Language.SYSTEM
    start_at_login: bool = False
    told_of_hiding: bool = False
    last_run_clean: bool = True

    def __post_init__(self) -> None:
        if not 0 <= self.port <= MAX_PORT:
            raise SettingsError(f"The port must lie between 0 and {MAX_PORT}, not {self.port}.")
        if self.kv_budget_bytes is not None and self.kv_budget_bytes < MIN_KV_BUDGET_BYTES:
            raise SettingsError(
                f"A KV budget of {format_size(self.kv_budget_bytes)} is too small; the least is"
                f" {format_size(MIN_KV_BUDGET_BYTES)}."
            )
        if self.max_running is not None and self.max_running < 1:
            raise SettingsError(f"At least one request must run, not {self.max_running}.")


def load(db: Database) -> Preferences:
    """The stored preferences over the defaults. What cannot be used is left out, and logged."""
    preferences = Preferences()
    for row in db.query("SELECT name, value FROM preference"):
        decode = _DECODERS.get(row["name"])
        if decode is None:
            continue
        try:
            value = decode(json.loads(row["value"]))
            preferences = replace(preferences, **{row["name"]: value})
        except ValueError:
            logger.warning("the stored preference %s has no usable value", row["name"])
    return preferences


def update(db: Database, change: Callable[[Preferences], Preferences]) -> Preferences:
    """Store what `change` makes of the preferences; two changes at once never undo each other."""
    before = load(db)
    after = change(before)
    for field in fields(Preferences):
        value = getattr(after, field.name)
        if value != getattr(before, field.name):
            db.table("preference").upsert(
                {"name": field.name, "value": json.dumps(_encode(value))}, pk="name"
            )
    return after


def _encode(value: object) -> object:
    if isinstance(value, enum.Enum):
        return value.value
    return str(value) if isinstance(value, Path) else value


def _bool(value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError("no truth value")
    return value


def _int(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError("no integer")
    return value


def _path(value: object) -> Path:
    if not isinstance(value, str):
        raise ValueError("no path")
    return Path(value)


def _optional(decode: Callable[[object], object]) -> Callable[[object], object]:
    return lambda value: None if value is None else decode(value)


_DECODERS: Mapping[str, Callable[[object], Any]] = {
    "model_folder": _optional(_path),
    "port": _int,
    "kv_budget_bytes": _optional(_int),
    "admission": AdmissionMode,
    "max_running": _optional(_int),
    "appearance": Appearance,
    "language": Language,
    "start_at_login": _bool,
    "told_of_hiding": _bool,
    "last_run_clean": _bool,
}
