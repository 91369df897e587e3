"""What the engine is told: the command line counts more than what was chosen in the window."""

from __future__ import annotations

from app.settings import Settings
from app.storage.settings_store import Preferences
from engine.config import EngineConfig


def engine_config(given: Settings, chosen: Preferences) -> EngineConfig:
    """The engine's settings; where nobody chose, its own defaults."""
    kv_budget, max_running = given.kv_budget_bytes, given.max_running
    return EngineConfig(
        kv_budget_bytes=chosen.kv_budget_bytes if kv_budget is None else kv_budget,
        admission=given.admission or chosen.admission,
        max_running=max_running or chosen.max_running or EngineConfig().max_running,
    )
