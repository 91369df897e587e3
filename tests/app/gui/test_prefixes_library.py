"""The list follows what is stored, what the engine has, and what it costs."""

from __future__ import annotations

import pytest
from pytestqt.qtbot import QtBot

from app.desk import Desk
from app.gui.clock import HouseClock
from app.gui.prefixes.library import Library
from app.gui.prefixes.rows import PrefixRow
from app.storage.content import TemplateKind
from app.storage.errors import DatabaseLocked
from engine.errors import EngineUnavailable, TemplateError
from engine.snapshot import PinState
from tests.support.fake_desk import FakeDesk
from tests.support.fake_templates import price_of

NOW = 1_767_225_600.0
TOOLS = '[{"type": "function", "function": {"name": "light"}}]'


@pytest.fixture
def library(desk: Desk, clock: HouseClock) -> Library:
    return Library(desk, clock, clock, now=lambda: NOW)


def opened(qtbot: QtBot, library: Library) -> None:
    with qtbot.waitSignal(library.arrived):
        library.open()


def row(library: Library, template_id: int) -> PrefixRow:
    found = library.model.find(template_id)
    assert found is not None
    return found


def test_living_deleted_and_pinned(qtbot: QtBot, library: Library, fake_desk: FakeDesk) -> None:
    policy = fake_desk.add("Policy")
    tools = fake_desk.add("Tools", TemplateKind.TOOL_SCHEMA, TOOLS)
    gone = fake_desk.add("Gone")
    fake_desk.delete(gone.id)
    fake_desk.add_pin(tools.id, policy.id)
    fake_desk.refusals[tools.id] = "Too large."
    opened(qtbot, library)
    assert [each.name for each in library.model.rows] == ["Policy", "Tools", "Gone"]
    assert row(library, tools.id).policy == policy
    assert row(library, tools.id).trouble == "Too large."
    assert row(library, gone.id).deleted


def test_it_follows_the_engine(
    qtbot: QtBot, library: Library, clock: HouseClock, fake_desk: FakeDesk
) -> None:
    fake_desk.add("Policy")
    opened(qtbot, library)
    fake_desk.show_pin(1, PinState.BUILDING, num_tokens=100, done_tokens=40)
    with qtbot.assertNotEmitted(library.model.modelReset):
        clock.tick()
    assert row(library, 1).share_done == pytest.approx(0.4)
    fake_desk.show(pins=())
    clock.tick()
    assert row(library, 1).state is PinState.ABSENT


def test_when_it_was_last_used_is_the_engines_word(
    qtbot: QtBot, library: Library, clock: HouseClock, fake_desk: FakeDesk
) -> None:
    """Also of uses from before anybody looked."""
    fake_desk.add("Policy")
    fake_desk.add("Tools")
    fake_desk.show_pin(1, PinState.READY, num_tokens=9, hits=2, last_hit_at=NOW - 60)
    clock.tick()
    assert not fake_desk.calls
    opened(qtbot, library)
    assert (row(library, 1).last_used, row(library, 2).last_used) == (NOW - 60, None)


def test_hidden_it_asks_and_tells_nothing(
    qtbot: QtBot, library: Library, clock: HouseClock, fake_desk: FakeDesk
) -> None:
    fake_desk.add("Policy")
    opened(qtbot, library)
    qtbot.waitUntil(lambda: row(library, 1).price is not None)
    library.close()
    fake_desk.calls.clear()
    fake_desk.show_pin(1, PinState.BUILDING, num_tokens=100, done_tokens=40)
    with qtbot.assertNotEmitted(library.model.dataChanged):
        for _ in range(11):
            clock.tick()
    assert not fake_desk.calls


def test_what_somebody_else_pinned_appears(
    qtbot: QtBot, library: Library, clock: HouseClock, fake_desk: FakeDesk
) -> None:
    opened(qtbot, library)
    fake_desk.add("From the menu bar")
    fake_desk.show_pin(1, PinState.QUEUED, num_tokens=9)
    with qtbot.waitSignal(library.arrived):
        clock.tick()
    assert row(library, 1).state is PinState.QUEUED


def test_prices_are_asked_one_after_the_other(
    qtbot: QtBot, library: Library, fake_desk: FakeDesk
) -> None:
    for number in range(3):
        fake_desk.add(f"Policy {number}", content="word " * (number + 1))
    fake_desk.held.add("price")
    opened(qtbot, library)
    assert len(fake_desk.asked("price")) == 1
    fake_desk.release("price")
    qtbot.waitUntil(lambda: all(each.price for each in library.model.rows))
    assert [each.num_tokens for each in library.model.rows] == [1, 2, 3]
    assert len(fake_desk.asked("price")) == 3
    opened(qtbot, library)
    assert len(fake_desk.asked("price")) == 3


def test_tools_are_priced_with_their_policy(
    qtbot: QtBot, library: Library, fake_desk: FakeDesk
) -> None:
    policy = fake_desk.add("Policy", content="Be kind to all.")
    tools = fake_desk.add("Tools", TemplateKind.TOOL_SCHEMA, TOOLS)
    fake_desk.add_pin(tools.id, policy.id)
    opened(qtbot, library)
    qtbot.waitUntil(lambda: row(library, tools.id).price is not None)
    assert row(library, tools.id).price == price_of(f"Be kind to all. {TOOLS}")


def test_a_new_version_has_a_new_price(qtbot: QtBot, library: Library, fake_desk: FakeDesk) -> None:
    fake_desk.add("Policy", content="one")
    opened(qtbot, library)
    qtbot.waitUntil(lambda: row(library, 1).num_tokens == 1)
    fake_desk.add_version(1, "one two")
    library.reload()
    qtbot.waitUntil(lambda: row(library, 1).num_tokens == 2)


def test_prices_come_when_a_model_serves(
    qtbot: QtBot, library: Library, clock: HouseClock, fake_desk: FakeDesk
) -> None:
    fake_desk.add("Policy")
    fake_desk.errors["price"] = EngineUnavailable("Loading.")
    opened(qtbot, library)
    qtbot.waitUntil(lambda: len(fake_desk.asked("price")) == 1)
    fake_desk.errors.clear()

    def a_tick_later_it_is_there() -> bool:
        clock.tick()
        return row(library, 1).price is not None

    qtbot.waitUntil(a_tick_later_it_is_there)


def test_another_model_has_other_prices(
    qtbot: QtBot, library: Library, clock: HouseClock, fake_desk: FakeDesk
) -> None:
    fake_desk.add("Policy")
    opened(qtbot, library)
    qtbot.waitUntil(lambda: row(library, 1).price is not None)
    fake_desk.show(model_id="another")
    clock.tick()
    assert row(library, 1).price is None
    qtbot.waitUntil(lambda: row(library, 1).price is not None)
    assert len(fake_desk.asked("price")) == 2


def test_what_cannot_be_priced_is_asked_once(
    qtbot: QtBot, library: Library, clock: HouseClock, fake_desk: FakeDesk
) -> None:
    fake_desk.add("Bad")
    fake_desk.add("Worse")
    fake_desk.errors["price"] = TemplateError("The template refuses.")
    opened(qtbot, library)
    qtbot.waitUntil(lambda: len(fake_desk.asked("price")) == 2)
    fake_desk.show(num_pages=1)
    clock.tick()
    assert len(fake_desk.asked("price")) == 2


def test_a_storage_that_cannot_be_read_is_told(
    qtbot: QtBot, library: Library, fake_desk: FakeDesk
) -> None:
    fake_desk.errors["templates"] = DatabaseLocked("Another program is using it.")
    with qtbot.waitSignal(library.failed) as failed:
        library.open()
    assert failed.args == ["Another program is using it."]


def test_an_answer_that_comes_late_is_forgotten(
    qtbot: QtBot, library: Library, fake_desk: FakeDesk
) -> None:
    fake_desk.held.add("templates")
    library.open()
    fake_desk.held.clear()
    fake_desk.add("Policy")
    with qtbot.waitSignal(library.arrived):
        library.reload()
    with qtbot.assertNotEmitted(library.arrived):
        fake_desk.release("templates")
    assert len(library.model.rows) == 1
