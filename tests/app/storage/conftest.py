"""A database, and a store with a clock that stands still, in a folder of their own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlite_utils import Database

from app.storage.schema import open_database
from app.storage.store import Store
from tests.support.storage import Clock


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ondol.sqlite3"


@pytest.fixture
def db(path: Path) -> Iterator[Database]:
    db = open_database(path)
    yield db
    db.close()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(tmp_path: Path, clock: Clock) -> Iterator[Store]:
    store = Store(tmp_path, clock)
    store.open().result()
    yield store
    store.close()
