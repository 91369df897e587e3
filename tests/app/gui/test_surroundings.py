"""What joins the app to its system: other starts, signals, scheme, language, the last look."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QLocale, Qt
from PySide6.QtNetwork import QLocalSocket
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.gui import mac, remembered_look
from app.gui.engine_watch import EngineWatch, News
from app.gui.look import Look
from app.gui.raise_window import SOCKET_NAME, RaiseServer, _server_names, raise_running
from app.gui.run import _remove_everything
from app.gui.signals import signals_call
from app.gui.theme import theme
from app.gui.translations import Translations, resolve
from app.home import Home
from app.paths import find_paths
from app.settings import Settings
from app.storage.settings_store import Appearance, Language, Preferences
from engine.snapshot import EngineState, Snapshot
from tests.support.scripted_engine import make_scripted_engine


@pytest.fixture
def server(qtbot: QtBot, tmp_path: Path) -> Iterator[RaiseServer]:
    server = RaiseServer(tmp_path)
    yield server
    server.close()
    server.deleteLater()


ASK = """
import sys
from pathlib import Path
from app.gui.raise_window import raise_running
sys.exit(0 if raise_running(Path(sys.argv[1])) else 1)
"""


def ask_in_another_process(folder: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", ASK, str(folder)])


def test_another_start_is_heard(qtbot: QtBot, server: RaiseServer, tmp_path: Path) -> None:
    with ask_in_another_process(tmp_path) as another:
        with qtbot.waitSignal(server.raised, timeout=20_000):
            pass
        qtbot.waitUntil(lambda: another.poll() is not None)
    assert another.returncode == 0


def test_where_nobody_listens_it_gives_up(qtbot: QtBot, tmp_path: Path) -> None:
    assert raise_running(tmp_path, limit_s=0.0) is False


def test_a_socket_left_behind_by_a_crash_is_replaced(qtbot: QtBot, tmp_path: Path) -> None:
    first = RaiseServer(tmp_path)
    second = RaiseServer(tmp_path)
    with ask_in_another_process(tmp_path) as another:
        with qtbot.waitSignal(second.raised, timeout=20_000):
            pass
        qtbot.waitUntil(lambda: another.poll() is not None)
    for server in (first, second):
        server.close()
        server.deleteLater()


def test_other_folders_have_other_names(tmp_path: Path) -> None:
    assert not set(_server_names(tmp_path)) & set(_server_names(tmp_path / "other"))
    assert len(_server_names(tmp_path)[1]) < 32


def test_it_listens_in_the_data_folder_whatever_tmpdir_says(
    server: RaiseServer, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (tmp_path / SOCKET_NAME).is_socket()
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "elsewhere"))
    with ask_in_another_process(tmp_path) as another:
        with qtbot.waitSignal(server.raised, timeout=20_000):
            pass
        qtbot.waitUntil(lambda: another.poll() is not None)
    assert another.returncode == 0
    server.close()
    assert not (tmp_path / SOCKET_NAME).exists()


def test_a_path_too_long_for_a_socket_is_no_obstacle(qtbot: QtBot, tmp_path: Path) -> None:
    deep = tmp_path / ("x" * 120)
    deep.mkdir()
    server = RaiseServer(deep)
    with ask_in_another_process(deep) as another:
        with qtbot.waitSignal(server.raised, timeout=20_000):
            pass
        qtbot.waitUntil(lambda: another.poll() is not None)
    assert another.returncode == 0
    server.close()
    server.deleteLater()


def test_nonsense_on_the_socket_raises_nothing(
    qtbot: QtBot, server: RaiseServer, tmp_path: Path
) -> None:
    with qtbot.assertNotEmitted(server.raised):
        for words in (b"dance\n", b"x" * 5000):
            socket = QLocalSocket()
            socket.connectToServer(_server_names(tmp_path)[0])
            socket.write(words)
            qtbot.waitUntil(
                lambda socket=socket: (
                    socket.state() == QLocalSocket.LocalSocketState.UnconnectedState
                )
            )
            socket.deleteLater()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
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
        assert translations._translators
        assert QLocale().language() is QLocale.Language.Korean
        translations.use(Language.ENGLISH)
        assert not translations._translators
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


def test_removing_everything_leaves_what_is_not_ondols(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    paths = find_paths(tmp_path / "data")
    paths.create()
    home = Home(Settings(port=0, model=tmp_path), paths, make_scripted_engine)
    home.start()
    home.stop()
    remembered_look.remember(paths.data, Preferences(appearance=Appearance.DARK))
    (paths.data / "shopping.txt").write_text("eggs", encoding="utf-8")
    assert _remove_everything(paths) == 0
    assert [file.name for file in paths.data.iterdir()] == ["shopping.txt"]


def test_what_is_not_ondols_folder_is_not_touched(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = find_paths(tmp_path / "data")
    paths.create()
    assert _remove_everything(paths) == 1
    assert "Not everything could be removed" in capsys.readouterr().err
