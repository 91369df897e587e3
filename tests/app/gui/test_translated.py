"""Every text of every page goes through the translation, in every state that a page has."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from app.desk import Desk
from app.gui.clock import HouseClock
from app.gui.dialogs import NameDialog, PortDialog
from app.gui.house_pages import SettingsActions, house_pages
from app.gui.pages import dashboard_words
from app.gui.pages.dashboard import DAY, TEN_MINUTES, Dashboard
from app.gui.pages.settings_remove import RemoveDialog
from app.gui.prefixes.editor import EditorSheet
from app.gui.requests import words as request_words
from app.gui.segments import Segments
from app.gui.tray.menu import menu_items
from app.gui.tray.status import Today
from app.gui.window import Window
from app.hit_rate import Cause
from app.paths import Paths
from app.remove import Kind, Removal, Thing
from app.storage.content import TemplateKind
from engine.config import AdmissionMode
from engine.request import Decision, FinishReason, Timings, Usage
from engine.snapshot import Capacity, EngineState, Memory, PinState, Waits
from tests.support.fake_desk import MODEL, READY, FakeDesk, make_record
from tests.support.pseudo import PseudoTranslator, texts, untranslated

# What is nobody's to translate: figures with their units, addresses, what a person or a client
# named, and code.
NAMES = ("zorp", MODEL.id, MODEL.architecture, MODEL.dtype, "OpenAI/Python", "chatcmpl-")
NOT_WORDS = re.compile(
    r"""
    https?://\S+ | ~?/[\w./-]+ | [kKMG]iB | \bbytes\b
    | \b(?:curl|openai|Python|Open\ WebUI|llm|Ondol|English)\b | 한국어
    | ^separator$  # Qt's own, in a list
    | \b(?:Esc|Del|Return|Enter|F\d+|[A-Z])\b
    """,
    re.VERBOSE,
)
TEXTS = Path(__file__).parents[3] / "resources/i18n/ondol_ko.ts"
CODE = "code"  # the role of widgets that show some


@pytest.fixture(autouse=True)
def pseudo_language(qapp: QApplication) -> Iterator[None]:
    translator = PseudoTranslator(TEXTS)
    qapp.installTranslator(translator)
    yield
    qapp.removeTranslator(translator)


@pytest.fixture
def full_desk(fake_desk: FakeDesk) -> FakeDesk:
    """Templates of every kind and state, requests of every end."""
    for number, kind in enumerate(TemplateKind):
        content = "[]" if kind is TemplateKind.TOOL_SCHEMA else "zorp"
        if kind is TemplateKind.TOOL_SCHEMA:
            content = '[{"type": "function", "function": {"name": "zorp"}}]'
        if kind is TemplateKind.CHAT_HISTORY:
            content = '[{"role": "user", "content": "zorp"}]'
        template = fake_desk.add(f"zorp {number}", kind, content, ("zorp",))
        fake_desk.add_pin(template.id)
        state = list(PinState)[number]
        fake_desk.show_pin(
            template.id, state, num_tokens=100, done_tokens=40, num_bytes=2**20, error="zorp"
        )
    fake_desk.records = [
        make_record(
            number,
            reason=reason,
            usage=Usage(2048, 1920, 41, awaited_tokens=480),
            decision=Decision(bool(number % 2), "chatcmpl-0", 512, 32, 1.4, 2.9),
            num_preemptions=number,
        )
        for number, reason in enumerate(FinishReason)
    ]
    fake_desk.history = tuple(reversed(fake_desk.records))
    fake_desk.show(
        memory=Memory(2**30, 2**20, 2**28, 2**26),
        capacity=Capacity(max_running=6, mean_tokens=400.0, hot_bytes=2**27, reserve_bytes=2**27),
        num_running=2,
        num_waiting=3,
        num_parked=1,
        waits_for=Waits.MEMORY,
    )
    fake_desk.minutes[600] = replace(fake_desk.minutes[600], cached_tokens=9000)
    fake_desk.minutes[-1] = replace(
        fake_desk.minutes[-1],
        cached_tokens=1000,
        computed_tokens=9000,
        lost_tokens=9000,
        capacity_bytes=2**20,
        quota_bytes=2**20,
        checkpoint_bytes=2**20,
        pressure_bytes=2**20,
        preemptions=2,
    )
    return fake_desk


@pytest.fixture
def show(
    qtbot: QtBot, clock: HouseClock, tmp_path: Path
) -> Callable[[FakeDesk], Iterator[tuple[str, Window]]]:
    def show(desk: FakeDesk) -> Iterator[tuple[str, Window]]:
        def nothing(*_: object) -> None:
            pass

        pages = house_pages(SettingsActions(nothing, nothing, nothing))
        window = Window(_as_desk(desk), clock, pages, tmp_path / "window.json")
        qtbot.addWidget(window)
        window.show()
        for page in pages:
            window.show_page(page.icon_name)
            clock.tick()
            clock.second.emit()
            qtbot.waitUntil(lambda: not desk.held)
            yield page.icon_name, window
            for dashboard in window.findChildren(Dashboard):
                span = dashboard.header_controls()
                assert isinstance(span, Segments)
                span.choose(DAY)
                yield f"{page.icon_name}, 24 hours", window
                span.choose(TEN_MINUTES)

    return show


def _as_desk(desk: FakeDesk) -> Desk:
    return desk  # type: ignore[return-value]


def _foreign(seen: Iterable[tuple[str, QWidget]]) -> list[str]:
    """Texts with words that no translator has seen."""
    found: dict[str, str] = {}
    for name, widget in seen:
        for thing, text in texts(widget):
            if thing.property("role") != CODE and _has_foreign_words(text):
                found.setdefault(f"{type(thing).__name__}: {text}", name)
    return [f"{name}: {what}" for what, name in found.items()]


def _has_foreign_words(text: str) -> bool:
    if text.startswith("[\n"):  # JSON, as an example of what belongs there
        return False
    rest = untranslated(text.replace("\u200b", ""))  # where a line may break
    for name in NAMES:
        rest = rest.replace(name, " ")
    return any(letter.isalpha() for letter in NOT_WORDS.sub(" ", rest))


def test_a_house_at_work(
    full_desk: FakeDesk, show: Callable[..., Iterator[tuple[str, Window]]]
) -> None:
    assert _foreign(show(full_desk)) == []


def test_a_house_without_anything(
    fake_desk: FakeDesk, show: Callable[..., Iterator[tuple[str, Window]]]
) -> None:
    assert _foreign(show(fake_desk)) == []


@pytest.mark.parametrize("state", EngineState)
def test_an_engine_in_every_state(
    fake_desk: FakeDesk, show: Callable[..., Iterator[tuple[str, Window]]], state: EngineState
) -> None:
    fake_desk.snapshot = replace(READY, seq=2, state=state, reason="zorp")
    fake_desk.model = None
    assert _foreign(show(fake_desk)) == []


@pytest.mark.parametrize("kind", TemplateKind)
def test_the_editor(qtbot: QtBot, full_desk: FakeDesk, kind: TemplateKind) -> None:
    for name, sheet in (
        ("new", EditorSheet(_as_desk(full_desk), kind)),
        ("next version", EditorSheet(_as_desk(full_desk), kind, full_desk.versions_of[1][-1])),
    ):
        qtbot.addWidget(sheet)
        sheet.show()
        assert _foreign([(name, sheet)]) == []


def test_the_dialogs(qtbot: QtBot) -> None:
    paths = Paths(Path("/home/someone/data"), Path("/home/someone/logs"))
    things = tuple(Thing(kind, Path(f"/home/someone/{kind.value}"), 5) for kind in Kind)
    removal = Removal(paths, things, (Path("/home/someone/zorp"),))
    dialogs = (
        PortDialog(None, "http://127.0.0.1:8642", 8643, lambda _: None, lambda: None),
        NameDialog(None, "zorp", lambda _: Future(), lambda _: None),
        RemoveDialog(removal),
    )
    for dialog in dialogs:
        qtbot.addWidget(dialog)
        dialog.show()
        assert _foreign([(type(dialog).__name__, dialog)]) == []


@pytest.mark.parametrize("cause", Cause)
def test_why_the_hit_rate_fell(cause: Cause) -> None:
    assert not _has_foreign_words(dashboard_words.sentence(cause))


@pytest.mark.parametrize("waits", Waits)
@pytest.mark.parametrize("number", [2, 3])
def test_who_waits(waits: Waits, number: int) -> None:
    snapshot = replace(READY, num_waiting=number, num_parked=1, waits_for=waits)
    assert not _has_foreign_words(dashboard_words.waiting_words(snapshot))


@pytest.mark.parametrize("mode", AdmissionMode)
@pytest.mark.parametrize("number", [1, 6])
def test_how_many_at_once(mode: AdmissionMode, number: int) -> None:
    for reserve in (0, 2**27):
        capacity = Capacity(mode, number, 400.0, reserve, reserve)
        for words in (
            dashboard_words.capacity_words(capacity),
            dashboard_words.capacity_details(capacity),
        ):
            assert not _has_foreign_words(words)


@pytest.mark.parametrize("waited", [True, False])
@pytest.mark.parametrize("awaited_tokens", [0, 480])
@pytest.mark.parametrize("prefill_s", [0.0, 0.5])
def test_the_course_of_a_request(waited: bool, awaited_tokens: int, prefill_s: float) -> None:
    record = make_record(
        1,
        usage=Usage(2048, 1920, 41, awaited_tokens),
        timings=Timings(queue_s=1.0, parked_s=1.0, prefill_s=prefill_s),
        decision=Decision(waited, "chatcmpl-0", 512, 32, 1.4, 2.9),
        num_preemptions=2,
    )
    assert not _has_foreign_words(request_words.course(record))


@pytest.mark.parametrize("state", EngineState)
def test_the_menu(state: EngineState) -> None:
    snapshot = replace(READY, state=state, num_running=2, prefill_tokens=100, prefill_done=40)
    lines = [item.text for item in menu_items(snapshot, Today(), can_pin=True)]
    assert [line for line in lines if _has_foreign_words(line)] == []
