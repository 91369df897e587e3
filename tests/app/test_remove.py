"""Removing everything takes all that is Ondol's, and nothing that is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.autostart import LoginItem, find_login_item
from app.instance import Instance, InstanceHeld
from app.paths import Paths, find_paths
from app.remove import Kind, NotAllRemoved, NotOndols, plan_removal, remove
from app.storage.store import Store
from engine.model.catalog import STARTER_ID


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    """A data folder that an Ondol has used and left."""
    paths = find_paths(tmp_path / "data")
    paths.create()
    with Instance(paths.data):
        store = Store(paths.data)
        store.open().result()
        store.close()
    for name in ("ondol.log", "ondol.log.1"):
        (paths.logs / name).write_bytes(b"x" * 100)
    starter = paths.models / STARTER_ID
    starter.mkdir(parents=True)
    (starter / "model.safetensors").write_bytes(b"x" * 5000)
    return paths


@pytest.fixture
def login_item(tmp_path: Path) -> LoginItem:
    return find_login_item(find_paths(), platform="linux", home=tmp_path / "home", environment={})


def test_nothing_is_left(paths: Paths, login_item: LoginItem) -> None:
    login_item.turn_on()
    removal = plan_removal(paths, login_item)
    assert removal.stays == ()
    assert {thing.kind for thing in removal.things} >= {
        Kind.MODEL, Kind.DATABASE, Kind.LOG, Kind.LOGIN_ITEM,
    }  # fmt: skip
    remove(removal)
    assert not paths.data.exists()
    assert not login_item.path.exists()


def test_the_plan_has_true_sizes(paths: Paths, login_item: LoginItem) -> None:
    removal = plan_removal(paths, login_item)
    sizes = {thing.kind: thing.num_bytes for thing in removal.things}
    assert sizes[Kind.MODEL] == 5000
    assert sum(t.num_bytes for t in removal.things if t.kind is Kind.LOG) == 200
    assert removal.num_bytes == sum(thing.num_bytes for thing in removal.things)


def test_what_others_put_there_stays(paths: Paths, login_item: LoginItem) -> None:
    own_model = paths.models / "My-Model"
    own_model.mkdir()
    (own_model / "config.json").touch()
    (paths.data / "holiday.jpg").touch()
    (paths.logs / "other.log").touch()
    removal = plan_removal(paths, login_item)
    assert set(removal.stays) == {own_model, paths.data / "holiday.jpg", paths.logs / "other.log"}
    remove(removal)
    assert (own_model / "config.json").exists()
    assert (paths.data / "holiday.jpg").exists()
    assert (paths.logs / "other.log").exists()
    assert not (paths.models / STARTER_ID).exists()


def test_links_are_removed_and_not_followed(
    paths: Paths, login_item: LoginItem, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "precious").write_bytes(b"x" * 9000)
    (paths.models / STARTER_ID / "link").symlink_to(elsewhere)
    (paths.logs / "ondol.log.2").symlink_to(elsewhere / "precious")
    removal = plan_removal(paths, login_item)
    assert removal.num_bytes < 9000 + 5000 + 200_000
    remove(removal)
    assert (elsewhere / "precious").exists()
    assert not paths.data.exists()


def test_a_folder_without_our_lock_is_refused(tmp_path: Path, login_item: LoginItem) -> None:
    paths = find_paths(tmp_path)
    (tmp_path / "ondol.sqlite3").touch()
    with pytest.raises(NotOndols, match=r"ondol\.lock"):
        plan_removal(paths, login_item)
    with pytest.raises(NotOndols):
        plan_removal(find_paths(tmp_path / "nowhere"), login_item)


def test_the_home_folder_and_all_above_it_are_refused(
    paths: Paths, login_item: LoginItem, monkeypatch: pytest.MonkeyPatch
) -> None:
    for home in (paths.data, paths.data / "deeper"):
        monkeypatch.setattr(Path, "home", lambda home=home: home)
        with pytest.raises(NotOndols):
            plan_removal(paths, login_item)


def test_while_an_ondol_runs_nothing_is_removed(paths: Paths, login_item: LoginItem) -> None:
    removal = plan_removal(paths, login_item)
    with Instance(paths.data), pytest.raises(InstanceHeld):
        remove(removal)
    assert all(thing.path.exists() for thing in removal.things)


def test_what_cannot_be_removed_is_named_and_the_rest_goes(
    paths: Paths, login_item: LoginItem, monkeypatch: pytest.MonkeyPatch
) -> None:
    removal = plan_removal(paths, login_item)
    unlink = Path.unlink

    def refuse_logs(path: Path, missing_ok: bool = False) -> None:
        if path.name == "ondol.log":
            raise PermissionError(13, "Permission denied")
        unlink(path, missing_ok)

    monkeypatch.setattr(Path, "unlink", refuse_logs)
    with pytest.raises(NotAllRemoved, match=r"ondol\.log: Permission denied"):
        remove(removal)
    assert not (paths.models / STARTER_ID).exists()
    assert (paths.logs / "ondol.log").exists()


def test_what_went_in_the_meantime_is_no_trouble(paths: Paths, login_item: LoginItem) -> None:
    removal = plan_removal(paths, login_item)
    (paths.logs / "ondol.log.1").unlink()
    remove(removal)
    assert not paths.data.exists()
