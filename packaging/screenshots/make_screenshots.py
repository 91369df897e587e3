"""Draw every page into resources/screenshots, in light, dark and Korean, with the figures of a real
Ondol that a household has asked for a while. Nothing appears on the screen, and nothing of the
person's own Ondol is touched."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from app.bench import lock
from app.paths import find_paths
from engine.model import catalog

ROOT = Path(__file__).resolve().parents[2]
OUTPUT = ROOT / "resources" / "screenshots"
PAGES = ("dashboard", "prefixes", "requests", "connect", "settings")
WIDTH, HEIGHT = 1000, 680
SCALE = 2
MAX_BYTES = 150_000
PORT = 8642
KV_BUDGET = 256 * 1024 * 1024  # small, so that something is evicted
LATIN_FONTS = ("Inter",)
KOREAN_FONTS = ("Noto Sans CJK KR", "NanumGothic")

# Before Qt looks at them.
os.environ |= {"QT_QPA_PLATFORM": "offscreen", "QT_SCALE_FACTOR": str(SCALE)}

import household  # noqa: E402
from PySide6.QtCore import QEventLoop, QTimer  # noqa: E402
from PySide6.QtGui import QFont, QFontDatabase  # noqa: E402
from PySide6.QtWidgets import QApplication  # noqa: E402
from small_png import save_small  # noqa: E402

from app.gui.clock import HouseClock  # noqa: E402
from app.gui.house_pages import SettingsActions, house_pages  # noqa: E402
from app.gui.imports import drop_import_hook  # noqa: E402
from app.gui.prefixes.table import PrefixTable  # noqa: E402
from app.gui.theme import theme  # noqa: E402
from app.gui.translations import Translations  # noqa: E402
from app.gui.window import Window  # noqa: E402
from app.home import Home  # noqa: E402
from app.server.http_thread import BindError  # noqa: E402
from app.settings import Settings  # noqa: E402
from app.storage.content import TemplateKind  # noqa: E402
from app.storage.settings_store import Appearance, Language  # noqa: E402
from app.storage.templates import Template  # noqa: E402
from engine.snapshot import PinState  # noqa: E402

T = TypeVar("T")

NAMES = {
    "policy": ("House assistant", "우리 집 도우미"),
    "tools": ("House tools", "집 안 도구"),
    "manual": ("Rice cooker manual", "밥솥 설명서"),
    "guests": ("Guest rules", "손님 안내"),
    "travel": ("Travel planner", "여행 계획 도우미"),
}
TRAVEL = "You plan short trips by train for a family with two children. Offer three ideas."


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--minutes", type=float, default=10.0, help="how long the household asks (default 10)"
    )
    parser.add_argument(
        "--pages", nargs="+", choices=PAGES, default=PAGES, metavar="PAGE", help=", ".join(PAGES)
    )
    options = parser.parse_args()
    models = catalog.starter_model_folder(find_paths().data).parent
    with lock.machine_lock(lock.LOCK_FILE, lambda: print("Waiting for another bench or test.")):
        _work(models, options.minutes, options.pages)
    return 0


def _work(models: Path, minutes: float, pages: Sequence[str]) -> None:
    with tempfile.TemporaryDirectory(prefix="ondol-screenshots-") as folder:
        home = Path(folder) / "home"
        data = home / ".local" / "share" / "ondol"
        data.mkdir(parents=True)
        (data / "models").symlink_to(models, target_is_directory=True)
        os.environ["HOME"] = str(home)
        for name in ("XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME"):
            os.environ.pop(name, None)
        qt = QApplication([])
        qt.setStyle("Fusion")
        drop_import_hook()
        if not set(KOREAN_FONTS) & set(QFontDatabase.families()):
            print(f"Korean texts show as boxes: install one of {', '.join(KOREAN_FONTS)}")
        with _open_house() as house:
            Studio(qt, house, pages).work(minutes * 60, house.url)


class Studio:
    """Makes the pictures of one house."""

    def __init__(self, qt: QApplication, house: Home, pages: Sequence[str]) -> None:
        self._qt = qt
        self._pages = pages
        self._house = house
        self._desk = house.desk
        self._clock = HouseClock(house.desk)
        self._translations = Translations(qt)
        self._templates: dict[str, Template] = {}
        self._folder = tempfile.TemporaryDirectory()

    def work(self, seconds: float, url: str) -> None:
        until(lambda: self._desk.model is not None, 600)
        self._keep_warm()
        self._clock.start()
        self._speak(Language.ENGLISH)
        window = self._window(Appearance.LIGHT)
        stopping = threading.Event()
        with ThreadPoolExecutor(1) as street:
            afternoon = street.submit(household.live, url, seconds, stopping)
            try:
                print(f"{result(afternoon, seconds + 300)} requests were made")
            finally:
                stopping.set()
        self._shoot(window, "light")
        theme.apply(self._qt, Appearance.DARK, system_is_dark=True)
        self._shoot(window, "dark")
        self._close(window)
        for key, (_, korean) in NAMES.items():
            result(self._desk.rename(self._templates[key].id, korean))
        self._speak(Language.KOREAN)
        window = self._window(Appearance.LIGHT)
        self._shoot(window, "korean")
        self._close(window)
        self._clock.stop()
        self._folder.cleanup()

    def _keep_warm(self) -> None:
        kinds = {
            "policy": (TemplateKind.SYSTEM_POLICY, household.POLICY, ("home",)),
            "tools": (TemplateKind.TOOL_SCHEMA, household.tools_json(), ("home",)),
            "manual": (TemplateKind.DOCUMENT, household.MANUAL, ("kitchen",)),
            "guests": (TemplateKind.HOUSE_INSTRUCTIONS, household.GUEST_RULES, ("guests",)),
            "travel": (TemplateKind.SYSTEM_POLICY, TRAVEL, ()),
        }
        for key, (kind, content, tags) in kinds.items():
            name = NAMES[key][0]
            self._templates[key] = result(self._desk.create_template(name, kind, content, tags))
        result(self._desk.add_version(self._templates["policy"].id, household.POLICY, "Jun"))
        policy = self._templates["policy"].id
        result(self._desk.pin(self._templates["tools"].id, policy))
        for key in ("policy", "manual"):
            result(self._desk.pin(self._templates[key].id))
        until(lambda: len(self._ready_pins()) == 3, 120)

    def _ready_pins(self) -> list[str]:
        return [pin.name for pin in self._desk.snapshot.pins if pin.state is PinState.READY]

    def _speak(self, language: Language) -> None:
        # In Korean the Korean font draws all letters, as on a Korean desktop.
        own_first = KOREAN_FONTS if language is Language.KOREAN else LATIN_FONTS
        _use_font(self._qt, (*own_first, *KOREAN_FONTS))
        self._translations.use(language)
        change = result(self._desk.update_preferences(lambda now: replace(now, language=language)))
        assert change.language is language

    def _window(self, appearance: Appearance) -> Window:
        theme.apply(self._qt, appearance, system_is_dark=False)
        nothing = SettingsActions(
            restart=lambda: None, apply_appearance=lambda _: None, remove_everything=lambda: None
        )
        state = Path(self._folder.name) / f"{time.monotonic_ns()}.json"
        window = Window(self._desk, self._clock, house_pages(nothing), state)
        window.resize(WIDTH, HEIGHT)
        window.show()
        return window

    def _shoot(self, window: Window, name: str) -> None:
        for page in self._pages:
            window.show_page(page)
            spin(1.0)
            for table in window.findChildren(PrefixTable):
                table.select(self._templates["tools"].id)
            spin(0.5)
            path = OUTPUT / f"{page}-{name}.png"
            save_small(window.grab().toImage(), path)
            print(f"{path.relative_to(ROOT)}  {path.stat().st_size // 1024} KB")

    def _close(self, window: Window) -> None:
        window.close()
        window.deleteLater()
        spin(0.2)


@contextmanager
def _open_house() -> Iterator[Home]:
    paths = find_paths()
    paths.create()
    before = Home(Settings(), paths)
    before.open()
    change = before.desk.update_preferences(lambda now: replace(now, kv_budget_bytes=KV_BUDGET))
    change.result()
    before.stop()
    house = Home(Settings(), paths)
    house.open()
    try:
        try:
            house.listen(PORT)
        except BindError:
            house.listen(0)
        house.load()
        yield house
    finally:
        house.stop()


def _use_font(qt: QApplication, families: Sequence[str]) -> None:
    """The first of these that are here, in the size of a desktop."""
    present = set(QFontDatabase.families())
    font = QFont([family for family in families if family in present] or qt.font().families())
    font.setPointSizeF(10)
    qt.setFont(font)


def spin(seconds: float) -> None:
    """Let the window live for a while."""
    loop = QEventLoop()
    QTimer.singleShot(round(seconds * 1000), loop.quit)
    loop.exec()


def until(condition: Callable[[], bool], limit_s: float) -> None:
    deadline = time.monotonic() + limit_s
    while not condition():
        if time.monotonic() > deadline:
            raise SystemExit(f"Waited {limit_s:.0f} s in vain.")
        spin(0.1)


def result(future: Future[T], limit_s: float = 60.0) -> T:
    """What a future gives, while the window goes on living."""
    until(future.done, limit_s)
    return future.result()


if __name__ == "__main__":
    sys.exit(main())
