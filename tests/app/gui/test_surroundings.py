"""What joins the app to its system: other starts, signals, scheme, language, the last look."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from PySide6.QtCore import QLocale, Qt
from PySide6.QtNetwork import QLocalSocket
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.gui import mac, remembered_look
from app.gui.engine_watch import EngineWatch, News
from app.gui.look import Look
from app.gui.raise_window import RaiseServer, _server_name, raise_running
from app.gui.signals import signals_call
from app.gui.theme import theme
from app.gui.translations import Translations, resolve
from app.storage.settings_store import Appearance, Language, Preferences
from engine.snapshot import EngineState, Snapshot


@pytest.fixture
def server(qtbot: QtBot, tmp_path: Path) -> Iterator[RaiseServer]:
    server = RaiseServer(tmp_path)
    yield server
    server.close()
    server.deleteLater()


def test_another_start_is_heard(qtbot: QtBot, server: RaiseServer, tmp_path: Path) -> None:
    with ThreadPoolExecutor(1) as another, qtbot.waitSignal(server.raised):
        heard = another.submit(raise_running, tmp_path)
    qtbot.waitUntil(heard.done)
    assert heard.result() is True


def test_where_nobody_listens_it_gives_up(qtbot: QtBot, tmp_path: Path) -> None:
    assert raise_running(tmp_path, limit_s=0.0) is False


def test_a_socket_left_behind_by_a_crash_is_replaced(qtbot: QtBot, tmp_path: Path) -> None:
    first = RaiseServer(tmp_path)
    second = RaiseServer(tmp_path)
    with ThreadPoolExecutor(1) as another, qtbot.waitSignal(second.raised):
        another.submit(raise_running, tmp_path)
    for server in (first, second):
        server.close()
        server.deleteLater()


def test_other_folders_have_other_names(tmp_path: Path) -> None:
    assert _server_name(tmp_path) != _server_name(tmp_path / "other")
    assert len(_server_name(tmp_path)) < 32


def test_nonsense_on_the_socket_raises_nothing(
    qtbot: QtBot, server: RaiseServer, tmp_path: Path
) -> None:
    with qtbot.assertNotEmitted(server.raised):
        for words in (b"dance\n", b"x" * 5000):
            socket = QLocalSocket()
            socket.connectToServer(_server_name(tmp_path))
            socket.write(words)
            qtbot.waitUntil(
                lambda socket=socket: (
                    socket.state() == QLocalSocket.LocalSocketState.UnconnectedState
                )
            )
            socket.deleteLater()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_reaches_the_main_thread_once(qtbot: QtBot, number: signal.Signals) -> None:
    before = signal.getsignal(number)
    called: list[bool] = []
    with signals_call(lambda: called.append(True)):
        os.kill(os.getpid(), number)
        qtbot.waitUntil(lambda: called == [True])
        assert signal.getsignal(number) is signal.SIG_DFL
    assert signal.getsignal(number) is before


class TestLook:
    @pytest.fixture
    def look(self, qapp: QApplication) -> Iterator[Look]:
        look = Look(qapp)
        yield look
        look.close()
        look.deleteLater()

    def test_a_choice_counts_more_than_the_system(self, look: Look) -> None:
        look.use(Appearance.DARK)
        assert theme.tokens.dark
        look.use(Appearance.LIGHT)
        assert not theme.tokens.dark

    def test_the_system_is_followed_when_it_changes(
        self, qapp: QApplication, look: Look, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        look.use(Appearance.SYSTEM)
        for scheme, dark in ((Qt.ColorScheme.Dark, True), (Qt.ColorScheme.Light, False)):
            monkeypatch.setattr(
                type(qapp.styleHints()), "colorScheme", lambda hints, scheme=scheme: scheme
            )
            qapp.styleHints().colorSchemeChanged.emit(scheme)
            assert theme.tokens.dark is dark


@pytest.mark.parametrize(
    ("wanted", "system", "spoken"),
    [
        (Language.SYSTEM, ["ko-KR", "en-US"], Language.KOREAN),
        (Language.SYSTEM, ["ko"], Language.KOREAN),
        (Language.SYSTEM, ["de-DE", "ko-KR"], Language.KOREAN),
        (Language.SYSTEM, ["de-DE", "en_GB", "ko-KR"], Language.ENGLISH),
        (Language.SYSTEM, ["C"], Language.ENGLISH),
        (Language.SYSTEM, [], Language.ENGLISH),
        (Language.KOREAN, ["en-US"], Language.KOREAN),
        (Language.ENGLISH, ["ko-KR"], Language.ENGLISH),
    ],
)
def test_which_language_is_spoken(wanted: Language, system: list[str], spoken: Language) -> None:
    assert resolve(wanted, system) is spoken


def test_translations_come_and_go(qapp: QApplication) -> None:
    before = QLocale()
    translations = Translations(qapp)
    try:
        translations.use(Language.KOREAN)
        assert qapp.translate("pages", "Settings") == "설정"
        assert QLocale().language() is QLocale.Language.Korean
        translations.use(Language.ENGLISH)
        assert qapp.translate("pages", "Settings") == "Settings"
        assert QLocale().language() in (QLocale.Language.English, QLocale.Language.C)
    finally:
        translations.use(Language.ENGLISH)
        QLocale.setDefault(before)


def test_the_look_is_remembered(tmp_path: Path) -> None:
    assert remembered_look.recall(tmp_path) == Preferences()
    chosen = Preferences(port=9000, appearance=Appearance.DARK, language=Language.KOREAN)
    remembered_look.remember(tmp_path, chosen)
    look = Preferences(appearance=Appearance.DARK, language=Language.KOREAN)
    assert remembered_look.recall(tmp_path) == look
    before = (tmp_path / remembered_look.FILE_NAME).stat().st_mtime_ns
    remembered_look.remember(tmp_path, chosen)
    assert (tmp_path / remembered_look.FILE_NAME).stat().st_mtime_ns == before


@pytest.mark.parametrize("text", ["", "[]", '{"appearance": "pink", "language": "en"}', "\x00"])
def test_a_look_that_cannot_be_read_is_the_usual_one(tmp_path: Path, text: str) -> None:
    (tmp_path / remembered_look.FILE_NAME).write_text(text, encoding="utf-8")
    assert remembered_look.recall(tmp_path) == Preferences()


def test_the_engines_life_is_told_once_each() -> None:
    watch = EngineWatch()
    told = [
        watch.look(Snapshot(state=EngineState(state)))
        for state in (
            *("loading", "ready", "busy", "hung", "hung", "restarting", "loading", "ready"),
            *("ready", "failed", "failed", "loading", "ready"),
        )
    ]
    news = [(number, one) for number, one in enumerate(told) if one is not None]
    assert news == [
        (3, News.STOPPED_WORKING),
        (7, News.BACK),
        (9, News.CANNOT_SERVE),
        (12, News.BACK),
    ]


def test_elsewhere_macos_is_left_alone() -> None:
    mac.show_in_dock(True)
    wakefulness = mac.Wakefulness()
    wakefulness.keep(True)
    wakefulness.keep(False)
