"""What the desk does for the settings: login item, limits, diagnostics, the plan of a removal."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import pytest

from app.budget import kv_limits
from app.desk import Desk
from app.engine_door import EngineDoor
from app.instance import Instance
from app.last_chat import LastChat
from app.paths import find_paths
from app.remove import Kind, NotOndols
from app.storage.store import Store
from engine.config import GIB
from engine.model import device

T = TypeVar("T")

WAIT_S = 20.0


def answer(future: Future[T]) -> T:
    return future.result(WAIT_S)


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    """Over a real store, with nobody behind the engine's door."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    paths = find_paths(tmp_path / "data")
    paths.create()
    store = Store(paths.data)
    store.open().result(WAIT_S)
    made = Desk(
        EngineDoor(),
        store,
        paths,
        url=lambda: "http://127.0.0.1:8642",
        last_chat=LastChat(),
        use_model=lambda _folder: None,
    )
    yield made
    made.stop()
    store.close()


def test_the_login_item_is_turned_read_back_and_remembered(desk: Desk) -> None:
    assert answer(desk.starts_at_login()) is False
    assert answer(desk.start_at_login(True)) is True
    assert answer(desk.starts_at_login()) is True
    assert answer(desk.preferences()).start_at_login is True
    assert answer(desk.start_at_login(False)) is False
    assert answer(desk.starts_at_login()) is False
    assert answer(desk.preferences()).start_at_login is False


def test_a_login_item_that_cannot_be_written_changes_nothing(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "config").write_text("a file where a folder should be")
    (tmp_path / "Library").write_text("the same on macOS")
    with pytest.raises(OSError, match=r"."):
        answer(desk.start_at_login(True))
    assert answer(desk.preferences()).start_at_login is False


def test_limits_hold_the_engine_s_own_choice(desk: Desk) -> None:
    limits = answer(desk.kv_limits())
    assert limits.least <= limits.automatic <= limits.most
    assert limits.automatic == device.default_kv_budget(0)


def test_large_weights_leave_less_but_never_nothing() -> None:
    none, huge = kv_limits(0), kv_limits(device.total_memory_bytes() + GIB)
    assert huge.most <= none.most
    assert huge.least <= huge.automatic <= huge.most


def test_diagnostics_have_the_preferences(desk: Desk) -> None:
    answer(desk.update_preferences(lambda now: replace(now, port=9123)))
    report = answer(desk.diagnostics())
    assert "9123" in report
    assert "none is loaded" in report
    assert "~/data" in report


def test_the_removal_is_planned_for_a_data_folder_of_ondols(desk: Desk) -> None:
    with pytest.raises(NotOndols):
        answer(desk.removal())
    with Instance(desk.data_folder):
        answer(desk.start_at_login(True))
        removal = answer(desk.removal())
    kinds = {thing.kind for thing in removal.things}
    assert {Kind.DATABASE, Kind.LOGIN_ITEM, Kind.OTHER} <= kinds
    assert removal.stays == ()
