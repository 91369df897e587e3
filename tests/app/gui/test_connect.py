"""The Connect page: the right address and model in every snippet, and who has asked."""

from __future__ import annotations

import ast
import dataclasses
import json
import shlex
import time
from collections.abc import Callable

import pytest
from PySide6.QtGui import QGuiApplication
from pytestqt.qtbot import QtBot

from app.desk import Desk
from app.gui.clock import HouseClock
from app.gui.copy_button import CopyButton
from app.gui.futures import follow
from app.gui.pages.connect import ConnectPage, make_connect
from app.gui.pages.connect_snippets import snippets
from app.storage.errors import DatabaseCorrupt
from engine.request import Timings
from engine.snapshot import Snapshot
from tests.support.fake_desk import MODEL, READY, FakeDesk, make_record

MakePage = Callable[[], ConnectPage]

BASE = "http://127.0.0.1:8642/v1"
ODD = 'some\'body/"Odd" $(name) 모델'


@pytest.fixture
def make_page(qtbot: QtBot, desk: Desk, clock: HouseClock) -> MakePage:
    def make() -> ConnectPage:
        page = make_connect(desk, clock)
        assert isinstance(page, ConnectPage)
        qtbot.addWidget(page)
        page.resize(800, 560)
        page.show()
        return page

    return make


def clipboard() -> str:
    return QGuiApplication.clipboard().text()


# Snippets


@pytest.mark.parametrize("model_id", [MODEL.id, "mlx-community/Qwen3-4B-4bit", ODD])
def test_python_snippet_is_python_with_the_right_values(model_id: str) -> None:
    code = ast.parse(snippets("http://127.0.0.1:8642", model_id)[0].code)
    texts = {node.value for node in ast.walk(code) if isinstance(node, ast.Constant)}
    assert {BASE, model_id} <= texts


@pytest.mark.parametrize("model_id", [MODEL.id, ODD])
def test_curl_snippet_sends_json_of_the_right_model(model_id: str) -> None:
    code = snippets("http://[::1]:9000", model_id)[3].code
    command = shlex.split(code.replace("\\\n", " "))
    assert command[:2] == ["curl", "http://[::1]:9000/v1/chat/completions"]
    body = json.loads(command[command.index("-d") + 1])
    assert body["model"] == model_id
    assert body["messages"][0]["role"] == "user"


@pytest.mark.parametrize("model_id", [MODEL.id, ODD])
def test_llm_snippet_writes_one_entry(model_id: str) -> None:
    code = snippets("http://127.0.0.1:8642", model_id)[2].code
    entry = code.split("<<'END'\n")[1].split("END\n")[0]
    lines = dict(line.strip(" -").split(": ", 1) for line in entry.splitlines())
    assert lines["model_id"] == "ondol"
    assert json.loads(lines["model_name"]) == model_id
    assert json.loads(lines["api_base"]) == BASE
    assert code.endswith("llm -m ondol 'Hello!'\n")


def test_open_webui_snippet_is_one_command() -> None:
    command = shlex.split(snippets("http://127.0.0.1:8642", "m")[1].code.replace("\\\n", " "))
    assert command == [f"OPENAI_API_BASE_URL={BASE}", "OPENAI_API_KEY=ondol", "open-webui", "serve"]


# The page


def test_every_card_copies_what_it_shows(make_page: MakePage) -> None:
    page = make_page()
    assert len(page.cards) == 4
    for card in page.cards:
        card.copy.click()
        assert clipboard().rstrip("\n") == card.code.toPlainText()
        assert MODEL.id in clipboard() or "open-webui" in clipboard()


def test_address_and_model_are_copied(make_page: MakePage) -> None:
    page = make_page()
    page.copy_address.click()
    assert clipboard() == BASE
    page.copy_model.click()
    assert clipboard() == MODEL.id


def test_a_copy_is_confirmed_by_shape_and_words_and_only_for_a_moment(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.gui.copy_button.CONFIRMED_MS", 30)
    button = CopyButton(lambda: "x", "the thing")
    qtbot.addWidget(button)
    button.show()
    width, picture = button.sizeHint().width(), button.icon().cacheKey()
    button.click()
    assert button.text().strip() == "Copied"
    assert button.icon().cacheKey() != picture
    assert button.sizeHint().width() == width
    assert button.accessibleName() == "Copy the thing"
    qtbot.waitUntil(lambda: button.text().strip() == "Copy")


def test_another_model_and_port_are_filled_in(
    make_page: MakePage, fake_desk: FakeDesk, clock: HouseClock
) -> None:
    page = make_page()
    fake_desk.url = "http://127.0.0.1:9000"
    fake_desk.model = dataclasses.replace(MODEL, id="other/Model")
    fake_desk.snapshot = dataclasses.replace(READY, seq=2, model_id="other/Model")
    clock.tick()
    assert page.address.text() == "http://127.0.0.1:9000/v1"
    assert page.model.text() == "other/Model"
    assert "other/Model" in page.cards[0].code.toPlainText()


def test_without_a_model_nothing_is_copied_that_cannot_work(
    make_page: MakePage, fake_desk: FakeDesk, clock: HouseClock
) -> None:
    fake_desk.snapshot, fake_desk.model = Snapshot(), None
    page = make_page()
    assert page.model.text() == "No model is loaded yet."
    assert not any(card.copy.isEnabled() for card in page.cards)
    assert page.copy_address.isEnabled()
    fake_desk.snapshot, fake_desk.model = READY, MODEL
    clock.tick()
    assert all(card.copy.isEnabled() for card in page.cards)


def test_long_lines_of_code_go_on_below(make_page: MakePage, fake_desk: FakeDesk) -> None:
    name = "owner/" + "Very-Long-Model-Name-" * 8
    fake_desk.model = dataclasses.replace(MODEL, id=name)
    fake_desk.snapshot = dataclasses.replace(READY, model_id=name)
    page = make_page()
    code = page.cards[0].code
    code.resize(300, code.height())
    assert code.sizeHint().height() > 14 * code.fontMetrics().lineSpacing()


# Who has asked


def test_waits_for_the_first_request(make_page: MakePage) -> None:
    page = make_page()
    assert not page.status.is_connected
    assert page.status.heading.text() == "Waiting for your first request"


def test_the_first_request_is_told_at_once(
    make_page: MakePage, fake_desk: FakeDesk, clock: HouseClock
) -> None:
    page = make_page()
    fake_desk.records.append(make_record(1, ended_at=time.time()))
    clock.tick()
    assert page.status.is_connected
    assert page.status.heading.text() == "Connected: OpenAI/Python just asked"
    assert "2,048 prompt tokens, 1,920 of them reused." in page.status.sentence.text()
    assert page.status.accessibleName() == page.status.heading.text()


def test_history_counts_too_but_was_not_just_now(
    qtbot: QtBot, make_page: MakePage, fake_desk: FakeDesk
) -> None:
    fake_desk.history = (make_record(2, client="curl"), make_record(1))
    page = make_page()
    qtbot.waitUntil(lambda: page.status.is_connected)
    assert page.status.heading.text().startswith("Connected: curl asked at ")


def test_just_now_does_not_last(
    make_page: MakePage, fake_desk: FakeDesk, clock: HouseClock
) -> None:
    page = make_page()
    fake_desk.records.append(make_record(1, ended_at=time.time()))
    clock.tick()
    later = time.time() + 61
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("app.gui.pages.connect_status.time.time", lambda: later)
        clock.second.emit()
    assert " asked at " in page.status.heading.text()


def test_older_history_does_not_hide_a_new_request(
    qtbot: QtBot, make_page: MakePage, fake_desk: FakeDesk, clock: HouseClock
) -> None:
    fake_desk.held.add("recent_requests")
    fake_desk.history = (make_record(1, client="curl"),)
    page = make_page()
    fake_desk.records.append(make_record(2, ended_at=time.time(), client="llm"))
    clock.tick()
    fake_desk.release("recent_requests")
    # Answers come in the order in which they were given.
    with qtbot.waitCallback() as arrived:
        follow(fake_desk.preferences(), page, arrived)
    assert "llm" in page.status.heading.text()


def test_without_history_it_waits(
    make_page: MakePage, fake_desk: FakeDesk, clock: HouseClock
) -> None:
    fake_desk.errors["recent_requests"] = DatabaseCorrupt("damaged")
    page = make_page()
    fake_desk.records.append(make_record(1, client="", timings=Timings(), ended_at=time.time()))
    clock.tick()
    assert page.status.heading.text() == "Connected: Unnamed client just asked"
    assert "first word" not in page.status.sentence.text()
