"""The window: a sidebar, and the page that was chosen in it."""

from __future__ import annotations

import base64
import json
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QByteArray, QCoreApplication, QSize, Qt, Signal
from PySide6.QtGui import QCloseEvent, QKeySequence, QShortcut, QShowEvent
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QMainWindow,
    QSizePolicy,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from app.desk import Desk
from app.gui.clock import HouseClock
from app.gui.notice import Notice
from app.gui.page import Page
from app.gui.sidebar import Sidebar
from app.gui.theme import SPACE, title_font
from engine.snapshot import Snapshot

logger = logging.getLogger(__name__)

MINIMUM_SIZE = QSize(820, 560)
FIRST_SIZE = QSize(1000, 680)
HEADING_HEIGHT = 28  # of a button: titles stand equally high with and without one
SETTINGS_PAGE = "settings"


@dataclass(frozen=True, slots=True)
class PageSpec:
    """A page that is made when it is first looked at. `icon_name` is also what it is called by;
    `title` is translated."""

    icon_name: str
    title: str
    make: Callable[[Desk, HouseClock], Page]


class Window(QMainWindow):
    """Closing hides it; the application lives on in the menu bar.

    `state_file` keeps size and page from run to run. The caller has switched off that the
    application quits with its last window.

    hidden   the window is out of sight
    """

    hidden = Signal()

    def __init__(
        self,
        desk: Desk,
        clock: HouseClock,
        pages: Sequence[PageSpec],
        state_file: Path,
    ) -> None:
        super().__init__()
        self._desk = desk
        self._clock = clock
        self._pages = tuple(pages)
        self._state_file = state_file
        self._made: dict[int, QWidget] = {}

        self.setWindowTitle("Ondol")
        self.setMinimumSize(MINIMUM_SIZE)
        self._sidebar = Sidebar([(page.icon_name, page.title) for page in self._pages])
        self._stack = QStackedWidget()
        self._notice = Notice()
        self._notice.settingsWanted.connect(lambda: self.show_page(SETTINGS_PAGE))
        self._lay_out()
        self._sidebar.chosen.connect(self._show_number)
        self._add_shortcuts()
        clock.snapshotChanged.connect(self._show_snapshot)
        clock.second.connect(self._look_at_storage)
        self._recall()
        app = QCoreApplication.instance()
        if app is not None:
            app.aboutToQuit.connect(self._remember)

    @property
    def page_name(self) -> str:
        """The icon name of the page that is shown."""
        return self._pages[self._sidebar.current].icon_name

    def show_page(self, icon_name: str) -> None:
        """Nothing happens for a page that does not exist."""
        for number, page in enumerate(self._pages):
            if page.icon_name == icon_name:
                self._sidebar.choose(number)

    def present(self) -> None:
        """Bring the window to the front, from wherever it is."""
        if self.isMinimized():
            self.showNormal()
        self.show()
        self.raise_()
        self.activateWindow()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._show_snapshot(self._desk.snapshot)

    def closeEvent(self, event: QCloseEvent) -> None:
        # Accepted, although the window only hides: an application cannot quit while one refuses.
        super().closeEvent(event)
        self._remember()
        self.hidden.emit()

    def _lay_out(self) -> None:
        content = QVBoxLayout()
        content.setContentsMargins(0, 0, 0, 0)
        content.setSpacing(0)
        content.addWidget(self._notice)
        content.addWidget(self._stack, 1)
        sides = QHBoxLayout()
        sides.setContentsMargins(0, 0, 0, 0)
        sides.setSpacing(0)
        sides.addWidget(self._sidebar)
        sides.addLayout(content, 1)
        middle = QWidget()
        middle.setLayout(sides)
        self.setCentralWidget(middle)

    def _add_shortcuts(self) -> None:
        for number in range(min(len(self._pages), 9)):
            key = QShortcut(QKeySequence(f"Ctrl+{number + 1}"), self)
            key.activated.connect(lambda number=number: self._sidebar.choose(number))
        QShortcut(QKeySequence("Ctrl+W"), self).activated.connect(self.close)

    # Pages

    def _show_number(self, number: int) -> None:
        if number not in self._made:
            self._made[number] = self._make(self._pages[number])
            self._stack.addWidget(self._made[number])
        self._stack.setCurrentWidget(self._made[number])

    def _make(self, spec: PageSpec) -> QWidget:
        page = spec.make(self._desk, self._clock)
        page.pageRequested.connect(self.show_page)
        title = QLabel(page.title())
        title.setFont(title_font(self.font()))
        title.setMinimumHeight(HEADING_HEIGHT)
        title.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        heading = QHBoxLayout()
        heading.setContentsMargins(3 * SPACE, 2 * SPACE, 3 * SPACE, SPACE)
        heading.addWidget(title)
        controls = page.header_controls()
        if controls is not None:
            heading.addWidget(controls, alignment=Qt.AlignmentFlag.AlignVCenter)
        framed = QWidget()
        layout = QVBoxLayout(framed)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addLayout(heading)
        layout.addWidget(page, 1)
        return framed

    # The engine's state

    def _show_snapshot(self, snapshot: Snapshot) -> None:
        if self.isVisible():
            self._sidebar.status.show_snapshot(snapshot)
            self._notice.show_state(snapshot, self._desk.storage_trouble)

    def _look_at_storage(self) -> None:
        if self.isVisible():
            self._notice.show_state(self._desk.snapshot, self._desk.storage_trouble)

    # From run to run

    def _recall(self) -> None:
        self.resize(FIRST_SIZE)
        name = self._pages[0].icon_name
        try:
            state = json.loads(self._state_file.read_text(encoding="utf-8"))
            self.restoreGeometry(QByteArray(base64.b64decode(state["geometry"])))
            name = state["page"]
        except FileNotFoundError:
            pass
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            logger.warning("the window's last size and page could not be read", exc_info=True)
        self.show_page(name)
        if self._sidebar.current < 0:
            self._sidebar.choose(0)

    def _remember(self) -> None:
        """A hundred bytes or two, when the window hides and when the application ends."""
        geometry = base64.b64encode(self.saveGeometry().data()).decode("ascii")
        state = json.dumps({"geometry": geometry, "page": self.page_name})
        try:
            self._state_file.parent.mkdir(parents=True, exist_ok=True)
            unfinished = self._state_file.with_suffix(".new")
            unfinished.write_text(state, encoding="utf-8")
            unfinished.replace(self._state_file)
        except OSError:
            logger.warning("the window's size and page could not be kept", exc_info=True)
