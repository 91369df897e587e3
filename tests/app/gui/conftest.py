"""A window without a screen, over a desk without an engine; nothing may outlive its test."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import cast

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

import pytest
import shiboken6
from PySide6.QtCore import QCoreApplication, QEvent, QLocale, QThread, QTimer, QTranslator
from PySide6.QtWidgets import QApplication

from app.desk import Desk
from app.gui.clock import HouseClock
from app.gui.theme import theme
from app.storage.settings_store import Appearance
from tests.support.fake_desk import FakeDesk


@pytest.fixture(autouse=True)
def no_leftover_qt_objects(qapp: QApplication) -> Iterator[None]:
    """Fails a test that leaves a running timer, a thread or a window behind."""
    before = {id(widget) for widget in qapp.topLevelWidgets()}
    yield
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    left = [
        *(widget for widget in qapp.topLevelWidgets() if id(widget) not in before),
        *(
            thing
            for thing in shiboken6.getAllValidWrappers()
            if (isinstance(thing, QTimer) and thing.isActive())
            or (isinstance(thing, QThread) and thing is not qapp.thread() and thing.isRunning())
        ),
    ]
    assert not left, f"the test left {left} behind"


@pytest.fixture(autouse=True)
def light_and_english(qapp: QApplication) -> None:
    """Every test begins so, whatever the machine speaks or the test before it has set."""
    for translator in qapp.findChildren(QTranslator):
        qapp.removeTranslator(translator)
        translator.deleteLater()
    QLocale.setDefault(QLocale(QLocale.Language.English, QLocale.Country.UnitedStates))
    theme.apply(qapp, Appearance.LIGHT, system_is_dark=False)


@pytest.fixture
def fake_desk() -> FakeDesk:
    return FakeDesk()


@pytest.fixture
def desk(fake_desk: FakeDesk) -> Desk:
    """The fake desk as pages see it."""
    return cast(Desk, fake_desk)


@pytest.fixture
def clock(desk: Desk) -> Iterator[HouseClock]:
    """Tests move it with `tick`; no timer runs."""
    house_clock = HouseClock(desk)
    yield house_clock
    house_clock.stop()
