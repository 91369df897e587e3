"""Errors in the reader's language, by their kind and with their figures."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QLocale
from PySide6.QtWidgets import QApplication

from app.budget import KvBudgetTooLarge
from app.desk import NothingToPin
from app.gui import trouble
from app.gui.translations import Translations
from app.instance import Holder, InstanceHeld
from app.model_import import GgufFileGiven
from app.remove import NotOndols
from app.storage import errors as storage
from app.storage.settings_store import Language
from engine import errors as engine
from engine.memory_keeper import SHRUNK
from engine.snapshot import EngineState, Snapshot

HANGUL = re.compile("[가-힣]")
ERRORS: list[tuple[BaseException, str]] = [
    (storage.NameTaken("House"), "House"),
    (storage.NewerDatabase(Path("ondol.db"), 9, 5), "9"),
    (storage.InvalidTemplate("No JSON in line 12.", line=12), "12번째 줄"),
    (storage.InvalidTemplate("The text is empty."), "(The text is empty.)"),
    (storage.DiskFull("The disk that holds /data is full."), ""),
    (storage.ReadOnlyFolder("m"), ""),
    (storage.DatabaseLocked("m"), ""),
    (storage.DatabaseCorrupt("It is ondol.db."), "ondol.db"),
    (storage.DiskFailure("m"), ""),
    (storage.MigrationFailed("From 1 to 2."), "From 1 to 2."),
    (storage.StorageClosed("m"), ""),
    (storage.UnknownTemplate("m"), ""),
    (storage.NotPinned("m"), ""),
    (engine.DiskFull("m"), ""),
    (engine.PromptTooLong(9000, 8192), "9,000"),
    (engine.UnsafeModel("auto_map"), "auto_map"),
    (engine.ModelError("config.json"), "config.json"),
    (engine.TemplateError("two systems"), "two systems"),
    (engine.PinRefused("3.2 GiB"), "3.2 GiB"),
    (engine.EngineUnavailable("m"), ""),
    (engine.QueueFull("m", 3), ""),
    (engine.EmptyPrompt("m"), ""),
    (KvBudgetTooLarge(900 * 1024**3, 16 * 1024**3), "900.0 GiB"),
    (GgufFileGiven("tiny.gguf"), "ondol import tiny.gguf"),
    (InstanceHeld(Holder(4711, "127.0.0.1", 8642)), "4711"),
    (NotOndols("/home"), "/home"),
    (NothingToPin("m"), ""),
    (OSError(errno.EACCES, "Permission denied"), "Permission denied"),
]


@pytest.fixture
def korean(qapp: QApplication) -> Iterator[None]:
    before = QLocale()
    translations = Translations(qapp)
    translations.use(Language.KOREAN)
    yield
    translations.use(Language.ENGLISH)
    QLocale.setDefault(before)


@pytest.mark.usefixtures("korean")
@pytest.mark.parametrize(("error", "figure"), ERRORS, ids=lambda value: type(value).__name__)
def test_every_known_kind_speaks_korean(error: BaseException, figure: str) -> None:
    told = trouble.words(error)
    assert HANGUL.search(told)
    assert figure in told
    if not figure:
        assert str(error) not in told or len(str(error)) == 1
    assert "{" not in told


@pytest.mark.parametrize(("error", "figure"), ERRORS, ids=lambda value: type(value).__name__)
def test_in_english_they_speak_for_themselves(error: BaseException, figure: str) -> None:
    told = trouble.words(error)
    assert told == (error.strerror if isinstance(error, OSError) else str(error))


@pytest.mark.usefixtures("korean")
def test_why_the_engine_is_in_its_state() -> None:
    failed = Snapshot(seq=1, state=EngineState.FAILED, reason="config.json is not valid JSON.")
    assert HANGUL.search(trouble.reason(failed))
    assert "config.json is not valid JSON." in trouble.reason(failed)
    loading = Snapshot(seq=1, state=EngineState.LOADING, reason="The model is being prepared.")
    assert trouble.reason(loading) == ""
    assert HANGUL.search(trouble.refusal("It is too large."))
    assert trouble.refusal("") == ""


@pytest.mark.usefixtures("korean")
def test_what_is_unusual_about_the_engine() -> None:
    assert HANGUL.search(trouble.notice(Snapshot(notice=SHRUNK)))
    assert trouble.notice(Snapshot(notice="Something else.")) == "Something else."
    assert trouble.notice(Snapshot()) == ""


@pytest.mark.usefixtures("korean")
def test_what_nobody_expected_is_told_as_it_is() -> None:
    assert trouble.words(RuntimeError("something else")) == "something else"
