"""Remove everything that Ondol has made, and nothing else. No Qt in here.

Only names that Ondol gives are removed, so a data folder among other people's files is safe. The
starter model goes; models that a person put into a folder stay.
"""

from __future__ import annotations

import enum
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from app.autostart import LoginItem
from app.instance import Instance
from app.paths import APP_NAME, Paths
from app.storage.store import FILE_NAME
from engine.model.catalog import STARTER_ID

LOCK_NAME = "ondol.lock"

_MOST_LISTED = 20


class Kind(enum.Enum):
    """What a thing to remove is, for people."""

    MODEL = "model"
    DATABASE = "database"
    BACKUP = "backup"
    LOG = "log"
    LOGIN_ITEM = "login item"
    OTHER = "other"


_IN_DATA = (
    (Kind.MODEL, f"models/{STARTER_ID}"),
    (Kind.MODEL, f"models/.{STARTER_ID}.*.partial"),
    (Kind.BACKUP, f"{FILE_NAME}.backup-*"),
    (Kind.BACKUP, f".{FILE_NAME}-copy-*"),
    (Kind.DATABASE, FILE_NAME),
    (Kind.DATABASE, f"{FILE_NAME}-wal"),
    (Kind.DATABASE, f"{FILE_NAME}-shm"),
    (Kind.OTHER, "window.json"),
    (Kind.OTHER, "window.new"),
    (Kind.OTHER, "look.json"),
    (Kind.OTHER, "unsaved.json*"),
    (Kind.OTHER, "window.socket"),
    (Kind.OTHER, "instance.json*"),
    (Kind.OTHER, LOCK_NAME),
)
_IN_LOGS = ((Kind.LOG, "ondol.log"), (Kind.LOG, "ondol.log.[0-9]*"))


@dataclass(frozen=True, slots=True)
class Thing:
    """A file or folder that goes. `num_bytes` is what it holds."""

    kind: Kind
    path: Path
    num_bytes: int


@dataclass(frozen=True, slots=True)
class Removal:
    """What goes, in the order in which it goes, and what is left in Ondol's folders because it is
    not Ondol's (the first of it, if that is much)."""

    paths: Paths
    things: tuple[Thing, ...]
    stays: tuple[Path, ...]

    @property
    def num_bytes(self) -> int:
        return sum(thing.num_bytes for thing in self.things)


class NotOndols(Exception):
    """A folder that is not, or cannot be, Ondol's own."""


class NotAllRemoved(Exception):
    """Some things could not be removed; the message names them and why."""


def plan_removal(paths: Paths, login_item: LoginItem) -> Removal:
    """What `remove` would take. Reads sizes, so it takes a moment. Raises NotOndols, OSError."""
    _check(paths)
    things = [
        *_found(paths.logs, _IN_LOGS),
        *([_thing(Kind.LOGIN_ITEM, login_item.path)] if login_item.path.exists() else []),
        *_found(paths.data, _IN_DATA),
    ]
    gone = {thing.path for thing in things}
    folders = {paths.data, paths.logs, paths.models}
    stays = sorted(
        path
        for folder in folders
        if folder.is_dir()
        for path in folder.iterdir()
        if path not in gone and path not in folders
    )
    return Removal(paths, tuple(things), tuple(stays[:_MOST_LISTED]))


def remove(removal: Removal) -> None:
    """Take the data folder from whoever has it, remove everything of the plan that is still there,
    then the folders that have become empty.

    Call it when Ondol has stopped and closed its log. Raises InstanceHeld (an Ondol still runs) and
    NotOndols, then nothing was removed; NotAllRemoved for what could not be.
    """
    _check(removal.paths)
    troubles = []
    with Instance(removal.paths.data):
        for thing in removal.things:
            try:
                _delete(thing.path)
            except OSError as error:
                troubles.append(f"{thing.path}: {error.strerror}")
    for folder in (removal.paths.models, removal.paths.logs, removal.paths.data):
        _delete_if_empty(folder)
        if folder.parent.name == APP_NAME:
            _delete_if_empty(folder.parent)
    if troubles:
        raise NotAllRemoved("\n".join(troubles))


def _check(paths: Paths) -> None:
    home = Path.home().resolve()
    for folder in (paths.data.resolve(), paths.logs.resolve()):
        if folder == home or folder in home.parents:
            raise NotOndols(f"{folder} holds more than Ondol's files, so nothing is removed.")
    if not (paths.data / LOCK_NAME).is_file():
        raise NotOndols(
            f"{paths.data} has no {LOCK_NAME}, so it is not a data folder of Ondol's, and nothing"
            " is removed."
        )


def _found(folder: Path, patterns: tuple[tuple[Kind, str], ...]) -> Iterator[Thing]:
    for kind, pattern in patterns:
        for path in sorted(folder.glob(pattern)):
            yield _thing(kind, path)


def _thing(kind: Kind, path: Path) -> Thing:
    return Thing(kind, path, _num_bytes(path))


def _num_bytes(path: Path) -> int:
    if path.is_symlink() or not path.is_dir():
        return path.lstat().st_size
    return sum(_num_bytes(inside) for inside in path.iterdir())


def _delete(path: Path) -> None:
    """Links are removed, never followed."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _delete_if_empty(folder: Path) -> None:
    if folder.is_dir() and not folder.is_symlink() and not any(folder.iterdir()):
        folder.rmdir()
