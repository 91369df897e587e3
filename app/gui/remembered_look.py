"""The look of the last run, so that the first frame need not wait for the database."""

from __future__ import annotations

import json
import logging
from pathlib import Path

from app.storage.settings_store import Appearance, Language, Preferences

logger = logging.getLogger(__name__)

FILE_NAME = "look.json"


def recall(data_folder: Path) -> Preferences:
    """Appearance and language as they were; the defaults where that is not known."""
    try:
        look = json.loads((data_folder / FILE_NAME).read_text(encoding="utf-8"))
        return Preferences(
            appearance=Appearance(look["appearance"]), language=Language(look["language"])
        )
    except FileNotFoundError:
        return Preferences()
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        logger.warning("the last look could not be read")
        return Preferences()


def remember(data_folder: Path, preferences: Preferences) -> None:
    """A few bytes; nothing is written that is there already."""
    if recall(data_folder) == _look_of(preferences):
        return
    look = {
        "appearance": preferences.appearance.value,
        "language": preferences.language.value,
    }
    try:
        (data_folder / FILE_NAME).write_text(json.dumps(look), encoding="utf-8")
    except OSError:
        logger.warning("the look could not be kept for the next start")


def _look_of(preferences: Preferences) -> Preferences:
    return Preferences(appearance=preferences.appearance, language=preferences.language)
