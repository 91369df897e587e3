"""Settings that cannot work are refused with the setting's name and what would do."""

from __future__ import annotations

import dataclasses

import pytest

from engine.config import EngineConfig
from engine.errors import ConfigError, EngineError


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("kv_budget_bytes", 0, "kv_budget_bytes must be positive, not 0"),
        ("kv_budget_bytes", -5, "kv_budget_bytes must be positive, not -5"),
        ("page_tokens", 0, "page_tokens must be at least 1, not 0"),
        ("match_unit", 0, r"match_unit must divide page_tokens \(16\), which 0 does not"),
        ("match_unit", 3, r"match_unit must divide page_tokens \(16\), which 3 does not"),
        ("match_unit", 32, r"match_unit must divide page_tokens \(16\), which 32 does not"),
        ("max_client_share", 0.0, "max_client_share must lie above 0 and not above 1, not 0.0"),
        ("max_client_share", 1.1, "max_client_share must lie above 0 and not above 1, not 1.1"),
        ("max_running", 0, "max_running must be at least 1, not 0"),
        ("max_queue", -1, "max_queue must not be negative, not -1"),
        ("prefill_chunk", 0, "prefill_chunk must be at least 1, not 0"),
        ("max_pin_share", -0.1, "max_pin_share must lie between 0 and 1, not -0.1"),
        ("max_pin_share", 1.1, "max_pin_share must lie between 0 and 1, not 1.1"),
        ("hang_limit_s", 0.0, "hang_limit_s must be positive"),
        ("restart_delay_s", -1.0, "restart_delay_s not negative"),
        ("step_target_s", 0.0, "step_target_s must be positive, not 0.0"),
    ],
)
def test_a_setting_that_cannot_work_is_refused(field: str, value: float, message: str) -> None:
    with pytest.raises(ConfigError, match=message) as refused:
        EngineConfig(**{field: value})  # type: ignore[arg-type]
    assert isinstance(refused.value, EngineError)
    assert isinstance(refused.value, ValueError)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("kv_budget_bytes", 1),
        ("page_tokens", 1),
        ("match_unit", 16),
        ("match_unit", 8),
        ("max_client_share", 1.0),
        ("max_running", 1),
        ("max_queue", 0),
        ("prefill_chunk", 1),
        ("max_pin_share", 0.0),
        ("max_pin_share", 1.0),
        ("restart_delay_s", 0.0),
    ],
)
def test_the_edges_are_allowed(field: str, value: float) -> None:
    assert getattr(EngineConfig(**{field: value}), field) == value  # type: ignore[arg-type]


def test_settings_never_change() -> None:
    config = EngineConfig()
    with pytest.raises(dataclasses.FrozenInstanceError):
        config.page_tokens = 32  # type: ignore[misc]
    assert (config.page_tokens, config.match_unit, config.max_running) == (16, 1, 16)
    assert (config.max_queue, config.max_pin_share) == (256, 0.5)
