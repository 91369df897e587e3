"""Start and exit of a whole Ondol in this process, around a scripted engine."""

from __future__ import annotations

import http.client
import json
import shutil
import socket
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.budget import KvBudgetTooLarge
from app.home import Home
from app.instance import InstanceHeld, find_holder
from app.model_import import GgufFileGiven
from app.paths import Paths, find_paths
from app.server.http_thread import BindError
from app.settings import Settings
from app.storage.content import TemplateKind
from app.storage.errors import NewerDatabase
from app.storage.schema import open_database
from app.storage.store import FILE_NAME
from engine.config import AdmissionMode, EngineConfig
from engine.errors import ModelError
from engine.model import catalog
from engine.snapshot import EngineState, Health
from tests.support.house import CHAT
from tests.support.scripted_engine import ScriptedEngine, make_scripted_engine
from tests.support.waiting import wait_until

BODY = {"messages": [{"role": "user", "content": "Hi"}]}


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    paths = find_paths(tmp_path / "data")
    paths.create()
    return paths


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(port=0, model=tmp_path / "some-model")


@pytest.fixture
def home(settings: Settings, paths: Paths) -> Iterator[Home]:
    home = Home(settings, paths, make_scripted_engine)
    yield home
    home.stop()


def scripted(home: Home) -> ScriptedEngine:
    assert isinstance(home.engine, ScriptedEngine)
    return home.engine


def connect(home: Home) -> http.client.HTTPConnection:
    host, port = home.url.removeprefix("http://").rsplit(":", 1)
    return http.client.HTTPConnection(host.strip("[]"), int(port), timeout=5)


def ask(home: Home, method: str, path: str, body: Any = None) -> tuple[int, Any]:
    connection = connect(home)
    headers = {"Content-Type": "application/json"} if body else {}
    connection.request(method, path, json.dumps(body) if body else None, headers)
    response = connection.getresponse()
    answer = response.status, json.loads(response.read())
    connection.close()
    return answer


def test_a_budget_beyond_the_memory_is_refused(settings: Settings, paths: Paths) -> None:
    home = Home(replace(settings, kv_budget_bytes=2**60), paths, make_scripted_engine)
    with pytest.raises(KvBudgetTooLarge, match=r"more than the .* of memory"):
        home.start()
    assert home.stop() is True
    assert find_holder(paths.data) is None


def test_a_gguf_file_is_refused_with_the_way_out(settings: Settings, paths: Paths) -> None:
    file = paths.data / "tiny.gguf"
    file.touch()
    home = Home(replace(settings, model=file), paths, make_scripted_engine)
    with pytest.raises(GgufFileGiven, match=r"ondol import tiny\.gguf"):
        home.start()
    assert home.stop() is True


def test_the_desk_knows_the_folder_of_the_command_line(
    home: Home, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.start()
    assert home.desk.given == settings
    monkeypatch.setattr(catalog, "check_folder", lambda _: None)
    home.desk.use_model(tmp_path / "other").result(20)
    assert home.desk.given.model is None


def test_a_folder_whose_name_is_no_utf8_breaks_no_metrics(
    settings: Settings, paths: Paths, tmp_path: Path
) -> None:
    """The window stays, to say why and to have another chosen."""
    folder = tmp_path / b"caf\xe9-1B".decode("utf-8", "surrogateescape")
    home = Home(replace(settings, model=folder), paths, make_scripted_engine)
    home.open()
    home.listen()
    with pytest.raises(ModelError, match=r"not UTF-8"):
        home.load()
    try:
        connection = connect(home)
        connection.request("GET", "/metrics")
        response = connection.getresponse()
        assert (response.status, "caf\ufffd-1B" in response.read().decode()) == (200, True)
        connection.close()
        assert ask(home, "GET", "/health")[0] == 503
    finally:
        assert home.stop() is True


def test_a_home_serves_and_ends_in_order(home: Home, paths: Paths) -> None:
    threads = set(threading.enumerate())
    home.start()
    assert ask(home, "GET", "/health")[0] == 200
    status, answer = ask(home, "POST", CHAT, BODY)
    assert (status, answer["choices"][0]["message"]["content"]) == (200, "Hello")
    holder = find_holder(paths.data)
    assert holder is not None
    assert home.url.endswith(f":{holder.port}")
    engine = scripted(home)
    assert home.stop() is True
    assert engine.calls == ["start", "stop"]
    assert find_holder(paths.data) is None
    assert set(threading.enumerate()) == threads


def test_open_answers_are_told_that_it_stops(home: Home) -> None:
    """The engine ends them, and only then the loop: no stream just goes silent."""
    home.start()
    scripted(home).answer = None
    connection = connect(home)
    body = json.dumps(BODY | {"stream": True})
    connection.request("POST", CHAT, body, {"Content-Type": "application/json"})
    response = connection.getresponse()
    assert b'"role":"assistant"' in response.readline()
    assert home.stop() is True
    rest = response.read().decode()
    connection.close()
    assert '"code":"request_aborted"' in rest
    assert "[DONE]" not in rest


def test_after_the_stop_nobody_is_answered(home: Home) -> None:
    home.start()
    connection = connect(home)
    connection.request("GET", "/health")
    connection.getresponse().read()
    assert connection.sock is not None
    home.stop()
    assert connection.sock.recv(1) == b""
    connection.close()
    with pytest.raises(ConnectionRefusedError):
        connect(home).connect()


def test_a_second_home_on_the_same_folder(home: Home, settings: Settings, paths: Paths) -> None:
    home.start()
    second = Home(settings, paths, make_scripted_engine)
    with pytest.raises(InstanceHeld, match=home.url):
        second.start()
    assert find_holder(paths.data) is not None
    assert ask(home, "GET", "/health")[0] == 200


def test_a_taken_port_is_one_clear_line_and_frees_the_folder(paths: Paths, tmp_path: Path) -> None:
    threads = set(threading.enumerate())
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        home = Home(Settings(port=port, model=tmp_path), paths, make_scripted_engine)
        with pytest.raises(BindError) as caught:
            home.start()
    assert str(caught.value) == (
        f"Port {port} is taken: another program listens on http://127.0.0.1:{port}. "
        "Choose another with --port."
    )
    assert find_holder(paths.data) is None
    assert set(threading.enumerate()) == threads


def test_ipv6(paths: Paths, tmp_path: Path) -> None:
    if not socket.has_ipv6:
        pytest.skip("this machine has no IPv6")
    home = Home(Settings(host="::1", port=0, model=tmp_path), paths, make_scripted_engine)
    home.start()
    try:
        assert home.url.startswith("http://[::1]:")
        assert ask(home, "GET", "/health")[0] == 200
    finally:
        home.stop()


def test_stopping_a_home_that_never_started(home: Home) -> None:
    assert home.stop() is True


def test_the_database_is_the_last_to_close(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    home.start()
    order: list[str] = []

    def note(owner: object, method: str, name: str) -> None:
        before = getattr(owner, method)

        def noting(*arguments: Any) -> Any:
            order.append(name)
            return before(*arguments)

        monkeypatch.setattr(owner, method, noting)

    note(home._http, "stop_accepting", "refuse")
    note(home._http, "stop", "http")
    note(home.engine, "stop", "engine")
    note(home.desk, "stop", "desk")
    note(home._store, "close", "storage")
    note(home._instance, "release", "folder")
    assert home.stop()
    assert order == ["refuse", "engine", "desk", "http", "storage", "folder"]


def test_a_newer_database_is_named_and_frees_the_folder(home: Home, paths: Paths) -> None:
    threads = set(threading.enumerate())
    open_database(paths.data / FILE_NAME).close()
    with closing(sqlite3.connect(paths.data / FILE_NAME)) as connection:
        connection.execute("PRAGMA user_version = 99")
    with pytest.raises(NewerDatabase, match="Start the newer Ondol"):
        home.start()
    assert find_holder(paths.data) is None
    assert set(threading.enumerate()) == threads


def test_a_run_that_was_cut_off_is_noticed_by_the_next(
    home: Home, settings: Settings, paths: Paths
) -> None:
    home.start()
    assert not home.ended_badly
    copy = find_paths(paths.data.parent / "as after a power cut")
    home.desk.preferences().result()
    shutil.copytree(paths.data, copy.data)
    home.stop()
    for folder, bad in ((copy, True), (copy, False), (paths, False)):
        again = Home(settings, folder, make_scripted_engine)
        again.start()
        assert again.ended_badly is bad
        assert again.stop()


class Engines:
    """An EngineFactory that keeps what it was asked for."""

    def __init__(self) -> None:
        self.asked: list[tuple[Path, str, int | None]] = []
        self.configs: list[EngineConfig] = []

    def __call__(
        self, model: Path, config: EngineConfig, *, model_id: str, deliver: Any, metrics: Any
    ) -> ScriptedEngine:
        self.asked.append((model, model_id, config.kv_budget_bytes))
        self.configs.append(config)
        return ScriptedEngine(deliver)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def prefer(home: Home, **changes: Any) -> None:
    home.desk.update_preferences(lambda now: replace(now, **changes)).result()


def test_preferences_hold_where_the_command_line_is_silent(paths: Paths, tmp_path: Path) -> None:
    port, budget, folder = free_port(), 300 * 2**20, tmp_path / "preferred"
    first = Home(Settings(port=0, model=tmp_path / "given"), paths, Engines())
    first.start()
    prefer(first, port=port, model_folder=folder, kv_budget_bytes=budget)
    first.stop()

    engines = Engines()
    silent = Home(Settings(), paths, engines)
    silent.start()
    assert silent.url == f"http://127.0.0.1:{port}"
    silent.stop()
    given = Home(Settings(port=0, model=tmp_path / "given", kv_budget_bytes=2**30), paths, engines)
    given.start()
    assert given.url != silent.url
    given.stop()
    assert engines.asked == [
        (folder, "preferred", budget),
        (tmp_path / "given", "given", 2**30),
    ]


def test_a_restart_takes_what_was_changed_since(paths: Paths, tmp_path: Path) -> None:
    engines = Engines()
    home = Home(Settings(port=0, model=tmp_path / "given"), paths, engines)
    home.start()
    engine, before = home.engine, home.url
    home.restart()
    assert home.url != before
    port = free_port()
    prefer(home, port=port, kv_budget_bytes=2**30)
    home.restart()
    assert home.url == f"http://127.0.0.1:{port}"
    assert ask(home, "GET", "/health")[0] == 200
    assert home.engine is not engine
    assert [budget for _, _, budget in engines.asked] == [None, None, 2**30]
    assert home.stop()


def test_how_many_run_at_once_holds_from_the_next_start_on(paths: Paths, tmp_path: Path) -> None:
    engines = Engines()
    settings = Settings(
        port=0, model=tmp_path / "given", max_running=2, admission=AdmissionMode.AUTO
    )
    home = Home(settings, paths, engines)
    home.start()
    home.restart()
    prefer(home, admission=AdmissionMode.MAX_THROUGHPUT)
    home.restart()
    prefer(home, max_running=8)
    home.restart()
    assert home.stop()
    assert [(config.max_running, config.admission) for config in engines.configs] == [
        (2, AdmissionMode.AUTO),
        (2, AdmissionMode.AUTO),
        (2, AdmissionMode.MAX_THROUGHPUT),
        (8, AdmissionMode.MAX_THROUGHPUT),
    ]


def test_a_taken_port_is_asked_for_again(paths: Paths, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        home = Home(Settings(port=port, model=tmp_path), paths, make_scripted_engine)
        home.open()
        with pytest.raises(BindError):
            home.listen()
        assert home.url.endswith(f":{port}")
        free = home.next_free_port()
        assert free > port
        home.listen(free)
    home.load()
    assert ask(home, "GET", "/health")[0] == 200
    assert home.url.endswith(f":{free}")
    assert home.stop()


def test_without_any_model_the_reason_is_served_and_another_is_taken(
    paths: Paths, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(data: Path) -> Path:
        raise ModelError("The starter model is not installed.")

    monkeypatch.setattr(catalog, "starter_model_folder", missing)
    engines = Engines()
    home = Home(Settings(port=0), paths, engines)
    home.open()
    home.listen()
    with pytest.raises(ModelError):
        home.load()
    status, answer = ask(home, "GET", "/health")
    assert (status, answer["reason"]) == (503, "The starter model is not installed.")
    assert home.desk.snapshot.state is EngineState.FAILED
    with pytest.raises(ModelError, match=r"no model folder named nowhere"):
        home.desk.use_model(tmp_path / "nowhere").result()

    monkeypatch.setattr(catalog, "check_folder", lambda folder: None)
    home.desk.use_model(tmp_path / "good").result()
    assert ask(home, "GET", "/health")[0] == 200
    assert engines.asked == [(tmp_path / "good", "good", None)]
    home.desk.use_model(tmp_path / "better").result()
    assert scripted(home).calls == ["start", "switch to better"]
    assert home.stop()
    with pytest.raises(RuntimeError):
        home.desk.use_model(tmp_path / "good")


def test_a_model_mended_in_its_own_folder_is_loaded_again(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalog, "check_folder", lambda folder: None)
    home.start()
    given_up = scripted(home)
    given_up.health = Health(EngineState.FAILED, "config.json is not valid JSON.")
    home.desk.use_model(tmp_path / "some-model").result()
    assert given_up.calls == ["start", "stop"]
    assert scripted(home) is not given_up


def test_the_last_chat_is_kept_in_memory_alone(home: Home) -> None:
    home.start()
    assert not home.desk.can_pin_last_request
    ask(home, "POST", CHAT, BODY | {"cache_salt": "mine"})
    assert not home.desk.can_pin_last_request
    ask(home, "POST", CHAT, BODY)
    assert home.desk.can_pin_last_request
    assert scripted(home).submitted[-1].client == ""


def test_a_client_is_known_by_the_name_it_gives_itself(home: Home) -> None:
    home.start()
    connection = connect(home)
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "OpenAI/Python 2.3.0 (Linux; x86)",
    }
    connection.request("POST", CHAT, json.dumps(BODY), headers)
    assert connection.getresponse().status == 200
    connection.close()
    assert scripted(home).submitted[-1].client == "OpenAI/Python 2.3.0"


def test_pins_are_warmed_without_a_window_too(
    home: Home, settings: Settings, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.desk.ROUND_S", 0.01)
    home.start()
    desk = home.desk
    template = desk.create_template("Policy", TemplateKind.SYSTEM_POLICY, "Be brief.").result()
    desk.pin(template.id).result()
    home.stop()
    again = Home(settings, paths, make_scripted_engine)
    again.start()
    wait_until(lambda: f"pin template-{template.id}" in scripted(again).calls)
    assert again.stop()
