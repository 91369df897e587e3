"""Start and exit of a whole Ondol in this process, around a scripted engine."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from app.home import Home
from app.instance import InstanceHeld, find_holder
from app.paths import Paths, find_paths
from app.server.http_thread import BindError
from app.settings import Settings
from tests.support.house import CHAT
from tests.support.scripted_engine import ScriptedEngine, make_scripted_engine

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
