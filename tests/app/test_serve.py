"""`ondol serve` as a process: what it prints, what ends it, and with which code."""

from __future__ import annotations

import http.client
import json
import signal
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from app.storage.schema import open_database
from app.storage.store import FILE_NAME
from tests.support.house import CHAT

Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts `ondol serve` with a data folder of the test's own, on any free port."""
    started: list[subprocess.Popen[str]] = []

    def run(*options: str) -> subprocess.Popen[str]:
        arguments = ["serve", "--data-dir", str(tmp_path / "data"), "--model", str(tmp_path)]
        port = () if "--port" in options else ("--port", "0")
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.serve_scripted", *arguments, *port, *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield run
    for process in started:
        process.kill()
        process.communicate()


def line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def address(said: str) -> tuple[str, int]:
    prefix = "Ondol is listening on http://"
    assert said.startswith(prefix)
    host, port = said.removeprefix(prefix).rsplit(":", 1)
    return host.strip("[]"), int(port)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_it_says_where_it_listens_and_a_signal_ends_it_well(
    start: Start, number: signal.Signals
) -> None:
    process = start()
    host, port = address(line(process))
    connection = http.client.HTTPConnection(host, port, timeout=5)
    connection.request("GET", "/health")
    assert connection.getresponse().status == 200
    connection.close()
    process.send_signal(number)
    out, err = process.communicate(timeout=20)
    assert process.returncode == 0
    assert out == "mlx imported: False\n"
    assert err == ""


def test_it_ends_well_with_requests_running(start: Start) -> None:
    process = start("--waiting")
    connection = http.client.HTTPConnection(*address(line(process)), timeout=20)
    body = json.dumps({"messages": [{"role": "user", "content": "Hi"}], "stream": True})
    connection.request("POST", CHAT, body, {"Content-Type": "application/json"})
    response = connection.getresponse()
    assert response.readline().startswith(b"data: ")
    process.send_signal(signal.SIGTERM)
    assert b"request_aborted" in response.read()
    connection.close()
    process.communicate(timeout=20)
    assert process.returncode == 0


def test_a_second_one_says_who_holds_the_folder(start: Start) -> None:
    first = start()
    _host, port = address(line(first))
    second = start()
    out, err = second.communicate(timeout=20)
    assert second.returncode == 2
    assert out == "mlx imported: False\n"
    assert err == (
        "ondol: Ondol is already running with this data folder: "
        f"process {first.pid}, http://127.0.0.1:{port}\n"
    )
    assert first.poll() is None


def test_a_taken_port(start: Start) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        process = start("--port", str(port))
        _out, err = process.communicate(timeout=20)
    assert process.returncode == 2
    assert err.startswith(f"ondol: Port {port} is taken")
    assert err.count("\n") == 1


def test_a_broken_model_is_served_as_503(start: Start, tmp_path: Path) -> None:
    process = start("--broken")
    assert process.stderr is not None
    said = process.stderr.readline()
    reason = "config.json does not name a model_type."
    assert said.endswith(f" answers 503: {reason}\n")
    url = said.split()[1].removeprefix("http://")
    connection = http.client.HTTPConnection(url, timeout=5)
    connection.request("GET", "/health")
    response = connection.getresponse()
    assert response.status == 503
    assert json.loads(response.read())["reason"] == reason
    connection.close()
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=20)
    assert process.returncode == 0
    assert (tmp_path / "data" / "logs" / "ondol.log").exists()


def test_a_data_folder_that_cannot_be(start: Start, tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file is in the way")
    process = start()
    _out, err = process.communicate(timeout=20)
    assert process.returncode == 1
    assert err.startswith("ondol: The data folder cannot be used: ")
    assert err.count("\n") == 1


def test_a_newer_database_is_left_alone(start: Start, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    path = tmp_path / "data" / FILE_NAME
    open_database(path).close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 99")
    before = path.read_bytes()
    process = start()
    _out, err = process.communicate(timeout=20)
    assert process.returncode == 1
    assert err.startswith(f"ondol: {FILE_NAME} was written by a newer Ondol")
    assert err.count("\n") == 1
    assert path.read_bytes() == before


def test_a_killed_run_is_noted_in_the_log_of_the_next(start: Start, tmp_path: Path) -> None:
    first = start()
    line(first)
    first.kill()
    first.wait()
    log = tmp_path / "data" / "logs" / "ondol.log"
    assert "cut off" not in log.read_text(encoding="utf-8")
    second = start()
    line(second)
    second.send_signal(signal.SIGTERM)
    second.communicate(timeout=20)
    assert second.returncode == 0
    assert "the last run was cut off" in log.read_text(encoding="utf-8")
