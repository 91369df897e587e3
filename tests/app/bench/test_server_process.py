"""The bench's own server: found, asked, and its failures told. The engine is a scripted one."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.bench.child import child, python_command
from app.bench.errors import BenchError
from app.bench.server_process import ServerProcess, noted_address
from tests.support.scripted_engine import CACHED_TOKENS

CHAT = ({"role": "user", "content": "Hello there"},)


@contextlib.contextmanager
def scripted_server(folder: Path, *options: str) -> Iterator[ServerProcess]:
    data_dir, log = folder / "data", folder / "log"
    command = python_command(
        "tests.support.serve_scripted",
        *("serve", "--port", "0", "--data-dir", str(data_dir), "--model", str(folder), *options),
    )
    with child(command, log, {}) as process:
        yield ServerProcess(process, log, noted_address(data_dir))
    assert process.returncode == 0


def test_it_is_found_and_answers(tmp_path: Path) -> None:
    with scripted_server(tmp_path) as server:
        client = server.wait_until_ready(20)
        answer = client.ask(CHAT, max_tokens=4, salt="one")
        assert (answer.prompt_tokens, answer.cached_tokens) == (
            len("Hello there") + 1,
            CACHED_TOKENS,
        )
        assert 0 < answer.ttft_s < 5
        assert client.health().ok


def test_a_refusal_is_told_in_the_server_s_words(tmp_path: Path) -> None:
    with scripted_server(tmp_path) as server:
        client = server.wait_until_ready(20)
        with pytest.raises(BenchError, match="messages"):
            client.ask((), max_tokens=4, salt="one")


def test_a_broken_model_is_told_at_once(tmp_path: Path) -> None:
    with (
        scripted_server(tmp_path, "--broken") as server,
        pytest.raises(BenchError, match=r"cannot use the model: config\.json does not name"),
    ):
        server.wait_until_ready(20)


def test_a_server_that_ends_early_is_told_with_its_last_words(tmp_path: Path) -> None:
    code = "import sys; sys.exit('no room')"
    with child([sys.executable, "-c", code], tmp_path / "log", {}) as process:
        server = ServerProcess(process, tmp_path / "log", noted_address(tmp_path / "data"))
        with pytest.raises(BenchError, match=r"ended with code 1 before it served: no room"):
            server.wait_until_ready(20)


def test_a_server_that_never_serves_is_given_up(tmp_path: Path) -> None:
    code = "import signal; signal.pause()"
    with child([sys.executable, "-c", code], tmp_path / "log", {}) as process:
        server = ServerProcess(process, tmp_path / "log", noted_address(tmp_path / "data"))
        with pytest.raises(BenchError, match="did not become ready within 0 s"):
            server.wait_until_ready(0.01)


def test_a_server_that_is_gone_is_told(tmp_path: Path) -> None:
    with scripted_server(tmp_path) as server:
        client = server.wait_until_ready(20)
    with pytest.raises(BenchError, match="The connection to `ondol serve` broke"):
        client.ask(CHAT, max_tokens=4, salt="one")
