"""What the engine is told, from the command line and the window."""

from __future__ import annotations

from app.engine_config import engine_config
from app.settings import Settings
from app.storage.settings_store import Preferences
from engine.config import AdmissionMode, EngineConfig


def test_without_a_choice_the_engine_has_its_own_defaults() -> None:
    assert engine_config(Settings(), Preferences()) == EngineConfig()


def test_what_was_chosen_in_the_window_counts_and_the_command_line_counts_more() -> None:
    chosen = Preferences(kv_budget_bytes=2**30, admission=AdmissionMode.BALANCED, max_running=4)
    config = engine_config(Settings(), chosen)
    assert (config.kv_budget_bytes, config.admission, config.max_running) == (
        2**30,
        AdmissionMode.BALANCED,
        4,
    )
    given = Settings(kv_budget_bytes=2**29, admission=AdmissionMode.PROTECT_CACHE, max_running=2)
    config = engine_config(given, chosen)
    assert (config.kv_budget_bytes, config.admission, config.max_running) == (
        2**29,
        AdmissionMode.PROTECT_CACHE,
        2,
    )
