"""The desk over a real store and a real engine with a runner that computes nothing."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import pytest

import app.desk
from app.desk import Desk, NothingToPin
from app.engine_door import EngineDoor
from app.last_chat import LastChat
from app.paths import Paths, find_paths
from app.pinned import PinnedTemplates
from app.prefixes import pin_name
from app.storage.content import TemplateKind
from app.storage.errors import InvalidTemplate, NameTaken, UnknownTemplate
from app.storage.store import Store
from app.storage.templates import Template
from engine.config import EngineConfig
from engine.engine import Engine
from engine.errors import EngineUnavailable, ModelError, PinRefused
from engine.metrics import EngineMetrics
from engine.prompt.chat import Message
from engine.request import Started
from engine.snapshot import EngineState, Health, PinState, PinStatus
from tests.support.engine import Listener, fake_assembly, request
from tests.support.fake_runner import BYTES_PER_TOKEN, FakeRunner
from tests.support.waiting import wait_until

T = TypeVar("T")

POLICY = "t10 " * 40
LONG = "t11 " * 900  # more than pins may take
TOOLS: list[dict[str, Any]] = [{"type": "function", "function": {"name": "t12", "x": "t13"}}]
BUDGET_TOKENS = 1500
WAIT_S = 20.0


def answer(future: Future[T]) -> T:
    return future.result(WAIT_S)


@dataclass
class Rooms:
    """What stands around a desk."""

    paths: Paths
    store: Store
    door: EngineDoor = field(default_factory=EngineDoor)
    chat: LastChat = field(default_factory=LastChat)
    listener: Listener = field(default_factory=Listener)
    models: list[Path | None] = field(default_factory=list)
    model_error: Exception | None = None

    def __post_init__(self) -> None:
        self.desk = Desk(
            self.door,
            self.store,
            self.paths,
            url=lambda: "http://127.0.0.1:8642",
            last_chat=self.chat,
            use_model=self._use_model,
        )

    def _use_model(self, folder: Path | None) -> None:
        if self.model_error is not None:
            raise self.model_error
        self.models.append(folder)

    def start_engine(self, budget_tokens: int = BUDGET_TOKENS) -> None:
        engine = Engine(
            Path("fake"),
            EngineConfig(kv_budget_bytes=budget_tokens * BYTES_PER_TOKEN),
            model_id="fake",
            deliver=self.listener,
            metrics=EngineMetrics("fake"),
            assembler=lambda path, name, config: fake_assembly(FakeRunner(), config, name),
        )
        engine.start()
        assert engine.wait_until_ready(WAIT_S).ok
        self.door.put(engine)

    def stop_engine(self) -> None:
        assert self.door.stop(WAIT_S)
        self.door.take(Health(EngineState.STOPPED, "The engine is stopped."))

    def create(
        self, name: str, content: str = POLICY, kind: TemplateKind = TemplateKind.SYSTEM_POLICY
    ) -> Template:
        return answer(self.desk.create_template(name, kind, content))

    def status(self, template: Template) -> PinStatus | None:
        name = pin_name(template.id)
        return next((pin for pin in self.desk.snapshot.pins if pin.name == name), None)

    def num_warm(self, template: Template) -> int:
        """Tokens of a pin that stands."""
        status = self.status(template)
        ready = status is not None and status.kept and status.state is PinState.READY
        return status.num_tokens if status and ready else 0

    def num_cached(self, request_id: str, messages: list[Message], tools: Any = None) -> int:
        """Serve a chat; how many of its tokens were there already."""
        tokens = self.door.format(messages, tools).tokens
        self.door.submit(request(request_id, list(tokens)))
        self.listener.wait(request_id)
        (started,) = (e for e in self.listener.events[request_id] if isinstance(e, Started))
        return started.cached_tokens


@pytest.fixture
def rooms(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Rooms]:
    monkeypatch.setattr(app.desk, "ROUND_S", 0.02)
    paths = find_paths(tmp_path / "data")
    paths.create()
    store = Store(paths.data)
    store.open().result(WAIT_S)
    rooms = Rooms(paths, store)
    yield rooms
    rooms.stop_engine()
    rooms.desk.stop()
    rooms.desk.stop()
    assert store.close(WAIT_S)


@pytest.fixture
def serving(rooms: Rooms) -> Rooms:
    rooms.start_engine()
    rooms.desk.start()
    return rooms


def test_a_pin_made_before_a_model_serves_is_warmed_by_every_engine(rooms: Rooms) -> None:
    rooms.desk.start()
    policy = rooms.create("Policy")
    pin = answer(rooms.desk.pin(policy.id))
    assert answer(rooms.desk.pins()) == (pin,)
    for _ in range(2):
        rooms.start_engine()
        wait_until(lambda: rooms.num_warm(policy) == 43)
        rooms.stop_engine()


def test_a_new_version_takes_the_place_of_the_old_one(serving: Rooms) -> None:
    policy = serving.create("Policy")
    answer(serving.desk.pin(policy.id))
    wait_until(lambda: serving.num_warm(policy) == 43)
    answer(serving.desk.add_version(policy.id, POLICY + "t14"))
    wait_until(lambda: serving.num_warm(policy) == 44)


def test_delete_lets_go_and_undo_brings_back(serving: Rooms) -> None:
    policy = serving.create("Policy")
    answer(serving.desk.pin(policy.id))
    wait_until(lambda: serving.num_warm(policy) == 43)
    answer(serving.desk.delete(policy.id))
    wait_until(lambda: serving.status(policy) is None)
    answer(serving.desk.restore(policy.id))
    wait_until(lambda: serving.num_warm(policy) == 43)
    answer(serving.desk.unpin(policy.id))
    wait_until(lambda: serving.status(policy) is None)
    assert answer(serving.desk.pins()) == ()


def test_a_pin_that_is_too_large_is_refused_with_figures(serving: Rooms) -> None:
    book = serving.create("Book", LONG, TemplateKind.DOCUMENT)
    with pytest.raises(PinRefused, match="9030 bytes"):
        answer(serving.desk.pin(book.id))
    assert answer(serving.desk.pins()) == ()
    assert serving.status(book) is None


def test_a_stored_pin_that_no_longer_fits_says_why_until_it_does(rooms: Rooms) -> None:
    rooms.desk.start()
    book = rooms.create("Book", LONG, TemplateKind.DOCUMENT)
    answer(rooms.desk.pin(book.id))
    rooms.start_engine()
    wait_until(lambda: "9030 bytes" in rooms.desk.refusal(book.id))
    answer(rooms.desk.add_version(book.id, POLICY))
    wait_until(lambda: rooms.num_warm(book) == 43)
    assert rooms.desk.refusal(book.id) == ""


def test_a_larger_budget_is_another_chance(rooms: Rooms) -> None:
    rooms.desk.start()
    book = rooms.create("Book", LONG, TemplateKind.DOCUMENT)
    answer(rooms.desk.pin(book.id))
    rooms.start_engine()
    wait_until(lambda: rooms.desk.refusal(book.id) != "")
    rooms.stop_engine()
    rooms.start_engine(budget_tokens=4000)
    wait_until(lambda: rooms.num_warm(book) == 903)
    assert rooms.desk.refusal(book.id) == ""


def test_in_vain_the_engine_is_asked_only_once(
    rooms: Rooms, monkeypatch: pytest.MonkeyPatch
) -> None:
    book = rooms.create("Book", LONG, TemplateKind.DOCUMENT)
    answer(rooms.desk.pin(book.id))
    rooms.start_engine()
    asked: list[str] = []
    pin = rooms.door.pin
    monkeypatch.setattr(rooms.door, "pin", lambda spec: (asked.append(spec.name), pin(spec)))
    pinned = PinnedTemplates(rooms.door, rooms.store)
    for _ in range(3):
        pinned.keep_warm()
    assert asked == [pin_name(book.id)]


def test_what_the_engine_has_lost_is_pinned_again(serving: Rooms) -> None:
    policy = serving.create("Policy")
    answer(serving.desk.pin(policy.id))
    wait_until(lambda: serving.num_warm(policy) == 43)
    answer(serving.desk.warm(policy.id))  # takes the pin's place in the engine
    wait_until(lambda: serving.num_warm(policy) == 43)
    answer(serving.desk.cancel_warming(policy.id))
    wait_until(lambda: serving.num_warm(policy) == 43)


def test_tools_are_pinned_with_the_policy_that_they_are_sent_with(serving: Rooms) -> None:
    policy = serving.create("Policy")
    tools = serving.create("Tools", json.dumps(TOOLS), TemplateKind.TOOL_SCHEMA)
    pin = answer(serving.desk.pin(tools.id, policy.id))
    assert pin.with_template_id == policy.id
    wait_until(lambda: serving.num_warm(tools) > 43)
    num_tokens = serving.num_warm(tools)
    chat = [Message("system", POLICY), Message("user", "t20")]
    assert serving.num_cached("a", chat, TOOLS) >= num_tokens

    answer(serving.desk.add_version(policy.id, POLICY + "t14"))
    wait_until(lambda: serving.num_warm(tools) == num_tokens + 1)
    answer(serving.desk.delete(policy.id))
    wait_until(lambda: 0 < serving.num_warm(tools) < num_tokens - 30)
    with pytest.raises(UnknownTemplate):
        answer(serving.desk.pin(tools.id, policy.id))


def test_the_last_chat_becomes_a_pinned_template(serving: Rooms) -> None:
    assert not serving.desk.can_pin_last_request
    with pytest.raises(NothingToPin):
        answer(serving.desk.pin_last_request("Chat"))
    chat = [Message("system", POLICY), Message("user", "t20"), Message("assistant", "t21")]
    serving.chat.put(chat, ())
    assert serving.desk.can_pin_last_request
    template = answer(serving.desk.pin_last_request("Chat"))
    assert template.kind is TemplateKind.CHAT_HISTORY
    wait_until(lambda: serving.num_warm(template) > 43)
    more = [*chat, Message("user", "t22")]
    assert serving.num_cached("a", more) >= serving.num_warm(template)
    with pytest.raises(NameTaken):
        answer(serving.desk.pin_last_request("chat"))
    serving.desk.forget_last_chat()
    assert not serving.desk.can_pin_last_request


def test_a_last_chat_with_tools_gives_its_beginning(serving: Rooms) -> None:
    serving.chat.put([Message("developer", POLICY), Message("user", "t20")], TOOLS)
    template = answer(serving.desk.pin_last_request("Agent"))
    assert template.kind is TemplateKind.TOOL_SCHEMA
    (pin,) = answer(serving.desk.pins())
    names = {one.id: (one.name, one.kind) for one in answer(serving.desk.templates())}
    assert pin.with_template_id is not None
    assert names[pin.with_template_id] == ("Agent (policy)", TemplateKind.SYSTEM_POLICY)
    wait_until(lambda: serving.num_warm(template) > 43)
    other = [Message("system", POLICY), Message("user", "t30 t31")]
    assert serving.num_cached("a", other, TOOLS) >= serving.num_warm(template)

    serving.chat.put([Message("user", "t20")], TOOLS)
    answer(serving.desk.pin_last_request("Agent without a policy"))
    assert [pin.with_template_id for pin in answer(serving.desk.pins())][1] is None


@pytest.mark.parametrize("tools", [(), TOOLS])
def test_a_last_chat_that_cannot_be_pinned_leaves_nothing(
    serving: Rooms, tools: list[dict[str, Any]]
) -> None:
    serving.chat.put([Message("system", LONG), Message("user", "t20")], tools)
    with pytest.raises(PinRefused):
        answer(serving.desk.pin_last_request("Chat"))
    assert answer(serving.desk.templates()) == ()
    serving.chat.put([Message("system", POLICY)], [TOOLS[0], TOOLS[0]])
    with pytest.raises(InvalidTemplate):
        answer(serving.desk.pin_last_request("Chat"))
    assert answer(serving.desk.templates()) == ()


def test_ended_requests_reach_the_window_and_the_history(serving: Rooms) -> None:
    number, records = serving.desk.records_since(0)
    assert (number, records) == (0, [])
    for name in ("a", "b"):
        serving.num_cached(name, [Message("user", POLICY)])
    wait_until(lambda: serving.desk.records_since(0)[0] == 2)
    assert [one.id for one in serving.desk.records_since(0)[1]] == ["a", "b"]
    assert [one.id for one in serving.desk.records_since(1)[1]] == ["b"]
    assert serving.desk.records_since(2) == (2, [])
    assert [one.id for one in answer(serving.desk.recent_requests())] == ["b", "a"]
    assert sum(row.requests for row in answer(serving.desk.last_24_hours())) == 2
    assert serving.desk.storage_trouble is None


def test_what_an_engine_recorded_at_its_very_end_is_not_lost(serving: Rooms) -> None:
    serving.desk.stop()
    serving.num_cached("a", [Message("user", POLICY)])
    serving.stop_engine()
    serving.desk.stop()
    assert [one.id for one in answer(serving.desk.recent_requests())] == ["a"]


def test_what_is_no_file_does_not_hold_the_storage(rooms: Rooms, tmp_path: Path) -> None:
    """Nobody ever writes to the pipe, and the device has no end."""
    os.mkfifo(tmp_path / "pipe.txt")
    for path in (tmp_path / "pipe.txt", Path("/dev/zero"), tmp_path):
        with pytest.raises(InvalidTemplate, match="is no file"):
            answer(rooms.desk.import_template(path))
    (tmp_path / "real.txt").write_text("Be kind.")
    assert answer(rooms.desk.import_template(tmp_path / "real.txt")).latest.content == "Be kind."


def test_prices(serving: Rooms) -> None:
    price = answer(serving.desk.price(TemplateKind.SYSTEM_POLICY, POLICY))
    assert (price.num_tokens, price.num_bytes) == (43, 43 * BYTES_PER_TOKEN)
    assert price.seconds > 0
    alone = answer(serving.desk.price(TemplateKind.TOOL_SCHEMA, json.dumps(TOOLS)))
    together = answer(serving.desk.price(TemplateKind.TOOL_SCHEMA, json.dumps(TOOLS), POLICY))
    assert together.num_tokens == alone.num_tokens + 40
    with pytest.raises(ValueError, match="Expecting"):
        answer(serving.desk.price(TemplateKind.TOOL_SCHEMA, "{"))
    serving.stop_engine()
    with pytest.raises(EngineUnavailable):
        answer(serving.desk.price(TemplateKind.SYSTEM_POLICY, POLICY))


def test_a_pause_outlives_the_engine(rooms: Rooms) -> None:
    rooms.desk.pause()
    assert rooms.desk.snapshot.paused
    rooms.start_engine()
    wait_until(lambda: rooms.desk.snapshot.paused)
    rooms.desk.resume()
    assert rooms.num_cached("a", [Message("user", POLICY)]) == 0
    assert not rooms.desk.snapshot.paused


def test_another_model_is_remembered_once_it_is_taken(rooms: Rooms, tmp_path: Path) -> None:
    answer(rooms.desk.use_model(tmp_path))
    assert rooms.models == [tmp_path]
    assert answer(rooms.desk.preferences()).model_folder == tmp_path
    rooms.model_error = ModelError("config.json does not name a model_type.")
    with pytest.raises(ModelError):
        answer(rooms.desk.use_model(None))
    assert answer(rooms.desk.preferences()).model_folder == tmp_path


def test_a_round_that_fails_does_not_end_the_others(
    serving: Rooms, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed = threading.Event()

    def fail(*_: object) -> None:
        failed.set()
        raise RuntimeError("no")

    with monkeypatch.context() as patch:
        patch.setattr(serving.store, "observe", fail)
        assert failed.wait(WAIT_S)
    serving.num_cached("a", [Message("user", POLICY)])
    wait_until(lambda: serving.desk.records_since(0)[0] == 1)
