from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from sqlite_utils import Database

from app.settings import DEFAULT_PORT, SettingsError
from app.storage import settings_store
from app.storage.settings_store import Appearance, Language, Preferences
from engine.config import AdmissionMode

CHOSEN = Preferences(
    model_folder=Path("/models/온돌"),
    port=9000,
    kv_budget_bytes=2**33,
    admission=AdmissionMode.AUTO,
    max_running=8,
    appearance=Appearance.DARK,
    language=Language.KOREAN,
    start_at_login=True,
    told_of_hiding=True,
    last_run_clean=False,
)


def stored(db: Database) -> dict[str, str]:
    return {row["name"]: row["value"] for row in db.table("preference").rows}


def test_the_defaults(db: Database) -> None:
    assert settings_store.load(db) == Preferences()
    assert Preferences().port == DEFAULT_PORT == 8642
    assert Preferences().last_run_clean
    assert stored(db) == {}


def test_every_preference_comes_back(db: Database) -> None:
    defaults = Preferences()
    assert all(getattr(CHOSEN, f.name) != getattr(defaults, f.name) for f in fields(Preferences))
    assert settings_store.update(db, lambda now: CHOSEN) == CHOSEN
    assert settings_store.load(db) == CHOSEN
    assert stored(db)["model_folder"] == '"/models/\\uc628\\ub3cc"'
    assert settings_store.update(db, lambda now: defaults) == defaults
    assert settings_store.load(db) == defaults


def test_only_what_changes_is_written(db: Database) -> None:
    settings_store.update(db, lambda now: replace(now, port=9000))
    settings_store.update(db, lambda now: replace(now, appearance=Appearance.LIGHT))
    assert stored(db) == {"port": "9000", "appearance": '"light"'}
    assert settings_store.load(db) == Preferences(port=9000, appearance=Appearance.LIGHT)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"port": -1}, "between 0 and 65535, not -1"),
        ({"port": 65_536}, "between 0 and 65535"),
        ({"max_running": 0}, "At least one request must run, not 0"),
        ({"kv_budget_bytes": 1000}, r"1000 bytes is too small; the least is 1\.0 MiB"),
    ],
)
def test_values_that_cannot_work(db: Database, change: dict[str, Any], complaint: str) -> None:
    with pytest.raises(SettingsError, match=complaint):
        settings_store.update(db, lambda now: replace(now, **change))
    assert settings_store.load(db) == Preferences()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("port", '"9000"'),
        ("port", "true"),
        ("port", "70000"),
        ("port", "null"),
        ("kv_budget_bytes", "1.5"),
        ("kv_budget_bytes", "1"),
        ("admission", '"all"'),
        ("admission", "null"),
        ("max_running", "0"),
        ("max_running", "true"),
        ("model_folder", "[]"),
        ("appearance", '"pink"'),
        ("appearance", "[]"),
        ("language", "1"),
        ("start_at_login", "1"),
    ],
)
def test_a_stored_value_that_cannot_be_used_harms_no_other(
    db: Database, caplog: pytest.LogCaptureFixture, name: str, value: str
) -> None:
    db.table("preference").insert_all(
        [
            {"name": name, "value": value},
            {"name": "told_of_hiding", "value": "true"},
            {"name": "of_another_day", "value": "7"},
        ]
    )
    assert settings_store.load(db) == Preferences(told_of_hiding=True)
    assert caplog.messages == [f"the stored preference {name} has no usable value"]
